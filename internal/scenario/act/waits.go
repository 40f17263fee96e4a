package act

import (
	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// Operations that give up the CPU or wait for others, and works.
var (
	Schedule = add(row{family: waits, Operation: &scenario.Operation{
		Word:   "schedule",
		Says:   "give up the CPU once, as the kernel's schedule() does",
		Kernel: []string{"cond_resched", "preempt_schedule", "schedule_timeout"},
		Object: scenario.Nothing,
		Traits: scenario.Serial,
		Drawn:  scenario.Drawn{Nth: 6, Times: 1},
	}, do: func(_ Task, x *smp.Ctx, _ int, _ *scenario.Op) {
		x.Step("schedule", 0)
		x.Sleep(kapi.Yield)
	}})

	Spin = add(row{family: waits, Operation: &scenario.Operation{
		Word: "spin",
		Says: "keep the CPU, interrupts as they are, until a task has called `release()`; it isn't a loop, but a " +
			"wait during which the CPU runs no other task",
		Object: scenario.Nothing,
		Traits: scenario.Ordered | scenario.Waits,
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) {
		x.Step("spin", 0)
		t.Kernel().Latch.Spin(x)
	}})

	Release = add(row{family: waits, Operation: &scenario.Operation{
		Word:   "release",
		Says:   "end the `spin()` of every task that is in one",
		Object: scenario.Nothing,
		Traits: scenario.Ordered,
		Idle: func(s *scenario.Scenario, _ *scenario.Op) string {
			if s.Does(Spin) {
				return ""
			}
			return "release() does nothing: no task does spin()"
		},
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) {
		t.Kernel().Latch.Open(x)
	}, boot: func(t Task, id kapi.TaskID, _ *scenario.Op) {
		l := &t.Kernel().Latch
		l.Openers = append(l.Openers, id)
	}})

	WaitSignal = add(row{family: waits, Operation: &scenario.Operation{
		Word:   "wait_signal",
		Says:   "sleep until a task calls `signal()`; go on at once if one already has",
		Kernel: []string{"wait_for_completion", "wait_event", "down"},
		Object: scenario.Nothing,
		Traits: scenario.Ordered | scenario.Waits,
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) {
		x.Step("wait_signal", 0)
		t.Kernel().Signal.Wait(x)
	}})

	Signal = add(row{family: waits, Operation: &scenario.Operation{
		Word:   "signal",
		Says:   "wake the tasks that sleep in `wait_signal()`",
		Kernel: []string{"complete", "wake_up", "wake_up_process", "up"},
		Object: scenario.Nothing,
		Traits: scenario.Ordered,
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) {
		t.Kernel().Signal.Open(x)
	}, boot: func(t Task, id kapi.TaskID, _ *scenario.Op) {
		l := &t.Kernel().Signal
		l.Openers = append(l.Openers, id)
	}})

	WaitEnded = add(row{family: waits, Operation: &scenario.Operation{
		Word: "wait_ended",
		Says: "sleep until each other task that isn't in the background has ended, or waits so, too. What `hits` " +
			"and `expect` say after it holds at the end of each schedule",
		Kernel: []string{"kthread_stop"},
		Object: scenario.Nothing,
		Traits: scenario.Ordered | scenario.Waits,
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) { t.WaitEnded(x) }})

	QueueWork = add(row{family: waits, Operation: &scenario.Operation{
		Word:   "queue_work",
		Params: []scenario.Param{{Name: "f", Kind: scenario.ParamFunc}},
		Says: "queue `f` as a work item: when its timer fires, a worker calls it, without arguments, on CPU 0, or, " +
			"in a scenario with hotplug, on the CPU that queued it; nothing happens if it is queued already and " +
			"hasn't begun",
		Kernel:  []string{"schedule_work", "queue_delayed_work", "mod_delayed_work"},
		Object:  scenario.AWork,
		Traits:  scenario.Ordered | scenario.Runs | scenario.Works,
		Touches: scenario.TouchWork,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) { t.Clients().Work[op.Target].Queue(x) }})

	FlushWork = add(row{family: waits, Operation: &scenario.Operation{
		Word:   "flush_work",
		Params: []scenario.Param{{Name: "f", Kind: scenario.ParamFunc}},
		Says:   "sleep until the work `f` is neither queued nor running",
		Kernel: []string{"flush_delayed_work", "flush_workqueue"},
		Object: scenario.AWork,
		Traits: scenario.Ordered | scenario.Waits | scenario.Works,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) { t.Clients().Work[op.Target].Flush(x) }})
)
