package overhead

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/testkit/thorough"
	"kpsim/smp/cycles"
)

// The intervals of 20 runs, as by default, contain the mean over many runs of the same patcher, from which the 20 are
// drawn. Those of calls do in 0.94 of the sets; in 0.89 where few runs have most of the misses. A patch takes few
// different times, so its interval contains the mean less or more often than it says. If all 20 runs are alike there is
// no interval (Alike), and the mean is off by less than 2 %.
func TestPriceCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	sum := func(list []float64, at []int) (some []float64) {
		for _, i := range at {
			some = append(some, list[i])
		}
		return some
	}
	var patches, calls [2]float64 // the least and the most of a patch or of calls
	patches[0], calls[0] = 1, 1
	var all covered // calls
	for _, name := range []string{"hook-unsynced", "jump-label-flip", "torn-jump-bp", "static-call-flip"} {
		s, err := library.Load(name)
		require.NoError(t, err)
		for _, cpus := range []int{2, 4} {
			c := PatcherConfig{Scenario: s, CPUs: cpus, Runs: thorough.Of(500, 4000), Seed: 1, Costs: cycles.Nominal()}
			_, w, err := c.measured()
			require.NoError(t, err)
			count := func(what string, ends *[2]float64, runs, of []float64) (n covered) {
				truth := ratioOf(runs, of).Value
				for range 1000 {
					at := make([]int, 20)
					for i := range at {
						at[i] = rng.IntN(len(runs))
					}
					m := ratioOf(sum(runs, at), sum(of, at))
					if m.Alike() {
						require.InEpsilon(t, truth, m.Value, 0.02, "%s %d %s", name, cpus, what)
						continue
					}
					n.add(m.Interval, truth)
				}
				t.Logf("%s with %d CPUs, %s: %.3f of %d", name, cpus, what, n.share(), n.all)
				if n.all > 500 {
					ends[0], ends[1] = min(ends[0], n.share()), max(ends[1], n.share())
				}
				return n
			}
			for _, k := range w.kinds {
				if len(k.runs) > 0 {
					once := make([]float64, len(k.runs))
					for i := range once {
						once[i] = 1
					}
					require.InDelta(t, meanOver(k.runs).Interval.High, ratioOf(k.runs, once).Interval.High, 1e-6)
					count(k.what, &patches, k.runs, once)
				}
			}
			for when, runs := range w.cycles {
				if len(runs) > 0 {
					n := count(When(when).String(), &calls, runs, w.counts[when])
					if When(when) == Before && n.all > 0 { // runs differ in how many there are
						n.within(t, 0.95, "%s with %d CPUs, before", name, cpus)
					}
					all.held, all.all = all.held+n.held, all.all+n.all
				}
			}
		}
	}
	t.Logf("a patch: %.3f to %.3f; calls: %.3f to %.3f, %.3f of all", patches[0], patches[1], calls[0], calls[1],
		all.share())
	require.InDelta(t, 0.95, all.share(), 0.02)
	require.Greater(t, calls[0], 0.86)
	require.Greater(t, patches[0], 0.80)
}
