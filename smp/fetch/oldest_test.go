package fetch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/fetch"
)

// TestOldest: what a CPU may still see is what it had when it serialised last; what
// was never stored to is as in memory.
func TestOldest(t *testing.T) {
	for _, model := range models {
		text := newText(model, 2)
		const at = 0x1006 // across two chunks
		was, is := []byte{0x55, 0x48, 0x89, 0xe5}, []byte{0xcc, 0x1b, 0x00, 0x00}
		text.Store(at, was[:1], is[:1])
		text.Serialise(1)
		text.Store(at+1, was[1:], is[1:])

		sees := func(cpu int) []byte {
			b := append([]byte{0x90}, is...) // a byte before it that was never stored to
			text.Oldest(cpu, at-1, b)
			return b
		}
		want := [2][]byte{{0x90, 0x55, 0x48, 0x89, 0xe5}, {0x90, 0xcc, 0x48, 0x89, 0xe5}}
		if model == fetch.Coherent {
			want = [2][]byte{append([]byte{0x90}, is...), append([]byte{0x90}, is...)}
		}
		require.Equal(t, want, [2][]byte{sees(0), sees(1)}, "%v", model)
		text.Serialise(0)
		text.Serialise(1)
		require.Equal(t, append([]byte{0x90}, is...), sees(0), "%v", model)
		require.Equal(t, append([]byte{0x90}, is...), sees(1), "%v", model)
	}
}
