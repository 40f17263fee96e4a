package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/fetch"
)

// passes checks that no run of a scenario breaks anything.
func passes(t *testing.T, sc *scenario.Scenario, runs uint64, s sched.Strategy) {
	t.Helper()
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	for i := range runs {
		s.Begin(i)
		run := r.Run(s)
		s.End(run.Counts.Points)
		require.Equal(t, smp.Passed, run.Outcome, r.Message(&run))
	}
}

// A probe at a site of ftrace has no slot: nothing loads or stores that, under a weak memory model, too.
func TestNoSlotAtASite(t *testing.T) {
	passes(t, searchtest.Load(t, `
machine(cpus = 2, quiesce = "stack-check", ftrace = True, memory = "lkmm")
f = text("f", "0f1f440000 55 4889e5 5d c3")
g = text("g", "55 4889e5 53 5b 5d c3")
h = text("h", "0f1f440000 90 c3")
fentry(f)
fentry(h)
k = kprobe("k", at = f)
m = kprobe("m", at = h)
l = kprobe("l", at = g)
task("a", cpu = 0, ops = [register(k), register(m), unregister(k), register(l), wait_optimized(), unregister(l),
    wait_optimized(), unregister(m)], repeat = 2)
task("b", cpu = 1, ops = [call(g), call(f), schedule()], repeat = 3)
never()
`), 200, sched.NewRandom(sched.Params{Seed: 1, Length: 900}))
}

// An NMI that takes a page fault of its own leaves what a fault under way was about: the load of absent data isn't a
// fetch from a page that can't be executed.
func TestFaultUnderAnNMI(t *testing.T) {
	passes(t, searchtest.Load(t, `
machine(cpus = 2)
c = code("c", "b803000000 c3", at = 0xffffffff81010000)
g = text("g", "b802000000 c3")
away = data("away", "0500000000000000", away = True)
f = text("f", "488b07 c3")
task("a", cpu = 0, ops = [on_fault(c, goto = g), protect(c, False), call(f, away, returns = 5)])
nmi(cpu = 0, run = c)
never()
`), 2000, sched.NewRandom(sched.Params{Seed: 1, Length: 60}))
}

// Where no trap's return serialises, a CPU that traps on the breakpoint at a dispatcher doesn't run what its image was
// before.
func TestImagesUnderFRED(t *testing.T) {
	sc, err := library.Load("bpf-dispatcher")
	require.NoError(t, err)
	sc.Machine.Fetch, sc.Machine.FRED, sc.Machine.SyncCopies = fetch.Mixing, true, true
	passes(t, sc, 300, sched.NewSticky(sched.Params{Seed: 1, Length: 200, Mean: 4}))
}
