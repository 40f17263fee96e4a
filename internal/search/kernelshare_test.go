package search_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/smp/arch/target"
)

// TestShareUnderKernel counts which of the library's scenarios for x86-64 that have something for a kernel run with
// 6.12's own engine: that a kernel takes and that can be set up. Their share has a floor. Those that are refused are
// logged with the reason.
func TestShareUnderKernel(t *testing.T) {
	const floor = 90 // percent
	k, err := linux.Open(kerneltest.Path(t, "6.12"))
	require.NoError(t, err)
	linux.Give(k)
	run, all := 0, 0
	for _, sc := range library.All() {
		if sc.Machine.Arch != target.X8664 {
			continue
		}
		has := sc.OfKernel()
		err := onlinux.Set(sc, k)
		if err == nil {
			var r *rig.Rig
			if r, err = rig.New(sc, ""); err == nil {
				r.Close()
			}
		}
		switch {
		case err != nil: // what it is refused for is something for a kernel
			all++
			t.Logf("%s: %v", sc.Name, err)
		case has:
			run, all = run+1, all+1
		}
	}
	share := fmt.Sprintf("%d of %d run, %.1f %%", run, all, 100*float64(run)/float64(all))
	t.Log(share)
	require.GreaterOrEqual(t, 100*run, floor*all, share)
}

// TestFprobesRefused: a kernel without fprobes that can be run is refused by name, and its other sets run.
func TestFprobesRefused(t *testing.T) {
	for series, why := range map[string]string{"6.1": "it is built without CONFIG_FPROBE (5.18 and later)",
		"7.3": "its fprobes are clients of the function graph tracer (6.14 and later)"} {
		t.Run(series, func(t *testing.T) {
			k, err := linux.Open(kerneltest.Path(t, series))
			require.NoError(t, err)
			sc, err := library.Load("fprobe-pair")
			require.NoError(t, err)
			require.ErrorContains(t, onlinux.Set(sc, k), `fprobe "p": fprobes of the kernel can't be run: `+why)
			require.Equal(t, why, k.Lacks("fprobe"))
			require.Empty(t, k.Lacks("kprobes"))
		})
	}
}
