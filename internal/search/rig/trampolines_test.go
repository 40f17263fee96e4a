package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/engine/ftrace"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp/arch/target"
)

// TestTrampolinesChangeNothing: scenarios with sites of ftrace that break nothing break nothing where ftrace's
// trampolines are text.
func TestTrampolinesChangeNothing(t *testing.T) {
	t.Parallel()
	n := 0
	for _, sc := range library.All() {
		m := &sc.Machine
		if len(sc.Sites) == 0 || sc.Expect.Sometimes || m.Arch != target.X8664 || m.Engine != "" ||
			m.Edition == rules.Edition26 {
			continue
		}
		for _, m.Trampolines = range []ftrace.Trampolines{ftrace.Shared, ftrace.Own} {
			require.NoError(t, scenario.Check(sc))
			r, err := rig.New(sc, "")
			require.NoError(t, err, sc.Name)
			s := sched.NewPortfolio(sched.Params{Seed: 50, Length: r.Run(new(sched.Default)).Counts.Points})
			for i := range thorough.Of[uint64](20, 2000) / searchtest.Slow {
				run, _ := r.Next(s, i)
				require.Nil(t, run.Property, "%s, trampolines %s", sc.Name, ftrace.TrampolineWords[m.Trampolines])
				n++
			}
			r.Close()
		}
	}
	require.Greater(t, n, 100)
}
