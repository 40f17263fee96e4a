package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/sim"
)

func hashOf(words ...uint64) (h sim.Hash) {
	for _, w := range words {
		h.Add(w)
	}
	return h
}

// TestHash: other words, or the same words in another order or number, have another
// hash in both halves. One bit in one word is enough.
func TestHash(t *testing.T) {
	differ := func(t *rapid.T, a, b sim.Hash) {
		if a.Hi == b.Hi || a.Lo == b.Lo {
			t.Fatalf("%x and %x", a, b)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.Uint64(), 2, 12).Draw(t, "words")
		h := hashOf(words...)
		require.Equal(t, h, hashOf(words...))
		differ(t, h, hashOf(append([]uint64{0}, words...)...))
		differ(t, h, hashOf(append(words[:len(words):len(words)], 0)...))

		i := rapid.IntRange(0, len(words)-1).Draw(t, "word")
		other := append([]uint64(nil), words...)
		other[i] ^= 1 << rapid.IntRange(0, 63).Draw(t, "bit")
		differ(t, h, hashOf(other...))
		if j := (i + 1) % len(words); words[i] != words[j] {
			other = append(other[:0], words...)
			other[i], other[j] = other[j], other[i]
			differ(t, h, hashOf(other...))
		}
	})
}

// TestHashOfHashes: AddHash differs from Join, and Join ignores the order, but not the
// number of hashes and not which words belong to which.
func TestHashOfHashes(t *testing.T) {
	a, b, c := hashOf(1), hashOf(2), hashOf(3, 4)
	var in sim.Hash
	in.AddHash(a)
	require.Equal(t, hashOf(a.Hi, a.Lo), in)

	join := func(list ...sim.Hash) (h sim.Hash) {
		for _, o := range list {
			h.Join(o)
		}
		return h
	}
	require.Equal(t, join(a, b, c), join(c, a, b))
	twice := join(a, b, b)
	require.NotEqual(t, join(a).Hi, twice.Hi)
	require.NotEqual(t, join(a).Lo, twice.Lo)
	x, y := sim.Hash{Hi: 5, Lo: 6}, sim.Hash{Hi: 9, Lo: 10}
	h, o := join(x, y), join(sim.Hash{Hi: 6, Lo: 7}, sim.Hash{Hi: 8, Lo: 9})
	require.NotEqual(t, h.Hi, o.Hi, "a sum of what isn't mixed")
	require.NotEqual(t, h.Lo, o.Lo, "a sum of what isn't mixed")
}
