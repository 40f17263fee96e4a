package explore_test

import (
	"slices"
	"strings"
	"testing"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/traces"

	"github.com/stretchr/testify/require"
)

// TestShrinkSecondInstruction: three deviations are enough for what everything
// began with, and one of them goes through an interrupt.
func TestShrinkSecondInstruction(t *testing.T) {
	if searchtest.Slow > 1 {
		t.Skip("nothing here is concurrent but Explore, which others run")
	}
	sc, err := library.Load("second-instruction")
	require.NoError(t, err)
	for seed := range thorough.Of[uint64](1, 3) {
		res, err := explore.Run(explore.Spec{Scenario: sc, Runs: 10_000, Seed: seed})
		require.NoError(t, err)
		w := res.Witness
		require.NotNil(t, w)
		require.LessOrEqual(t, len(w.Schedule), 3, "%v", w.Schedule)
		require.False(t, w.Slow)
		require.Less(t, w.Runs, 2000)
		require.True(t, slices.ContainsFunc(w.Schedule, interrupted), "%v", w.Schedule)
	}
}

// interrupted reports whether a deviation fires a source, delays an IPI or stops in a handler.
func interrupted(d traces.Deviation) bool {
	return strings.Contains(d.Alt, "@") || strings.HasPrefix(d.Mover, "ipi@") || strings.Contains(d.Name, " handler")
}
