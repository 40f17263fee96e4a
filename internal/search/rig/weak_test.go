package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/fetch"
)

// A probe at a site of ftrace has no slot: nothing loads or stores that, under a weak memory model, too.
func TestNoSlotAtASite(t *testing.T) {
	sc := searchtest.Load(t, `
machine(cpus = 2, quiesce = "stack-check", ftrace = True, memory = "lkmm")
f = text("f", "0f1f440000 55 4889e5 5d c3")
g = text("g", "55 4889e5 53 5b 5d c3")
h = text("h", "0f1f440000 90 c3")
fentry(f)
fentry(h)
k = kprobe("k", at = f)
m = kprobe("m", at = h)
l = kprobe("l", at = g)
task("a", cpu = 0, ops = [register(k), register(m), unregister(k), register(l), wait_optimized(), unregister(l), wait_optimized(), unregister(m)], repeat = 2)
task("b", cpu = 1, ops = [call(g), call(f), schedule()], repeat = 3)
never()
`)
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	random := sched.NewRandom(sched.Params{Seed: 1, Length: 900})
	for i := range uint64(200) {
		random.Begin(i)
		run := r.Run(random)
		require.Equal(t, smp.Passed, run.Outcome, r.Message(&run))
	}
}

// An NMI that takes a page fault of its own leaves what a fault under way was about: the load of absent data isn't a
// fetch from a page that can't be executed.
func TestFaultUnderAnNMI(t *testing.T) {
	r, err := rig.New(searchtest.Load(t, `
machine(cpus = 2)
c = code("c", "b803000000 c3", at = 0xffffffff81010000)
g = text("g", "b802000000 c3")
away = data("away", "0500000000000000", away = True)
f = text("f", "488b07 c3")
task("a", cpu = 0, ops = [on_fault(c, goto = g), protect(c, False), call(f, away, returns = 5)])
nmi(cpu = 0, run = c)
never()
`), "")
	require.NoError(t, err)
	defer r.Close()
	random := sched.NewRandom(sched.Params{Seed: 1, Length: 60})
	for i := range uint64(2000) {
		random.Begin(i)
		run := r.Run(random)
		require.Equal(t, smp.Passed, run.Outcome, r.Message(&run))
	}
}

// Where no trap's return serialises, a CPU that traps on the breakpoint at a dispatcher doesn't run what its image was
// before.
func TestImagesUnderFRED(t *testing.T) {
	sc, err := library.Load("bpf-dispatcher")
	require.NoError(t, err)
	sc.Machine.Fetch, sc.Machine.FRED, sc.Machine.SyncCopies = fetch.Mixing, true, true
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	for i := range uint64(300) {
		run := r.Play(sched.NewSticky(sched.Params{Seed: i, Length: 200, Mean: 4}))
		require.Equal(t, smp.Passed, run.Outcome, r.Message(&run))
	}
}
