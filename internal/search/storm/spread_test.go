package storm

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
)

// TestSpread: percentiles are those of the sorted numbers, at most a 16th too low,
// and joining is adding.
func TestSpread(t *testing.T) {
	var r sim.Rand
	r.Seed(1, 0)
	for _, n := range []int{1, 2, 7, 1000} {
		var list []uint64
		var all, odd Spread
		for i := range n {
			v := r.Uint64() >> r.N(64)
			list = append(list, v)
			if i%2 == 1 {
				odd.Add(v)
			} else {
				all.Add(v)
			}
		}
		all.Join(&odd)
		slices.Sort(list)
		require.Equal(t, list[0], all.Least())
		for _, p := range []uint64{0, 1, 5, 50, 95, 99, 100} {
			is, want := all.Percent(p), list[min(int(p)*n/100, n-1)]
			require.LessOrEqual(t, is, want, "%d %% of %d", p, n)
			require.GreaterOrEqual(t, is, want-want/spreadParts, "%d %% of %d", p, n)
		}
	}
	require.Zero(t, new(Spread).Percent(50))
	require.Less(t, spreadPart(math.MaxUint64), len(new(Spread).parts))
}
