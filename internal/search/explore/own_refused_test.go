package explore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/explore"
	"kpsim/internal/testkit/searchtest"
)

// TestOwnRefused: an instruction that the simulator doesn't execute, and that the
// scenario has linked, is bad input wherever a CPU reaches it: after a branch
// that the run without probes doesn't take, in an interrupt's function, and in
// the copy of it that a probe has made.
func TestOwnRefused(t *testing.T) {
	for _, text := range []string{
		// a handler sends the call to it
		`f = text("f", "90 85ff 7504 90 90 90 c3 0f28c1 c3")
k = kprobe("k", at = f, pre = [set_reg("rdi", 1)])
task("a", cpu = 0, ops = [register(k), call(f, 0, changed = True)])
`,
		// only an NMI calls it
		`f = text("f", "0f28c1 c3")
g = text("g", "c3")
k = kprobe("k", at = g)
task("a", cpu = 0, ops = [register(k), call(g)])
nmi(cpu = 0, run = f)
`,
		// and the probe is on it
		`f = text("f", "0f28c1 c3")
k = kprobe("k", at = f)
task("a", cpu = 0, ops = [register(k)])
nmi(cpu = 0, run = f)
`,
	} {
		_, err := explore.Run(explore.Spec{Scenario: searchtest.LoadTinier(t, `quiesce = "sched", patch = "breakpoint"`,
			text), Runs: 300, Seed: 1, Blind: true})
		require.Error(t, err, text)
		require.True(t, strings.HasSuffix(err.Error(), ": is not executed by this simulator"), err)
	}
}
