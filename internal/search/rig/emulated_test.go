package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/smp"
)

// TestEmulatedReturn: a probed ret leaves the stack as it is without the probe, also on a machine of
// an edition whose kernels stepped it and that is told to emulate it: its frames hold the stack pointer.
func TestEmulatedReturn(t *testing.T) {
	for _, machine := range []string{`edition = "4.15"`, `edition = "4.15", step = "int3"`,
		`edition = "2.6", step = "int3"`, `edition = "6.9"`} {
		r, err := rig.New(searchtest.Load(t, `machine(cpus = 1, arch = "i386", `+machine+`)
f = text("f", "31c0 c3")
k = kprobe("k", at = f + 2)
task("caller", cpu = 0, ops = [register(k, errno = 0), call(f, returns = 0)])
`), "")
		require.NoError(t, err)
		run := r.Run(new(sched.Default))
		require.Equal(t, smp.Passed, run.Outcome, "%s: %s", machine, r.Message(&run))
		r.Close()
	}
}
