package linux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/linux"
	"kpsim/linux/boot"
	"kpsim/linux/vmlinux/kerneltest"
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
			require.ErrorContains(t, err, "the engine calls register_die_notifier, which isn't done here: init_kprobes+0x")
		})
	}
}
