package rig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/sched"
	"kpsim/smp"
)

// TestDefaultRuns: the default run of every built-in scenario ends and breaks
// nothing. A race takes a deviation.
func TestDefaultRuns(t *testing.T) {
	for _, sc := range library.All() {
		r, err := New(sc, "")
		require.NoError(t, err)
		run := r.Run(new(sched.Default))
		require.Equal(t, smp.Passed, run.Outcome, "%s: %s", sc.Name, run.Finding.Message)
		require.True(t, r.wiring.engine.Settled(), sc.Name)
		require.NotZero(t, run.Counts.Points, sc.Name)
		r.Close()
	}
}

// TestNotComingToTheEnd: a run that doesn't end says why, and what waits.
func TestNotComingToTheEnd(t *testing.T) {
	sc, err := library.Load("safe-none")
	require.NoError(t, err)
	r, err := New(sc, "lost-kick")
	require.NoError(t, err)
	defer r.Close()
	run := r.Run(new(sched.Default))
	require.Equal(t, "progress", run.Property.Name)
	require.Equal(t, smp.Exhausted, run.Outcome)
	require.Contains(t, run.Finding.Message, "the run ended exhausted after 200000 boundaries")
}
