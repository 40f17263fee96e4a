package harness

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/properties/scenario"
	"kpsim/sched"
)

func tiny(t *testing.T) *scenario.Scenario {
	src, err := os.ReadFile("testdata/tiny.star")
	require.NoError(t, err)
	sc, err := scenario.Load("tiny.star", src, os.ReadFile)
	require.NoError(t, err)
	return sc
}

// An end is where a run has come to.
type end struct {
	final uint64
	name  string
}

func (r *Rig) whereItEnded(run Run) end {
	e := end{final: r.Final(), name: run.Outcome.String()}
	if run.Property != nil {
		e.name = run.Property.Name
	}
	return e
}

// endsOfFull are those of all runs that Full makes, and how many there were.
func endsOfFull(t *testing.T, sc *scenario.Scenario, mutant string) (map[end]bool, uint64) {
	rig, err := New(sc, mutant)
	require.NoError(t, err)
	defer rig.Close()
	f := sched.NewFull()
	learn(rig, f)
	rig.ObserveWhole(f)
	ends := make(map[end]bool)
	for i := uint64(0); f.Begin(i); i++ {
		require.Less(t, i, uint64(100_000))
		run := rig.Run(f)
		if !f.Blocked() {
			ends[rig.whereItEnded(run)] = true
		}
		if run.Early {
			f.Cut()
		} else {
			f.End(0)
		}
		if rig.Machine.SharedGrew() {
			f.Restart()
			clear(ends)
		}
	}
	return ends, f.Stats().Runs
}

// TestFullLeavesOutNothing: wherever a run of a small scenario can end, by
// schedules with one deviation and by many drawn ones, one of the runs that
// Full makes ends there too; of the right engine, and of five broken ones.
func TestFullLeavesOutNothing(t *testing.T) {
	sc := tiny(t)
	sampled := uint64(6000 / slow)
	seen, made := 0, uint64(0)
	mutants := []string{"no-quiesce", "no-sync-2", "", "no-sync-1", "int3-after-tail", "no-sync-3"}
	differ := 1 // how many more ends there are than machines
	if slow > 1 {
		mutants, differ = mutants[:2], 0
	}
	for _, mutant := range mutants {
		t.Run("mutant "+mutant, func(t *testing.T) {
			all, runs := endsOfFull(t, sc, mutant)
			made += runs
			rig, err := New(sc, mutant)
			require.NoError(t, err)
			defer rig.Close()
			got := make(map[end]uint64)
			for _, s := range []sched.Strategy{
				sched.NewDeviations(sched.Params{Most: 1}), sched.NewRandom(sched.Params{Seed: 3, Length: 200}),
				sched.NewSticky(sched.Params{Seed: 3, Length: 200, Mean: 4}), sched.NewSticky(sched.Params{Seed: 3, Length: 200, Mean: 30}),
			} {
				for i := uint64(0); i < sampled/4 && s.Begin(i); i++ {
					run := rig.Run(s)
					s.End(run.Counts.Points)
					got[rig.whereItEnded(run)]++
				}
			}
			for e, n := range got {
				require.Contains(t, all, e, "%d of the sampled runs ended there", n)
			}
			t.Logf("%d ends, %d of them sampled, %d executions", len(all), len(got), runs)
			seen += len(got)
		})
	}
	require.Greater(t, seen, len(mutants)+differ, "all runs end alike: this shows nothing")
	require.NotZero(t, made)
}
