package mutantsearch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/mutants"
	"kpsim/smp"
)

// A barrier that is left out is noticed where it matters, and not with it in place: that is
// what its scenario is surveyed for. One that a scenario doesn't come to isn't searched for.
func TestBarriers(t *testing.T) {
	for _, c := range []struct {
		model    smp.Ordering
		scenario string
		mutant   string
		property string
	}{
		{smp.TSO, "stop-machine-stale", "drop-stop-machine-step-before-waking", "progress"},
		{smp.LKMM, "batch-poke", "drop-text-poke-publish-before-int3", "owned-breakpoint"},
		{smp.TSO, "batch-poke", "drop-cpus-write-block-before-counting", ""},
	} {
		h := Search{Seed: 1, Most: 3000}
		mu, ok := mutants.ByName(c.mutant)
		require.True(t, ok)
		f, err := h.Survey(c.model, []string{c.scenario})
		require.NoError(t, err)
		require.Len(t, f.Scenarios, 1)
		require.Empty(t, f.Scenarios[0].Broken)
		d, err := h.Without(f, mu.Barrier, mu.Name)
		require.NoError(t, err)
		require.Equal(t, c.property, d.Property, "%+v", d)
		if c.property == "" {
			require.Zero(t, d.Met)
		} else {
			require.Equal(t, c.scenario, d.Scenario)
		}
	}
}

// A trap that comes late on ftrace's breakpoint is taken for that of a probe which has no copy:
// under a weak model, too, that is an oops and no bug of the simulator.
func TestSurveyLate(t *testing.T) {
	h := Search{Seed: 1, Most: 200}
	f, err := h.Survey(smp.LKMM, []string{"late-int3-traced"})
	require.NoError(t, err)
	require.Equal(t, "no-oops", f.Scenarios[0].Broken)
}
