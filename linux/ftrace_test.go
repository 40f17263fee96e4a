package linux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/kprobes/kpev"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// entries has a probe of each of the two ftrace_ops, beside a tracer.
const entries = `
machine(cpus = 2, preempt = "none", quiesce = "sched", ftrace = True)
f = text("f", "0f1f440000 8d4701 c3")
g = text("g", "0f1f440000 8d4702 c3")
fentry(f)
fentry(g)
k = kprobe("k", at = f)
q = kprobe("q", at = g, post = [count()])
task("prober", cpu = 0, ops = [register(k, errno = 0), register(q, errno = 0), call(g, 1, returns = 3), call(f, 1, returns = 2), tracer(True), unregister(k), tracer(False), call(g, 1, returns = 3), unregister(q), call(g, 1, returns = 3)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 2), call(g, 5, returns = 7), schedule()], repeat = 3)
timer(cpu = 1)
`

// Probes at functions' entries are armed by ftrace, and hit, in each schedule.
func TestFtrace(t *testing.T) {
	for _, series := range []string{"6.1", "6.12"} {
		t.Run(series, func(t *testing.T) {
			k, err := linux.Open(kerneltest.Path(t, series))
			require.NoError(t, err)
			linux.Give(k)
			sc, err := lang.Parse("entries", []byte(entries))
			require.NoError(t, err)
			r := rigOf(t, k, sc)
			var hits handlers
			r.Log.Subscribe(&hits, kpev.Handler)
			s := sched.NewSticky(sched.Params{Seed: 1, Length: r.Run(new(sched.Default)).Counts.Points})
			for i := range uint64(20) {
				s.Begin(i)
				run := r.Run(s)
				s.End(run.Counts.Points)
				require.Equal(t, smp.Passed, run.Outcome, "schedule %d: %s", i, run.Finding.Message)
			}
			require.Positive(t, int(hits), "no probe is ever hit")

			// A probe with a post_handler that joined another goes: the kernel warns, for its
			// ftrace_ops hasn't the address (finding ftrace-by-post).
			sc, err = library.Load("ftrace-probe")
			require.NoError(t, err)
			run := rigOf(t, k, sc).Run(new(sched.Default))
			require.Equal(t, smp.Violated, run.Outcome)
			require.Equal(t, "no-warning", run.Property.Name)
		})
	}
}

// rigOf runs a scenario on a kernel.
func rigOf(t *testing.T, k *linux.Kernel, sc *scenario.Scenario) *rig.Rig {
	require.NoError(t, onlinux.Set(sc, k))
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// handlers counts handlers that run.
type handlers int

func (n *handlers) Event(*traces.Event) *traces.Finding { *n++; return nil }
