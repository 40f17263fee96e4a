package lead

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

// However results come (late, twice, of units that were handed out again), each unit of runs is
// counted once, a canary is looked for where nothing was found, a witness made where something
// was, and the campaign ends, not before.
func TestRunning(t *testing.T) {
	runs := uint64(5000)
	f := &findings.Explore{Scenarios: []string{"safe-none", "torn-jump", "jump-label-flip"}, Runs: &runs, Seed: 1,
		Strategy: "portfolio", Traces: t.TempDir()}
	s, err := plan.Explore(cli.New(io.Discard, io.Discard), f)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		for i := range s.Bundle {
			s.Bundle[i] = rapid.IntRange(1, 16).Draw(t, "bundle")
		}
		c := &plan.Campaign{ID: "c-1", Build: "b", Searches: []*plan.Search{s}}
		r := newRunning(c, &board.State{ID: "c-1", State: board.Running})
		r.caughtUp = true
		canaryAt := rapid.IntRange(0, 16).Draw(t, "canary found by")
		counted := make(map[string]int)
		var out []plan.Unit
		made := func(u *plan.Unit) *board.Done {
			d := &board.Done{Unit: *u, Summary: unit.Summary{Runs: 1}}
			switch {
			case u.Kind == plan.Canary:
				d.Summary.Found = u.From >= canaryAt
			case u.Kind == plan.Runs && u.Job == 1 && u.From%2 == 0:
				d.Summary.Violations, d.Summary.Broken = 1, map[string]uint64{"whole-instructions": 1}
			}
			return d
		}
		deliver := func(u *plan.Unit) {
			before := r.total.Runs
			if r.take(made(u)) {
				counted[u.Key()]++
				if u.Kind != plan.Canary { // those are of another engine
					before++
				}
			}
			require.Equal(t, before, r.total.Runs)
		}
		for n := 0; !r.ended(); n++ {
			require.Less(t, n, 10_000, "it doesn't end")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				r.reissue()
			case 1:
				if len(out) > 0 { // twice
					u := rapid.SampledFrom(out).Draw(t, "unit")
					deliver(&u)
				}
			case 2, 3, 4:
				require.Equal(t, []string{"go"}, r.remainingNeeds())
				out = append(out, r.pick(rapid.IntRange(1, 8).Draw(t, "most"), "go")...)
			default:
				if len(out) > 0 {
					i := rapid.IntRange(0, len(out)-1).Draw(t, "unit")
					u := out[i]
					out = append(out[:i], out[i+1:]...)
					deliver(&u)
				} else {
					out = append(out, r.pick(4, "go")...)
				}
			}
		}
		want := 0
		for job := range s.Scenarios {
			for n := range s.Units(job) {
				u := s.Unit("c-1", 0, job, plan.Runs, n)
				require.Equal(t, 1, counted[u.Key()], u.Key())
				want++
			}
		}
		all := plan.Unit{Campaign: "c-1", Job: 1, Kind: plan.Witness, From: plan.All, To: plan.All}
		require.Equal(t, 1, counted[all.Key()])
		for key, n := range counted {
			require.Equal(t, 1, n, key)
		}
		require.Empty(t, r.remainingNeeds())
	})
}
