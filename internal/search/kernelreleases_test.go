package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/properties"
)

// Kernels of other series than 6.1 and 6.12 run, too: nothing is broken by them as they are,
// and the search finds an optimizer that doesn't wait for tasks. In a kernel without preemption it waits by
// synchronize_rcu. Those who flush the optimizer of 7.0 and 7.1 wait for ever (docs/findings.md, flush-forever).
func TestReleases(t *testing.T) {
	for _, series := range []string{"5.10", "5.10-rt", "5.19", "6.2", "6.5", "6.8", "6.11", "6.14", "6.16", "6.17",
		"6.18", "6.19", "7.0", "7.1", "7.2", "7.3"} {
		t.Run(series, func(t *testing.T) {
			k, err := linux.Open(kerneltest.Path(t, series))
			require.NoError(t, err)
			linux.Give(k)
			optimizer := "kprobe_optimizer"
			if _, ok := k.Image.Symbol("kprobe_optimizer_thread"); ok {
				optimizer = "kprobe_optimizer_thread"
			}
			wait := "synchronize_rcu_tasks"
			if !k.Preemptible() {
				wait = "synchronize_rcu"
			}
			asIs := (*properties.Property)(nil)
			if _, ok := k.Image.Symbol("optimizer_completion"); ok {
				asIs = &properties.Progress
			}
			for _, c := range []struct {
				scenario, mutant string
				runs             int
				by               *properties.Property // nil: nothing is broken
			}{
				{"return-probes", "", 20, asIs},
				{"second-instruction", "", 20, asIs},
				{"second-instruction", "skip-call:" + optimizer + ":" + wait + ":1", 400, &properties.NoStartInside},
			} {
				if asIs != nil && c.mutant != "" {
					continue // each run stands still before it is seen
				}
				sc, err := library.Load(c.scenario)
				require.NoError(t, err)
				require.NoError(t, onlinux.Set(sc, k))
				set := breaks(sc, c.mutant, c.runs, 0, nil)
				if c.by == nil {
					require.Empty(t, set.List(), "%s", c.scenario)
					continue
				}
				require.Contains(t, set.List(), c.by, "%s with %s", c.scenario, c.mutant)
			}
		})
	}
}
