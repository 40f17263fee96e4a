package linux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/linux/boot"
	"kpsim/sched"
)

// A call without a service ends the run, with its name and who calls it.
func TestUnserved(t *testing.T) {
	for _, series := range []string{"6.1", "6.12"} {
		t.Run(series, func(t *testing.T) {
			path := kerneltest.Path(t, series)
			defer linux.Unserve("register_die_notifier")()
			k, err := linux.Open(path)
			require.NoError(t, err)
			_, err = boot.Kernel(k, 1)
			require.ErrorContains(t, err,
				"the engine calls register_die_notifier, which isn't done here: init_kprobes+0x")
		})
	}
}

// So does a call through a pointer of what is no function of the engine's: it isn't run as
// it is.
func TestPointed(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.12"))
	require.NoError(t, err)
	k = k.Handled("vfs_read")
	linux.Give(k)
	sc, err := library.Load("unoptimized")
	require.NoError(t, err)
	run := rigOf(t, k, sc).Run(new(sched.Default))
	require.ErrorContains(t, run.Err,
		"vfs_read+0x0: the engine calls through a pointer vfs_read, which isn't done here: aggr_pre_handler+0x")
	require.ErrorContains(t, run.Err, " < kprobe_int3_handler+0x")
	require.ErrorContains(t, run.Err, " < exc_int3+0x")
}
