package harness

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnderWay: a CPU is in a tracer's call when the first probe of the site
// registers, and runs its handler. That is right, whichever way it came and
// whatever the probe is.
func TestUnderWay(t *testing.T) {
	for _, probe := range []string{
		`kprobe("k", at = f)`, `kprobe("k", at = f, post = [count()])`, `kretprobe("k", at = f)`, `kretprobe("k", at = f, entry = [count()])`,
	} {
		sc := loadTinier(t, `ftrace = True, quiesce = "sched", patch = "breakpoint"`, `
f = text("f", "0f1f440000 8d4701 c3")
fentry(f)
k = `+probe+`
task("tracer", cpu = 0, ops = [tracer(True), register(k), unregister(k), tracer(False)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 2)], repeat = 3)
`)
		r, err := Explore(Spec{Scenario: sc, Runs: 3000, Seed: 1, Blind: true})
		require.NoError(t, err)
		require.Empty(t, r.Broken, probe)
	}
}
