package findings

import (
	"flag"
	"slices"
	"testing"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	tests "kpsim/internal/testkit/thorough"
	"kpsim/sched"
)

var tours = flag.Int("tours", 1,
	"with how many seeds each built-in scenario's race is searched as kpsim explore does without names")

// A tour finds the race that each built-in scenario is about, whatever the seed: the
// canary of a Never, what a Sometimes expects.
func TestTour(t *testing.T) {
	for i, sc := range library.All() {
		if i%6 > 0 && *tours == 1 && !tests.Set() {
			continue // .ci/run explores all of them
		}
		r, err := rig.New(sc, "")
		if err != nil {
			t.Fatal(err)
		}
		usual := defaultRuns(r.Run(new(sched.Default)).Counts.Points)
		r.Close()
		runs := tourRuns(usual, library.Effort(sc.Name))
		var firsts []uint64
		for seed := range uint64(*tours) {
			res, err := explore.Run(explore.Spec{
				Scenario: sc, Mutant: sc.Expect.Canary, Runs: runs, Seed: 101 + seed, Stop: true, Blind: true,
				Workers: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			if res.Violations == 0 {
				t.Errorf("%s: seed %d finds nothing in %d schedules", sc.Name, 101+seed, runs)
				continue
			}
			if sc.Expect.Sometimes && res.Broken[sc.Expect.Property] == 0 {
				t.Errorf("%s: seed %d finds %v, not %s", sc.Name, 101+seed, res.Broken, sc.Expect.Property)
			}
			firsts = append(firsts, res.First)
		}
		slices.Sort(firsts)
		if n := len(firsts); n >= 12 {
			t.Logf("%-28s %6d of %6d schedules, found after %6d in the median, %6d at most", sc.Name, runs, usual,
				firsts[n/2], firsts[n-1])
			if firsts[n/2] > 2*library.Effort(sc.Name) { // a median of so few is off by as much
				t.Errorf("%s: its effort is %d; make it %d", sc.Name, library.Effort(sc.Name), firsts[n/2])
			}
		}
	}
}
