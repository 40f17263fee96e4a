package act

import (
	"kpsim/internal/scenario"
	"kpsim/smp"
)

// CPUs go offline and come online.
var (
	Hotplug = add(row{family: cpus, Operation: &scenario.Operation{
		Word: "hotplug",
		Says: "the work of a CPU coming online, without the CPU: the hotplug lock is taken for writing, and " +
			"`text_mutex` under it",
		Kernel: []string{"cpus_write_lock"},
		Object: scenario.TheCPUs,
		Traits: scenario.Probes | scenario.Ordered,
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) { t.Kernel().Hotplug.Change(x) }})

	Offline = add(row{family: cpus, Operation: &scenario.Operation{
		Word: "offline",
		Params: []scenario.Param{{Name: "cpu", Kind: scenario.ParamCPU},
			{Name: "fails", Kind: scenario.ParamDownFails}},
		Says: "take the CPU offline: `cpu_down`. It stops being active: tasks leave it when they schedule (in " +
			"editions 4.15 and 2.6 when it is taken down), move to the first active CPU, and stay there. When all " +
			"have left, `stop_machine` takes it down, and it is no longer online. CPU 0 can't go. Nothing happens " +
			"if the CPU is offline already. `fails`: this step fails, the steps before it are undone, and the CPU " +
			"stays: `\"sched:active\"`, as it stops being active; `\"workqueue:online\"`, when its workers are to " +
			"be unbound; `\"cpu:teardown\"`, when it is to be taken down",
		Kernel:  []string{"cpu_down"},
		Object:  scenario.ACPU,
		Inverse: "online",
		Traits:  scenario.Ordered,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) { t.Kernel().Hotplug.Down(x, op.CPU, op.Fails) }})

	Online = add(row{family: cpus, Operation: &scenario.Operation{
		Word:   "online",
		Params: []scenario.Param{{Name: "cpu", Kind: scenario.ParamCPU}, {Name: "fails", Kind: scenario.ParamUpFails}},
		Says: "bring the CPU online: `cpu_up`. It has fetched nothing, as after a reset. It becomes online first, " +
			"and active last. `fails`: this step fails, and the CPU is offline again: `\"cpu:bringup\"`, it " +
			"doesn't answer; `\"workqueue:online\"`, when it is online; `\"sched:active\"`, the last",
		Kernel:  []string{"cpu_up"},
		Object:  scenario.ACPU,
		Inverse: "offline",
		Traits:  scenario.Ordered,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) { t.Kernel().Hotplug.Up(x, op.CPU, op.Fails) }})
)
