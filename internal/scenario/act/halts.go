package act

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// What a patcher does to other CPUs and tasks: it makes them serialise, waits for them, stops them.
var (
	Serialise = add(row{family: hands, Operation: &scenario.Operation{
		Word:    "serialise",
		Says:    "run an instruction that serialises, on this CPU",
		Kernel:  []string{"cpuid", "serialize"},
		Object:  scenario.Nothing,
		Traits:  scenario.ByHand | scenario.Serial,
		Touches: scenario.TouchHalt,
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) { t.Clients().Hand.Serialise(x) }})

	SyncCore = add(row{family: hands, Operation: &scenario.Operation{
		Word:   "sync_core",
		Params: []scenario.Param{{Name: "cpus", Kind: scenario.ParamCPUs}},
		Says: "make CPUs serialise, by IPIs, and wait for them: all at once, or those of `cpus`, one after another: " +
			"`sync_core(cpus = [0, 2])`",
		Kernel:  []string{"do_sync_core", "smp_text_poke_sync_each_cpu"},
		Object:  scenario.Nothing,
		Traits:  scenario.ByHand | scenario.Serial,
		Touches: scenario.TouchHalt,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		if op.CPUs == 0 {
			t.Kernel().Sync.Core(x, smpev.SyncByHand)
			return
		}
		t.Kernel().Sync.Some(x, op.CPUs, smpev.SyncByHand)
	}})

	Membarrier = add(row{family: hands, Operation: &scenario.Operation{
		Word: "membarrier",
		Says: "membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE): every CPU that runs a thread of the process " +
			"serialises before it returns, and any other one before it runs one; here all do, by IPIs",
		Kernel:  []string{"membarrier_private_expedited", "sync_core_before_usermode"},
		Object:  scenario.Nothing,
		Traits:  scenario.ByHand | scenario.Serial,
		Touches: scenario.TouchHalt,
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) {
		x.Step("membarrier", 0)
		t.Kernel().Sync.Core(x, smpev.SyncByHand)
	}})

	Flush = add(row{family: hands, Operation: &scenario.Operation{
		Word: "flush",
		Params: []scenario.Param{{Name: "at", Kind: scenario.ParamPlace},
			{Name: "size", Kind: scenario.ParamSize}},
		Says: "flush `size` bytes at `at` of the instruction caches. It changes no run. On x86 caches are " +
			"coherent, and the compilers' `__builtin___clear_cache` does nothing, either: what a CPU has fetched " +
			"already is kept. On arm64 and ppc64le kpsim takes it that each store to text is followed by it, and " +
			"says so of a scenario that leaves it out",
		Kernel: []string{"flush_icache_range", "__clear_cache"},
		Object: scenario.Nothing,
		Traits: scenario.ByHand | scenario.Serial,
	}, do: func(_ Task, x *smp.Ctx, _ int, _ *scenario.Op) { x.Step("flush", 0) }})

	Wait = add(row{family: hands, Operation: &scenario.Operation{
		Word:   "wait",
		Params: []scenario.Param{{Name: "until", Kind: scenario.ParamAwaited}},
		Says: "wait `until` a grace period has ended: `\"rcu\"`, `\"sched\"`, `\"tasks\"`, `\"tasks-rude\"` (each " +
			"CPU has switched tasks); or, `\"safepoints\"`, until each other task has called `safepoint()`, or has " +
			"ended",
		Object:  scenario.Nothing,
		Traits:  scenario.ByHand | scenario.Safe | scenario.Ordered | scenario.Waits,
		Touches: scenario.TouchAwait,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		if op.Awaited == scenario.AwaitSafepoints {
			t.Clients().Hand.AwaitSafepoints(x)
			return
		}
		t.Kernel().RCU.Synchronize(x, flavours[op.Awaited])
	}})

	Safepoint = add(row{family: hands, Operation: &scenario.Operation{
		Word:   "safepoint",
		Says:   "pass a safepoint: the task holds no address of code that may go (`wait(\"safepoints\")`)",
		Object: scenario.Nothing,
		Traits: scenario.ByHand | scenario.Safe | scenario.Ordered,
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) { t.Clients().Hand.Safepoint(x) }})

	Stop = add(row{family: hands, Operation: &scenario.Operation{
		Word:   "stop",
		Params: []scenario.Param{{Name: "cpus", Kind: scenario.ParamCPUs}},
		Says: "stop all other CPUs, or `cpus`, wherever they are, as a debugger, `ptrace` or SuspendThread does, " +
			"until `resume()`; they serve interrupts meanwhile. This CPU has no other task. One that waits then for " +
			"what a stopped one holds hangs",
		Kernel:  []string{"kgdb_roundup_cpus"},
		Object:  scenario.Nothing,
		Inverse: "resume",
		Traits:  scenario.ByHand | scenario.Halts | scenario.Ordered,
		Touches: scenario.TouchHalt,
		Check:   alone,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) { t.Clients().Hand.Stop(x, all(op)) }})

	StopOutside = add(row{family: hands, Operation: &scenario.Operation{
		Word: "stop_outside",
		Params: []scenario.Param{{Name: "at", Kind: scenario.ParamPlace},
			{Name: "size", Kind: scenario.ParamSize}, {Name: "stacks", Kind: scenario.ParamStacks}},
		Says: "`stop()`; if a stopped task stands in the `size` bytes from `at` on, let all go on, and try again. A " +
			"task stands there if it was interrupted there, or, with `stacks`, if a word of its stack points there. " +
			"A register isn't looked at",
		Object:  scenario.Nothing,
		Traits:  scenario.ByHand | scenario.Halts | scenario.Ordered,
		Touches: scenario.TouchHalt,
		Check:   alone,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		t.Clients().Hand.StopOutside(x, all(op), t.Place(op), op.Size, op.On)
	}})

	Move = add(row{family: hands, Operation: &scenario.Operation{
		Word: "move",
		Params: []scenario.Param{{Name: "at", Kind: scenario.ParamPlace},
			{Name: "to", Kind: scenario.ParamGoto}},
		Says:    "between `stop()` and `resume()`: each task that was interrupted at `at` continues at `to`",
		Object:  scenario.Nothing,
		Traits:  scenario.ByHand | scenario.Halts | scenario.Ordered,
		Touches: scenario.TouchMove,
		Check: func(_ *scenario.Scenario, op *scenario.Op) string {
			if len(op.Targets) == 0 {
				return "move() has no place to go to; give to = f + 1"
			}
			return ""
		},
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		t.Clients().Hand.Move(x, t.Place(op), t.Goto(op))
	}})

	Resume = add(row{family: hands, Operation: &scenario.Operation{
		Word: "resume",
		Says: "let the CPUs go on that this task has stopped, serialised; not with `fred`, where an interrupt's " +
			"return doesn't do that: `sync_core()` before",
		Object:  scenario.Nothing,
		Inverse: "stop",
		Traits:  scenario.ByHand | scenario.Halts | scenario.Ordered,
		Touches: scenario.TouchHalt,
		Idle: func(s *scenario.Scenario, _ *scenario.Op) string {
			if s.Does(Stop) || s.Does(StopOutside) {
				return ""
			}
			return "resume() does nothing: no task does stop()"
		},
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) { t.Clients().Hand.Resume(x) }})

	WaitOutside = add(row{family: hands, Operation: &scenario.Operation{
		Word: "wait_outside",
		Params: []scenario.Param{{Name: "at", Kind: scenario.ParamPlace},
			{Name: "size", Kind: scenario.ParamSize}, {Name: "stacks", Kind: scenario.ParamStacks}},
		Says: "wait until no task stands in the `size` bytes from `at` on, nor with `stacks` comes back there: " +
			"`stop_outside` and `resume`",
		Object:  scenario.Nothing,
		Traits:  scenario.ByHand | scenario.Halts | scenario.Ordered | scenario.Waits,
		Touches: scenario.TouchHalt,
		Check:   alone,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		t.Clients().Hand.StopOutside(x, all(op), t.Place(op), op.Size, op.On)
		t.Clients().Hand.Resume(x)
	}})
)

// all returns the CPUs that an operation is about.
func all(op *scenario.Op) uint64 {
	if op.CPUs == 0 {
		return ^uint64(0)
	}
	return op.CPUs
}

// flavours are the grace periods that are waited for.
var flavours = [...]kapi.Flavour{scenario.AwaitRCU: kapi.QuiesceRCU, scenario.AwaitSched: kapi.QuiesceSched,
	scenario.AwaitTasks: kapi.QuiesceTasks, scenario.AwaitTasksRude: kapi.QuiesceSched}

// alone says that a task stops other CPUs, and isn't alone on its own.
func alone(s *scenario.Scenario, op *scenario.Op) string {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if !slices.ContainsFunc(t.Ops, func(o scenario.Op) bool { return o.Kind == op.Kind }) {
			continue
		}
		for k := range s.Tasks {
			if u := &s.Tasks[k]; k != i && u.CPU == t.CPU {
				return fmt.Sprintf("%v() stops what runs on other CPUs, and task %q is on this one, %d; give it "+
					"another",
					op.Kind, u.Name, t.CPU)
			}
		}
	}
	return ""
}
