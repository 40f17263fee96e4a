package gen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
)

// What no kernel promises isn't drawn: alternatives in text that an interrupt runs, beside other
// CPUs; text that an interrupt runs on a CPU that comes, beside ftrace. A probe at a site that is
// patched live is drawn in each edition that has ftrace, and probes are switched beside one that a
// client may keep from being armed.
func TestUnpromised(t *testing.T) {
	interrupted, coming, switched, patched := 0, 0, 0, make(map[rules.Edition]int)
	for seed := range uint64(6000) {
		sc, _ := Of(&Recipe{Seed: seed}, On{})
		if sc.Does(act.Alternatives) {
			for _, a := range sc.Alternatives {
				for _, s := range sc.Sources {
					if s.Run == a.Func {
						interrupted++
						require.Equal(t, 1, sc.Machine.CPUs, "seed %d", seed)
					}
				}
			}
		}
		for _, src := range sc.Sources {
			came := sc.Machine.Offline>>src.CPU&1 != 0
			for _, task := range sc.Tasks {
				for _, op := range task.Ops {
					came = came || op.Kind == act.Online && op.CPU == src.CPU
				}
			}
			if came && len(sc.Sites) > 0 {
				coming++
				require.Empty(t, src.Run, "seed %d", seed)
				require.Empty(t, src.Args, "seed %d", seed)
			}
		}
		for _, p := range sc.Probes {
			if p.Name == "at-innermost" {
				patched[sc.Machine.Kernel.Edition]++
			}
			if p.Name == "site0" && sc.Does(act.Livepatch) && sc.Does(act.Enabled) {
				switched++
			}
		}
	}
	require.Positive(t, interrupted)
	require.Positive(t, coming)
	require.Positive(t, switched)
	for _, e := range []rules.Edition{rules.Edition415, rules.Edition514, rules.Edition65, rules.Edition69} {
		require.Positive(t, patched[e], e)
	}
}
