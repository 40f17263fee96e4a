package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/smp/smpev"
)

func init() {
	golden("P5-others", func(tr *tracetest.Trace) {
		tr.On(1, 2).Emit(smpev.GPStart, smpev.GPRcu, 1, 0).Emit(smpev.GPStall, smpev.GPRcu, 1<<2|1<<3, 0x0806)
		tr.ExpectViolation("P5",
			"cpu1 task2 finds at a tick that a grace period doesn't end: rcu: INFO: rcu_preempt detected stalls on "+
				"CPUs/tasks: cpu2, cpu3, task 5, task 7")
	})
	golden("P5-self", func(tr *tracetest.Trace) {
		tr.On(1, 2).Emit(smpev.GPStart, smpev.GPSched, 1, 0).Emit(smpev.GPStall, smpev.GPSched, 1<<1, 0)
		tr.ExpectViolation("P5", "rcu: INFO: rcu_sched self-detected stall on CPU: cpu1")
	})
	trap("P5-tasks", "all CPUs have been quiet, and a task hasn't", func(tr *tracetest.Trace) {
		tr.On(0, 4).Emit(smpev.GPStart, smpev.GPTasks, 1, 0).Emit(smpev.GPStall, smpev.GPTasks, 0, 6)
		tr.ExpectViolation("P5", "INFO: rcu_tasks detected stalls on tasks: task 5")
	})
	trap("P5-long", "a grace period waits while a CPU ticks again and again, and no stall is reported: the scenario "+
		"doesn't say how long is too long", func(tr *tracetest.Trace) {
		tr.On(0, 4).Emit(smpev.GPStart, smpev.GPSched, 1, 0)
		for range 100 {
			tr.On(1, 2).Trap(smpev.VecTimer, f).Return(smpev.VecTimer, f)
		}
		tr.ExpectNone()
	})
}
