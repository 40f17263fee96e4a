package change

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
)

// Few runs of a scenario show that text_poke doesn't wait; many do near the schedule of one of them. A kernel that
// behaves alike isn't accused of the same.
func TestNear(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	linux.Give(k)
	const mutant = "skip-call:kprobe_optimizer:synchronize_rcu_tasks:1"
	sc, err := library.Load("second-instruction")
	require.NoError(t, err)
	s := &Search{Scenario: sc, Base: k, Kernel: k, Mutant: mutant, Runs: 200, Seed: 1,
		Odds: Odds{Comparisons: 200}}
	s.with, err = s.explore(s.Scenario, s.Kernel, s.Mutant, s.Runs, s.Seed)
	require.NoError(t, err)
	seen := 0
	for kind := range kinds(s.with) {
		w, err := s.witness(kind)
		require.NoError(t, err)
		if w == nil {
			continue
		}
		sc, err := lang.Parse("witness", []byte(w.File.Scenario))
		require.NoError(t, err)
		sc.Machine.Engine, sc.Machine.Image = "", ""
		seen++
		b := &Break{Property: kind.property, Words: kind.words, Witness: w}
		is, took, err := s.near(b, kind, sc, SettleMost)
		require.NoError(t, err)
		require.Equal(t, worse, is, "%+v", b.Near)
		require.Positive(t, b.Near.Violations)
		require.Less(t, took, uint64(nearMost))
		require.Zero(t, b.Near.Base)
		require.Equal(t, b.Near.BaseRuns, b.Near.Runs)
		t.Logf("%v: %d of %d", kind, b.Near.Violations, b.Near.Runs)

		alike := *s
		alike.Kernel, alike.Base, alike.Mutant = k, k, ""
		b = &Break{Property: kind.property, Words: kind.words, Witness: w}
		is, _, err = alike.near(b, kind, sc, SettleMost)
		require.NoError(t, err)
		require.Equal(t, unsure, is)
	}
	require.Equal(t, 1, seen)
}
