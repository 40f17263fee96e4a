package search_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
)

// TestNeedsJump: of a mutant that is said to show only where a breakpoint becomes a jump,
// its own scenario shows nothing on a machine without optprobes, however it is run; others
// do, so that this can fail.
func TestNeedsJump(t *testing.T) {
	found := func(name string) uint64 {
		mu, ok := mutants.ByName(name)
		require.True(t, ok)
		sc, err := library.Load(mu.Scenario)
		require.NoError(t, err)
		sc.Machine.Kernel.Optprobes = false
		for i := range sc.Tasks {
			task := &sc.Tasks[i]
			task.Ops = slices.DeleteFunc(task.Ops, func(op scenario.Op) bool {
				return op.Kind == act.WaitOptimized || op.Kind == act.Optimization
			})
			if len(task.Ops) == 0 {
				task.Ops = []scenario.Op{{Kind: act.Schedule}}
			}
		}
		require.NoError(t, lang.Check(sc), name)
		res, err := explore.Run(explore.Spec{Scenario: sc, Mutant: name,
			Runs: thorough.Of[uint64](200, 600) / searchtest.Slow, Seed: 1, Blind: true})
		require.NoError(t, err, name)
		return res.Violations
	}
	for _, name := range mutants.Names() {
		if mutants.NeedsJump(name) {
			require.Zero(t, found(name), name)
		}
	}
	for _, name := range []string{"no-restore", "no-sync-disarm", "byte-first"} {
		require.NotZero(t, found(name), name)
	}
}
