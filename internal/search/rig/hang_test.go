package rig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/smp"
)

// TestNoEnd: which waits never end while a caller never schedules, which task
// waits for which then, and which waits do end.
func TestNoEnd(t *testing.T) {
	const (
		v = `
v = text("v", hex = "4889f8 4883c003 c3")
w = text("w", hex = "4889f8 4883c003 c3")
k = kprobe("k", at = v)
l = kprobe("l", at = w)
`
		caller = `task("caller", cpu = 1, ops = [spin()])` + "\n"
		other  = `task("other", cpu = 0, ops = [release()])` + "\n"
		waits  = `task("prober", cpu = 0, ops = [register(k), wait_optimized(), release()])` + "\n"
		leaves = `task("prober", cpu = 0, ops = [register(k), unregister(k), release()])` + "\n"
		circle = "a circle: caller waits for release(), left to prober; prober waits for "
		flush  = circle + "the work kprobe_optimizer, done by kprobe_optimizer; kprobe_optimizer waits for "
		ticks  = "timer(cpu = 1, at_most = 60)\n"
	)
	for _, c := range []struct {
		name, machine, rest string
		says                string // "": it ends
	}{
		{"sched", `preempt = "none", quiesce = "sched"`, caller + waits,
			flush + "all CPUs to schedule, held up by caller"},
		{"rcu, built without preemption", `preempt = "voluntary", quiesce = "rcu"`, caller + waits,
			circle + "kprobe_mutex, held by kprobe_optimizer; kprobe_optimizer waits for an RCU grace period, held up by caller"},
		{"tasks, built without preemption", `preempt = "none", quiesce = "tasks"`, caller + waits,
			flush + "all CPUs to schedule, held up by caller"},
		{"tasks", `preempt = "full", quiesce = "tasks"`, caller + waits + ticks,
			flush + "all tasks to schedule, held up by caller"},
		{"stop_machine", `preempt = "none", quiesce = "none", patch = "stop_machine"`, caller + waits,
			"a circle: stopper/1 waits for cpu1, kept by caller; caller waits for release(), left to prober; prober waits for the work kprobe_optimizer, done by kprobe_optimizer; kprobe_optimizer waits for stop_machine, held up by stopper/1"},
		{"unregister", `preempt = "none", quiesce = "none"`, caller + leaves,
			circle + "an RCU grace period, held up by caller"},
		{"a mutex under which the optimizer waits (R13)", `preempt = "full", quiesce = "tasks"`,
			caller + ticks + `task("prober", cpu = 0, ops = [register(k), schedule(), register(l), release()])` + "\n",
			circle + "kprobe_mutex, held by kprobe_optimizer; kprobe_optimizer waits for all tasks to schedule, held up by caller"},
		{"a task of the caller's CPU", `preempt = "none", quiesce = "sched"`,
			caller + `task("prober", cpu = 1, ops = [release()])` + "\n",
			"a circle: caller waits for release(), left to prober; prober waits for cpu1, kept by caller"},
		{"nobody releases", `preempt = "none", quiesce = "sched"`, caller,
			"the run ended stuck; caller waits for release()"},
		{"a loop", `preempt = "none", quiesce = "sched", steps = 3000`,
			`f = text("f", hex = "ebfe")` + "\n" + `task("prober", cpu = 0, ops = [register(k), wait_optimized()])` +
				"\n" + `task("caller", cpu = 1, ops = [call(f, changed = True)])` + "\n",
			"; prober waits for the work kprobe_optimizer, done by kprobe_optimizer; kprobe_optimizer waits for all CPUs to schedule, held up by caller; caller keeps its CPU"},

		{"sched, and another releases", `preempt = "none", quiesce = "sched"`, caller + waits + other, ""},
		{"unregister, built with preemption", `preempt = "full", quiesce = "none", optprobes = False`,
			caller + leaves + ticks, ""},
		{"rcu, built with preemption", `preempt = "full", quiesce = "rcu"`, caller + waits + ticks, ""},
		{"stack-check", `preempt = "full", quiesce = "stack-check"`, caller + waits + "preempt(cpu = 1)\n", ""},
		{"no grace period, no stop_machine", `preempt = "none", quiesce = "none"`, caller + waits, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rig, err := build(searchtest.LoadTinier(t, c.machine, v+c.rest), "", false)
			require.NoError(t, err)
			defer rig.Close()
			seen := make(map[string]bool)
			ended := 0
			random := sched.NewSticky(sched.Params{Seed: 1, Mean: 20})
			for i := range uint64(60) {
				random.Begin(i)
				run := rig.Run(random)
				if run.Outcome == smp.Passed {
					ended++
					continue
				}
				seen[rig.Readable(run.Finding.Message)] = true
			}
			if c.says == "" {
				require.NotZero(t, ended)
				// ticks that all came too early
				require.True(t, ended == 60 || strings.Contains(c.rest, ticks), "%v", seen)
				return
			}
			found := false
			for s := range seen {
				found = found || strings.HasSuffix(s, c.says)
			}
			require.True(t, found, "%d ended; %v", ended, seen)
		})
	}
}

// TestPlainStop: where a run that never ends was when its budget was spent is chance. The words by
// which ways of breaking a property are told apart say what is waited for, and not where it was.
func TestPlainStop(t *testing.T) {
	rig, err := build(searchtest.LoadTinier(t, `preempt = "none"`, `task("a", cpu = 0, ops = [release()])`), "", false)
	require.NoError(t, err)
	defer rig.Close()
	const (
		begin = "the run ended exhausted after 3000 boundaries, "
		end   = ": cpu1 runs the same instructions again and again, or the scenario wants machine(steps = 30000)"
		waits = "; prober waits for kprobe_mutex, held by caller"
	)
	ipi := rig.Plain(begin + "cpu1 caller at call-function handler iret step 0" + end + waits)
	require.Equal(t, ipi, rig.Plain(begin+"cpu0 prober at sync_core step 1"+end+waits))
	require.NotEqual(t, ipi, rig.Plain(begin+"cpu0 prober at sync_core step 1"+end))
	require.Contains(t, ipi, "waits for kprobe_mutex")
}
