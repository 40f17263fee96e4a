package gen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
)

// What no kernel promises isn't drawn: alternatives in text that an interrupt runs, beside other
// CPUs. A probe at a site that is patched live is drawn in each edition that has ftrace, and
// probes are switched beside one that a client may keep from being armed.
func TestUnpromised(t *testing.T) {
	interrupted, switched, patched := 0, 0, make(map[rules.Edition]int)
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
	require.Positive(t, switched)
	for _, e := range []rules.Edition{rules.Edition415, rules.Edition514, rules.Edition65, rules.Edition69} {
		require.Positive(t, patched[e], e)
	}
}
