package scenario_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/smp/arch"
)

// Addresses of the kernel's exports are in the bytes of traces: this list only
// grows.
func TestKernelExports(t *testing.T) {
	require.Equal(t, []string{"cond_resched", "cond_resched_tasks_rcu_qs", "do_exit", "jprobe_return", "membarrier",
		"mprotect", "__clear_cache", "sched_yield", "sync_core", "text_poke_sync", "smp_text_poke_sync_each_cpu",
		"synchronize_rcu", "synchronize_rcu_tasks", "synchronize_rcu_tasks_rude",
		"wait_for_completion", "syscall"}, scenario.KernelExports())
	at, ok := scenario.KernelExport("cond_resched")
	require.True(t, ok)
	require.Equal(t, arch.Addr(0xffffffff82000000), at)
	_, ok = scenario.KernelExport("victim")
	require.False(t, ok)
}
