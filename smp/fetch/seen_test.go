package fetch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/fetch"
)

// TestSeen: what a fetch may see is what each model mixes of the versions since the CPU serialised.
func TestSeen(t *testing.T) {
	a, b, c := []byte{0x55, 0x48, 0x89}, []byte{0xcc, 0x48, 0x89}, []byte{0xcc, 0x1b, 0x01}
	for _, model := range models {
		text := newText(model, 2)
		text.Store(0x1000, a[:1], b[:1])
		text.Store(0x1001, b[1:], c[1:])
		want := map[fetch.Model][][]byte{
			fetch.Coherent: {c},
			fetch.Stale:    {c, b, a}, // a chunk has one version
			fetch.Mixing: {c, {0xcc, 0x1b, 0x89}, {0xcc, 0x48, 0x01}, b, {0x55, 0x1b, 0x01}, {0x55, 0x1b, 0x89},
				{0x55, 0x48, 0x01}, a},
		}[model]
		list, all := text.Seen(0, 0x1000, c, 8)
		require.True(t, all, "%v", model)
		require.Equal(t, want, list, "%v", model)
		oldest := append([]byte(nil), c...)
		text.Oldest(0, 0x1000, oldest)
		require.Equal(t, oldest, list[len(list)-1], "%v: the last is what Oldest says", model)

		list, all = text.Seen(0, 0x1000, c, 1)
		require.Equal(t, [][]byte{c}, list)
		require.Equal(t, len(want) == 1, all, "%v", model)
		text.Serialise(1)
		list, _ = text.Seen(1, 0x1000, c, 8)
		require.Equal(t, [][]byte{c}, list, "%v: it has serialised", model)

		d := []byte{0xe9, 0x1b, 0x01}
		text.Store(0x1000, c[:1], d[:1])
		want = [][]byte{d, c}
		if model == fetch.Coherent {
			want = [][]byte{d}
		}
		list, _ = text.Seen(1, 0x1000, d, 8)
		require.Equal(t, want, list, "%v: it has serialised between", model)
	}
}
