package explore

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/sim"
)

// lapOf is a race whose runs are drawn uniformly from 1 to 2*median.
func lapOf(seed uint64, seeds, median int) *Standings {
	var r sim.Rand
	r.Seed(seed, 0)
	l := new(Standings)
	for range seeds {
		l.Each = append(l.Each, uint64(1+r.N(2*median)))
	}
	l.Runs = slices.Sorted(slices.Values(l.Each))
	return l
}

// TestCompare: the upper 95 % bound is below the true ratio about once in twenty
// times, and so is the lower one above it. Of 100 comparisons that is 10 in all,
// with a standard deviation of 3; the bootstrap of a median is a little off, too.
func TestCompare(t *testing.T) {
	const n = 100 / searchtest.Slow
	off := 0
	for i := range uint64(n) {
		r := Compare(lapOf(2*i, 100, 3000), lapOf(2*i+1, 100, 2000))
		require.True(t, r.Low <= r.Times && r.Times <= r.High, "%+v", r)
		if r.Low > 1.5 || r.High < 1.5 {
			off++
		}
	}
	if searchtest.Slow == 1 {
		require.InDelta(t, 10, off, 9)
	}
	same := lapOf(1, 100, 500)
	require.Equal(t, Ratio{1, 1, 1}, Compare(same, same)) // seed by seed
}

// Each bound holds the true ratio in 95 of 100 comparisons, of 100 seeds as by default as of 5; fewer have none.
func TestCompareCovers(t *testing.T) {
	for _, seeds := range []int{1, 4, 5, 20, 100} {
		above, below, n := 0, 0, 1000/searchtest.Slow
		for i := range uint64(n) {
			r := Compare(lapOf(2*i, seeds, 3000), lapOf(2*i+1, seeds, 2000))
			require.Equal(t, seeds >= 5, r.Bounded())
			if r.High >= 1.5 {
				above++
			}
			if r.Low <= 1.5 {
				below++
			}
		}
		if searchtest.Slow == 1 && seeds >= 5 {
			for _, held := range []int{above, below} {
				share := float64(held) / float64(n)
				t.Logf("%d seeds: %.3f", seeds, share)
				require.InDelta(t, 0.95, share, 0.035, "%d seeds", seeds) // 0.02, and as much as chance adds
			}
		}
	}
}

// TestRace: how long the seeds take doesn't depend on the number of workers, each
// is the first violating run of its search, and a search that hasn't found it
// after the most runs counts as one run more.
func TestRace(t *testing.T) {
	sc, err := library.Load("second-instruction")
	require.NoError(t, err)
	race := Tournament{Scenario: sc, Seeds: 12, Seed: 5, Most: 400 / searchtest.Slow, Workers: 1,
		New: func(p sched.Params) sched.Strategy { return sched.NewPortfolio(p) }}
	one, err := race.Run()
	require.NoError(t, err)
	race.Workers = 3
	three, err := race.Run()
	require.NoError(t, err)
	require.Equal(t, one, three)
	require.True(t, slices.IsSorted(one.Runs))

	rig := (&Spec{Scenario: sc}).MustRig().Learnt()
	defer rig.Close()
	shape, _ := rig.Survey(0)
	var want []uint64
	points := uint64(0)
	for seed := uint64(5); seed < 17; seed++ {
		s := sched.NewPortfolio(sched.Params{Seed: seed, Shape: shape})
		i := uint64(0)
		for i < race.Most {
			run, _ := rig.Next(s, i)
			points += run.Counts.Points
			if i++; run.Property != nil {
				i--
				break
			}
		}
		want = append(want, i+1)
	}
	slices.Sort(want)
	require.Equal(t, want, one.Runs)
	require.Equal(t, points, one.Points)

	race.New, race.Most = func(sched.Params) sched.Strategy { return new(sched.Default) }, 3
	none, err := race.Run()
	require.NoError(t, err)
	require.Equal(t, slices.Repeat([]uint64{4}, 12), none.Runs)
	require.Empty(t, none.By)
}

func TestMeasureSpeed(t *testing.T) {
	sc, err := library.Load("safe-none")
	require.NoError(t, err)
	for _, strategy := range []string{"portfolio", "default"} { // a strategy that ends begins anew
		s, err := MeasureSpeed(sc, strategy, 2, 20*time.Millisecond, nil)
		require.NoError(t, err)
		require.GreaterOrEqual(t, s.Runs, uint64(2)) // each of two workers made one, however slow the computer
		require.Greater(t, s.Points, 50*s.Runs)
		require.Greater(t, s.Took, 20*time.Millisecond)
	}
}
