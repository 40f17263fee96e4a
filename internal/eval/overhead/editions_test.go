package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
)

// With the engine of its own edition a probe is the same; with that of another it is of
// that edition, boosts and optimizes as much, and runs.
func TestIn(t *testing.T) {
	for era, detour := range []bool{false, true} {
		for _, p := range Probes(detour) {
			require.Equal(t, p, p.In(figureEditions[era]))
		}
	}
	user := &UserProfile{Edition: figureEditions[1]}
	for _, e := range rules.AllEditions() {
		for _, p := range user.ProbesIn(e.String()) {
			sc, err := p.Scenario(1, true)
			require.NoError(t, err, p.Name)
			require.Equal(t, e, sc.Machine.Edition)
			require.False(t, sc.Machine.Kernel.Ftrace)
			if e == rules.Edition26 {
				continue
			}
			optimized := p.Name == "o" || p.Name == "ro"
			require.Equal(t, !optimized, !sc.Machine.Kernel.Optprobes, "%s in %v", p.Name, e)
			require.Equal(t, p.Name == "k" || p.Name == "r", sc.Machine.Boost == era.BoostNever, "%s in %v", p.Name, e)
			_, err = p.Measure(nil)
			require.NoError(t, err, "%s in %v", p.Name, e)
		}
	}
}

// A machine has costs for the probes of its figures, and for those of other editions in
// whose hits nothing else happens.
func TestProbesIn(t *testing.T) {
	names := func(era, edition string) (list []string) {
		for _, p := range (&UserProfile{Edition: era}).ProbesIn(edition) {
			list = append(list, p.Name)
		}
		return list
	}
	require.Equal(t, probeNames(false), names("2.6", "2.6"))
	require.Empty(t, names("2.6", "4.15"))
	require.Equal(t, []string{"k", "r", "kr"}, names("4.15", "2.6"))
	for _, e := range []string{"4.15", "5.14", "6.5", "6.9", "documented"} {
		require.Equal(t, probeNames(true), names("4.15", e))
	}
}

// Later ways to step and to follow calls are less to do.
func TestLaterIsCheaper(t *testing.T) {
	o := fitted(t)
	costs, err := o.Profile(&Machines[4], Calibrated)
	require.NoError(t, err)
	user := &UserProfile{Edition: figureEditions[1]}
	cost := func(probe, edition string) float64 {
		for _, p := range user.ProbesIn(edition) {
			if p.Name == probe {
				h, err := p.Measure(costs)
				require.NoError(t, err)
				return h.Cycles
			}
		}
		t.Fatalf("%s has no %s", edition, probe)
		return 0
	}
	require.Less(t, cost("k", "5.14"), cost("k", "4.15")) // a breakpoint after the copy, no debug exception
	require.Equal(t, cost("b", "4.15"), cost("b", "6.9"))
	require.Greater(t, cost("r", "2.6"), cost("r", "4.15")) // its trampoline is a probe
	require.Greater(t, cost("ro", "4.15"), cost("ro", "5.14"))
}
