package kapi_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp/kapi"
)

// nowhere is a context in which nothing is a point.
type nowhere struct{ kapi.Context }

func (nowhere) Access(kapi.CellID, kapi.Mode) kapi.Model { return nil }

// A list is what a slice is that does the same, short and long.
func TestList(t *testing.T) {
	var cells kapi.Cells
	var x nowhere
	var r sim.Rand
	for seed := range uint64(20) {
		r.Seed(seed, 0)
		var l kapi.List[int]
		l.Init(&cells)
		var want []int
		for i := range 2000 {
			switch n := r.N(100); {
			case n < 45+int(seed): // the more, the longer
				l.Add(x, i)
				want = append(want, i)
			case n < 50+int(seed):
				l.Push(x, i)
				want = slices.Insert(want, 0, i)
			case len(want) == 0:
				require.False(t, l.Del(x, i))
			default:
				at := 0
				if n%4 == 0 {
					at = r.N(len(want))
				}
				v := l.At(x, at)
				require.Equal(t, want[at], v)
				require.True(t, l.Has(x, v))
				require.True(t, l.Del(x, v))
				require.False(t, l.Del(x, v))
				want = slices.Delete(want, at, at+1)
			}
			require.Equal(t, len(want), l.Len(x))
			require.True(t, slices.Equal(want, l.Peek()))
		}
	}
}
