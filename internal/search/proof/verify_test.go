package proof

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
)

var sampledRuns = flag.Uint64("sampled", 0, "how many runs to draw beside those that Full makes; 0: few")

func tiny(t *testing.T) *scenario.Scenario {
	src, err := os.ReadFile("testdata/tiny.star")
	require.NoError(t, err)
	sc, err := lang.Load("tiny.star", src, os.ReadFile)
	require.NoError(t, err)
	return sc
}

// An end is the state in which a run has ended.
type end struct {
	final uint64
	name  string
}

func whereItEnded(r *rig.Rig, run rig.Run) end {
	e := end{final: r.Final(), name: run.Outcome.String()}
	if run.Property != nil {
		e.name = run.Property.Name
	}
	return e
}

// TestFullLeavesOutNothing: wherever a run of a small scenario can end, and whatever
// its threads of control can see on the way, by schedules with few deviations and by
// many drawn ones, one of the runs that Full makes has it, too, and States ends there; of two
// broken engines, or of five and the right one if -sampled says how many to draw. Where
// interrupts are one step, each drawn run is of the class of one that Full makes.
func TestFullLeavesOutNothing(t *testing.T) {
	t.Parallel()
	if *sampledRuns == 0 {
		thorough.Only(t, "3 s; TestFullIsPlain has smaller scenarios")
	}
	sc := tiny(t)
	sampled := max(*sampledRuns, 2000/searchtest.Slow)
	met, made := 0, uint64(0)
	mutants := []string{"no-sync-2", "no-quiesce", "", "no-sync-1", "int3-after-tail", "no-sync-3"}
	if searchtest.Slow > 1 {
		mutants = mutants[:1]
	} else if *sampledRuns == 0 {
		mutants = mutants[:2]
	}
	for _, mutant := range mutants {
		t.Run("mutant "+mutant, func(t *testing.T) {
			r, err := rig.New(sc, mutant)
			require.NoError(t, err)
			defer r.Close()
			r.Log.Store = true
			all, last, classes, stats := endsOfFull(t, r, beginning{}, 1_000_000)
			require.EqualValues(t, stats.Runs-stats.Cut, len(classes), "a class was run twice")
			made += stats.Runs
			reached, _ := endsOfStates(t, sc, mutant)
			sameKeys(t, last, reached, "by states")

			ends := make(map[end]int)
			r.Observe(nil)
			for _, s := range []sched.Strategy{sched.NewDeviations(sched.Params{Most: 1}), drawn(0), drawn(4),
				drawn(30)} {
				for i := uint64(0); i < sampled/4 && s.Begin(i); i++ {
					run := r.Run(s)
					s.End(run.Counts.Points)
					ends[seenOf(r, run)]++
				}
			}
			for e, n := range ends {
				require.NotZero(t, all[e], "%d of the drawn runs have an end %s that Full has none of", n, e.name)
			}

			found := make(map[class]int)
			h := &classed{seen: rig.Deaf{}}
			r.ObserveAtomicIRQs(h)
			for _, s := range []sched.Strategy{drawn(0), drawn(4), drawn(30)} {
				for i := uint64(0); i < sampled/4 && s.Begin(i); i++ {
					h.Reset()
					run := r.Run(s)
					s.End(run.Counts.Points)
					if !run.Early {
						found[h.class()]++
					}
				}
			}
			require.False(t, r.Machine.Footprint().SharedGrew())
			for c, n := range found {
				require.True(t, classes[c], "%d of the drawn runs are of a class that Full has none of", n)
			}
			t.Logf("%d ends, %d of them drawn; %d classes, %d of them drawn; %d schedules, %d pruned", len(all),
				len(ends), len(classes), len(found), stats.Runs+stats.Blocked, stats.Blocked)
			met += len(ends)
		})
	}
	require.Greater(t, met, 5*len(mutants), "all runs end alike: this shows nothing")
	require.NotZero(t, made)
}

// drawn draws runs: at random, or with so many boundaries between switches in the
// mean.
func drawn(mean int) sched.Strategy {
	if mean == 0 {
		return sched.NewRandom(sched.Params{Seed: 3, Length: 200})
	}
	return sched.NewSticky(sched.Params{Seed: 3, Length: 200, Mean: mean})
}
