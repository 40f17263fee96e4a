package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
)

const setsUp = `
machine(cpus = 2, preempt = "full")
f = text("f", "89f8 83c001 c3")
k = kprobe("k", f, pre = [count()])
task("prober", cpu = 0, ops = [register(k), wait_optimized(), unregister(k)], setup = 2)
task("caller", cpu = 1, ops = [call(f, 7, returns = 8)])
`

// A run that begins after the setup goes on from there: the probe is registered, and it is
// the same run each time, on another rig too.
func TestSetupIsKept(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	linux.Give(k)
	var first rig.Run
	for i := range 4 {
		sc, err := lang.Load("sets-up.star", []byte(setsUp), nil)
		require.NoError(t, err)
		require.NoError(t, onlinux.Set(sc, k))
		r, err := rig.New(sc, "")
		require.NoError(t, err)
		for range 2 {
			run := r.Run(new(sched.Default))
			require.Equal(t, smp.Passed, run.Outcome, r.Message(&run))
			require.Less(t, run.Counts.Instructions, uint64(5_000), "registering isn't part of it")
			if first.Digest == 0 {
				first = run
			}
			require.Equal(t, first.Digest, run.Digest, "rig %d", i)
		}
		r.Close()
	}
}

// The setup is only what other tasks have no part in.
func TestSetupIsRefused(t *testing.T) {
	for _, wrong := range []string{
		`task("t", ops = [call(f)], setup = 1)`,
		`task("t", ops = [register(k)], setup = 2)`,
		`task("t", ops = [register(k)], setup = -1)`,
		`task("t", ops = [register(k), unregister(k)], setup = 1, repeat = 2)`,
	} {
		_, err := lang.Load("wrong.star", []byte("f = text(\"f\", \"c3\")\nk = kprobe(\"k\", f)\n"+wrong), nil)
		require.ErrorContains(t, err, "set", wrong)
	}
}
