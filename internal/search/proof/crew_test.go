package proof

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/search/explore"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
)

// TestCrew: how many workers there are changes nothing of what is verified, whether it is
// complete, broken, cut short, full or without an end.
func TestCrew(t *testing.T) {
	t.Parallel()
	circles := searchtest.LoadTinier(t, `patch = "breakpoint", steps = 500`, waitForEachOther)
	proofs := []Proof{
		{Spec: explore.Spec{Scenario: tiny(t)}},
		{Spec: explore.Spec{Scenario: tiny(t), Mutant: "no-quiesce"}},
		{Spec: explore.Spec{Scenario: tiny(t), Mutant: "no-sync-2"}, All: true},
		{Spec: explore.Spec{Scenario: circles}},
		{Spec: explore.Spec{Scenario: circles}, All: true},
		{Spec: explore.Spec{Scenario: loadNamed(t, "stop-machine-alone"), Mutant: "no-stop"}, All: true},
		{Spec: explore.Spec{Scenario: loadNamed(t, "safe-none"), Runs: thorough.Of[uint64](300, 3000)}},
		{Spec: explore.Spec{Scenario: loadNamed(t, "safe-full"), Runs: thorough.Of[uint64](300, 3000)}},
		{Spec: explore.Spec{Scenario: loadNamed(t, "safe-none")}, Memory: 400 << 10},
		{Spec: explore.Spec{Scenario: loadNamed(t, "safe-none")}},
	}
	last := proofs[len(proofs)-1]
	proofs = proofs[:len(proofs)-1]
	for _, p := range proofs { // movers don't sleep
		p.Counted = true
		proofs = append(proofs, p)
	}
	last.Counted = true
	proofs = append(proofs, last)
	broken, circled, complete := 0, 0, 0
	for _, p := range proofs[:thorough.Of(6, len(proofs))] { // in the last ones no mover sleeps, in longer searches
		p.Full = true
		what := fmt.Sprintf("%s, mutant %q, %d runs at most, counted %v", p.Scenario.Name, p.Mutant, p.Spec.Runs,
			p.Counted)
		var alone *Verified
		for workers := 1; workers <= 3; workers += thorough.Of(2, 1) {
			p.Workers = workers
			v, err := Verify(p)
			require.NoError(t, err, what)
			if alone == nil {
				alone = v
			}
			require.Equal(t, textsOf(alone), textsOf(v), "%s, %d workers", what, workers)
			require.Equal(t, len(alone.Found), len(v.Found), what)
			a, b := *alone, *v
			a.Witnesses, b.Witnesses, a.Found, b.Found = nil, nil, nil, nil
			require.Equal(t, a, b, "%s, %d workers", what, workers)
		}
		if len(alone.Broken) > 0 {
			broken++
		}
		if alone.Circles > 0 {
			circled++
		}
		if alone.Complete {
			complete++
		}
	}
	require.True(t, broken > 2 && circled > 0 && complete > 2, "%d, %d, %d", broken, circled, complete)
}

// textsOf are the traces of what was found.
func textsOf(v *Verified) (texts []string) {
	for _, w := range v.Witnesses {
		texts = append(texts, string(w.File.Marshal()))
	}
	return texts
}

// TestCrewHelps: nearly all runs of a search are tried ahead, on any rig, and what is found
// there can be relied on.
func TestCrewHelps(t *testing.T) {
	t.Parallel()
	for i, sc := range []*scenario.Scenario{tiny(t), loadNamed(t, "safe-full"), tiny(t), loadNamed(t, "safe-full")} {
		if i%3 > 0 && !thorough.Set() {
			continue
		}
		p := Proof{Spec: explore.Spec{Scenario: sc, Runs: thorough.Of[uint64](1500, 4000)}, Full: true,
			Counted: i >= 2}
		v := &verifier{Proof: p}
		own := uint64(0)
		err := v.byStates(func(x stateSearch) error {
			if !p.Counted {
				x.s.Sleep()
			}
			c := x.newCrew(2, true)
			c.muster(2)
			own = c.made
			require.Equal(t, 2, c.useful)
			return c.err
		})
		require.NoError(t, err)
		require.Less(t, own, v.runs.Load()/3)
	}
}

var _ sched.Portable = (*states)(nil)
