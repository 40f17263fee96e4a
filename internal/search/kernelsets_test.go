package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/properties"
)

// A kernel's own jump labels, static calls and ftrace patch the text of scenarios: nothing is
// broken by them as they are, and faults in their machine code are noticed.
func TestKernelsOtherPatchers(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.12"))
	require.NoError(t, err)
	kerneltest.Familiar(t, k.Image)
	linux.Give(k)
	for _, c := range []struct {
		scenario, mutant string
		runs             int
		by               *properties.Property // nil: nothing is broken
	}{
		{"jump-label-flip", "", 20, nil},
		{"jump-label-flip", "skip-call:text_poke_bp_batch:on_each_cpu_cond_mask:1", 120, &properties.WholeInstructions},
		{"jump-label-flip", "skip-call:__jump_label_update:arch_jump_label_transform_apply:1", 120, &properties.SitesAgree},
		{"jump-label-flip", "skip-call:arch_jump_label_transform_queue:mutex_lock:1", 120, &properties.Locks},
		{"static-call-flip", "", 20, nil},
		{"static-call-flip", "skip-call:text_poke_bp_batch:on_each_cpu_cond_mask:1", 120,
			&properties.WholeInstructions},
		{"static-call-flip", "skip-call:__static_call_update:arch_static_call_transform:2", 120,
			&properties.SitesAgree},
		{"static-call-probes", "", 20, nil},
		{"batch-poke", "", 20, nil},
		{"batch-poke", "skip-call:text_poke_bp_batch:on_each_cpu_cond_mask:1", 120, &properties.WholeInstructions},
		{"batch-poke", "skip-call:ftrace_replace_code:text_poke_queue:1", 120, &properties.NoWarning},
		{"fprobe-pair", "", 20, nil},
		{"fprobe-shared", "", 20, nil},
		{"fprobe-goes", "", 100, nil},
		{"traced-again", "", 20, nil},
		{"traced-plugged", "", 20, nil},
		{"fprobe-goes", "skip-call:unregister_fprobe:rethook_free:1", 20, &properties.NoLeak},
		{"fprobe-goes", "skip-call:unregister_fprobe:ftrace_free_filter:1", 20, &properties.NoLeak},
		{"fprobe-skips", "", 20, nil},
		{"fprobe-skips", "skip-call:fprobe_handler:rethook_recycle:1", 120, &properties.RightResult},
		{"fprobe-skips", "invert:fprobe_handler+0x11a", 120, &properties.FprobePairs},
		{"fprobe-skips", "drop-store:fprobe_handler+0xbc", 120, &properties.FprobePairs},
		{"fprobe-nested", "", 20, nil},
		{"fprobe-nested", "drop-store:fprobe_handler+0x88", 20, &properties.FprobePairs},
		{"fprobe-nested", "drop-store:fprobe_exit_handler+0x7c", 20, &properties.FprobePairs},
		// as it is: a user who registers an fprobe that is registered
		{"fprobe-leaves", "", 400, &properties.NoOops},
		{"fprobe-leaves", "", 20, &properties.NoLeak},
	} {
		sc, err := library.Load(c.scenario)
		require.NoError(t, err)
		require.NoError(t, onlinux.Set(sc, k))
		set := breaks(sc, c.mutant, c.runs, 0, nil)
		if c.by == nil {
			require.Empty(t, set.List(), "%s", c.scenario)
			continue
		}
		require.Contains(t, set.List(), c.by, "%s with %s", c.scenario, c.mutant)
	}
}
