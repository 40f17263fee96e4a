package linux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
)

// behind has functions that begin with endbr64.
const behind = `
machine(cpus = 1, preempt = "none", ftrace = True)
f = text("f", "f30f1efa 0f1f440000 8d4701 c3")
g = text("g", "f30f1efa 90 90 90 8d4702 c3")
fentry(f + 4)
k = kprobe("k", at = f, pre = [count()])
q = kprobe("q", symbol = "g", pre = [count()])
r = kretprobe("r", at = f, handler = [count()])
task("prober", ops = [register(k, errno = 0), register(q, errno = 0), register(r, errno = 0), call(f, 1, returns = 2), call(g, 1, returns = 3),
    unregister(r), unregister(q), unregister(k), tracer(True), call(f, 1, returns = 2)])
`

// A kernel with CONFIG_X86_KERNEL_IBT, 6.12, places a probe at a function's entry behind the
// endbr64, as monitors know. The call of a tracer that stays at the end is known, too.
func TestEntry(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.12"))
	require.NoError(t, err)
	linux.Give(k)
	sc, err := lang.Parse("behind", []byte(behind))
	require.NoError(t, err)
	run := rigOf(t, k, sc).Run(new(sched.Default))
	require.Equal(t, smp.Passed, run.Outcome, "%v %v", run.Finding, run.Err)
}
