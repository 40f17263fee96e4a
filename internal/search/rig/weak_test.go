package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/smp"
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
