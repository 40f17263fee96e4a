package explore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/testkit/searchtest"
	"kpsim/smp/arch/x86"
)

// TestResched: a loop that calls cond_resched ends a wait for all tasks in builds
// without preemption, and in no others; cond_resched_tasks_rcu_qs does in all. Under
// a schedule that gives the loop no ticks, or keeps others away, no wait ends.
func TestResched(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(searchtest.Root(t), "internal/scenario/library/never-schedules-resched.star"))
	require.NoError(t, err)
	const call = "e8fafeff00" // of cond_resched, from 0xffffffff81000101
	require.Contains(t, string(src), call)
	noted, ok := scenario.KernelExport("cond_resched_tasks_rcu_qs")
	require.True(t, ok)
	for _, c := range []struct {
		preempt, quiesce string
		noted            bool
		ends             bool // in some runs; else in none
	}{
		{"none", "tasks", false, true},
		{"voluntary", "tasks", false, true},
		{"dynamic", "tasks", false, false},
		{"full", "tasks", false, false},
		{"lazy", "tasks", false, false},
		{"none", "tasks", true, true},
		{"voluntary", "tasks", true, true},
		{"dynamic", "tasks", true, true},
		{"full", "tasks", true, true},
		{"lazy", "tasks", true, true},
		{"none", "sched", false, true},
		{"dynamic", "sched", false, true},
	} {
		s := strings.Replace(string(src), `preempt = "dynamic", quiesce = "tasks"`, `preempt = "`+c.preempt+
			`", quiesce = "`+c.quiesce+`"`, 1)
		if c.noted {
			rel, _ := x86.CallRel32(0xffffffff81000101, noted)
			s = strings.Replace(s, call, fmt.Sprintf("%x", rel), 1)
		}
		s = strings.Replace(s, "register(other)", "wait_optimized()", 1) // the wait itself, not a wait for the mutex
		s = strings.Replace(s, "sometimes(", "timer(cpu = 1, at_most = 8)\nsometimes(", 1)
		sc, err := lang.Load("never-schedules-resched.star", []byte(s), os.ReadFile)
		require.NoError(t, err)
		r, err := explore.Run(explore.Spec{Scenario: sc, Runs: 100, Seed: 1, Blind: true})
		require.NoError(t, err)
		require.Equal(t, c.ends, r.Violations < r.Runs, "%+v: %d of %d runs don't end", c, r.Violations, r.Runs)
	}
}
