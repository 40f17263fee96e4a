package gen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/kprobes/rules"
)

// What no kernel promises isn't drawn: alternatives in text that an interrupt runs, beside other
// CPUs; a probe at a site that is patched live, where kernels arm it in vain and don't say so.
func TestUnpromised(t *testing.T) {
	interrupted, patched := 0, 0
	for seed := range uint64(6000) {
		sc, _ := Of(&Recipe{Seed: seed}, On{})
		if sc.Does(scenario.OpAlternatives) {
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
				patched++
				require.GreaterOrEqual(t, sc.Machine.Kernel.Edition, rules.Edition514, "seed %d", seed)
			}
		}
	}
	require.Positive(t, interrupted)
	require.Positive(t, patched)
}
