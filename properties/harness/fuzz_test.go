package harness

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/properties"
	"kpsim/properties/scenario"
)

// TestFuzz: whole scenarios that are drawn break no property, whatever the machine;
// nine in ten of the runs on machines that optimize write a jump in a function that a
// task is in, and there is something to choose in each. kpsim fuzz makes many more.
func TestFuzz(t *testing.T) {
	s := Storm{Any: true, Seed: 1, Programs: max(200/slow, 1), Runs: 5}
	r, err := RunStorm(s)
	require.NoError(t, err)
	require.Zero(t, r.Violations, "%v, first seeds %v", r.Broken, r.First)
	require.EqualValues(t, 5*s.Programs, r.Runs)
	require.Greater(t, 20*r.Chosen, 19*r.Runs)
	sum := NewStormed()
	for _, e := range append(scenario.Editions(), scenario.EditionNone) {
		if o := r.Of[e]; o != nil {
			t.Logf("%-10v %4d programs, of %5d runs %5d write a jump during a call, %5d have %d points or more", e, o.Programs, o.Optimizing, o.During, o.Chosen, StormPoints)
			sum.add(o)
		}
	}
	require.Equal(t, r.During, sum.During)
	require.Equal(t, r.Runs, sum.Runs)
	if slow == 1 {
		require.Greater(t, 100*r.During, 88*r.Optimizing, "of %d runs %d write a jump during a call", r.Optimizing, r.During)
	}
}

// TestFuzzFinds: steps that are left out are found by the properties that they break,
// each by its first program, whose exploration makes the same runs.
func TestFuzzFinds(t *testing.T) {
	for _, c := range []struct {
		mutant   string
		property *properties.Property
	}{{"no-sync-disarm", &properties.OwnedBreakpoint}, {"no-quiesce", &properties.NoStartInside}} {
		s := Storm{Any: true, Seed: 1, Programs: 60, Runs: 5, Mutant: c.mutant}
		r, err := RunStorm(s)
		require.NoError(t, err)
		seed, found := r.First[c.property.Name]
		require.True(t, found, "%s: %v", c.mutant, r.Broken)
		spec := s.Spec(seed)
		spec.Blind = true
		again, err := Explore(spec)
		require.NoError(t, err)
		require.NotZero(t, again.Violations, "%s, seed %d", c.mutant, seed)
	}
}
