package explore

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sim"
)

// TestMedianRank: with 20 values the 6th and the 15th; the tables of the sign test
// have the same ranks. With five there are none: their ends hold it in 94 of 100 cases.
func TestMedianRank(t *testing.T) {
	for n, want := range map[int]int{1: 0, 5: 0, 6: 1, 9: 2, 12: 3, 15: 4, 20: 6, 25: 8, 50: 18, 100: 40} {
		require.Equal(t, want, medianRank(n), "%d values", n)
	}
}

// TestFirstMedianCovers: the interval of 20 seeds holds the median of what a search takes in 96 of 100 sets, whether
// its end is beyond the bound or not; with a median of a few schedules, at which many seeds are equal, in more.
func TestFirstMedianCovers(t *testing.T) {
	var r sim.Rand
	r.Seed(7, 7)
	for _, c := range []struct {
		p, bound uint64
		ties     bool
	}{{1000, 20_000, false}, {1000, 800, false}, {40, 2_000, false}, {3, 100, true}} {
		median := uint64(math.Ceil(-math.Ln2 / math.Log1p(-1/float64(c.p)))) // of a geometric distribution
		held, trials := 0, 4_000/searchtest.Slow
		for range trials {
			f := First{Seeds: FirstSeeds, Bound: c.bound}
			for range FirstSeeds {
				u := (float64(r.N(1<<30)) + 0.5) / (1 << 30)
				if n := uint64(math.Ceil(math.Log(u) / math.Log1p(-1/float64(c.p)))); n <= c.bound {
					f.Found = append(f.Found, n)
				}
			}
			slices.Sort(f.Found)
			_, low, high := f.Median()
			if low != 0 && low <= median && (high == 0 || median <= high) {
				held++
			}
		}
		share := float64(held) / float64(trials)
		t.Logf("1 in %d, bound %d: %.3f", c.p, c.bound, share)
		require.GreaterOrEqual(t, share, 0.94)
		require.True(t, c.ties || share <= 0.975, "1 in %d, bound %d: %.3f", c.p, c.bound, share)
	}
}

// TestFirstMedian: the interval holds the true median of a skewed distribution as
// often as it says; of what was found by too few seeds nothing is said.
func TestFirstMedian(t *testing.T) {
	var r sim.Rand
	r.Seed(5, 5)
	const p, median, bound, trials = 50, 35, 60, 2_000 // a witness in one run of 50: 34.3 in the median
	held := 0
	for range trials {
		f := First{Seeds: FirstSeeds, Bound: bound}
		for range FirstSeeds {
			n := uint64(1)
			for r.N(p) > 0 {
				n++
			}
			if n <= bound { // others are censored
				f.Found = append(f.Found, n)
			}
		}
		slices.Sort(f.Found)
		_, low, high := f.Median()
		if low != 0 && low <= median && (high == 0 || median <= high) {
			held++
		}
	}
	require.GreaterOrEqual(t, held, trials*94/100)

	few := First{Seeds: 5, Bound: 9, Found: []uint64{1, 2, 3, 4, 5}}
	m, low, high := few.Median()
	require.Equal(t, [3]uint64{3, 1, 0}, [3]uint64{m, low, high})

	f := First{Seeds: 20, Bound: 9, Found: []uint64{1, 2, 2, 3, 3, 4, 5, 5, 5}}
	m, low, high = f.Median()
	require.Equal(t, [3]uint64{0, 4, 0}, [3]uint64{m, low, high})
	f.Found = append(f.Found, 7, 9)
	m, low, high = f.Median()
	require.Equal(t, [3]uint64{8, 4, 0}, [3]uint64{m, low, high})
}

// TestFirstWitness: the same whatever the number of workers, in time, by the
// right property, and other seeds give other numbers.
func TestFirstWitness(t *testing.T) {
	sc, err := library.Load("torn-jump")
	require.NoError(t, err)
	names := []string{"no-sail-past", "whole-instructions"}
	const bound = 400 / min(searchtest.Slow, 4)
	var want []First
	for _, workers := range []int{1, 2, 16} {
		procs := runtime.GOMAXPROCS(1 + workers%2)
		got, err := FirstWitness(Spec{Scenario: sc, Seed: 1, Workers: workers, Strategy: "sticky"}, names, bound)
		runtime.GOMAXPROCS(procs)
		require.NoError(t, err)
		if want == nil {
			want = got
		}
		require.Equal(t, want, got)
	}
	require.Empty(t, want[0].Found)
	require.Greater(t, len(want[1].Found), FirstSeeds/2)
	require.Less(t, want[1].Found[0], want[1].Found[FirstSeeds/2])
	other, err := FirstWitness(Spec{Scenario: sc, Seed: 2, Strategy: "sticky"}, names[1:], bound)
	require.NoError(t, err)
	require.NotEqual(t, want[1].Found, other[0].Found)
}
