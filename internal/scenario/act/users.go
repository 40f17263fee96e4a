package act

import (
	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// User mode.
var (
	User = add(row{family: users, Operation: &scenario.Operation{
		Word:   "user",
		Says:   "spend a while in user mode",
		Object: scenario.Nothing,
		Traits: scenario.Serial,
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) { t.Kernel().User(x) }})

	HitUprobe = add(row{family: users, Operation: &scenario.Operation{
		Word:   "hit_uprobe",
		Params: []scenario.Param{{Name: "f", Kind: scenario.ParamFunc}},
		Says: "go to user mode, to an instruction with a uprobe: a #BP, whose handler calls `f`, without " +
			"arguments, on the way back to user mode, where it may sleep; then a #DB, when the instruction's copy " +
			"is stepped there. kprobes is asked about both first, and declines them",
		Kernel:  []string{"uprobe_notify_resume", "handle_swbp"},
		Object:  scenario.AUprobe,
		Traits:  scenario.Serial | scenario.Runs,
		Touches: scenario.TouchUprobe,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		t.Kernel().User(x)
		t.Clients().Uprobes.Hit(x, t.Func(op.Target))
	}, boot: func(t Task, id kapi.TaskID, _ *scenario.Op) { t.Clients().Uprobes.Add(id) }})

	RegisterUprobe = add(row{family: users, Operation: &scenario.Operation{
		Word:   "register_uprobe",
		Params: scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFunc}),
		Says: "register a user of the uprobe, whose handler calls `f`: from now on `hit_uprobe` calls those that are " +
			"registered, instead of its own. The first brings the breakpoint. `\"EBUSY\"`: it is registered",
		Kernel:  []string{"uprobe_register"},
		Object:  scenario.AUprobe,
		Inverse: "unregister_uprobe",
		Traits:  scenario.Patches | scenario.Serial,
		Touches: scenario.TouchUprobe,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		t.Answer(x, i, t.Clients().Uprobes.Register(x, t.Func(op.Target)))
	}, boot: func(t Task, _ kapi.TaskID, op *scenario.Op) { t.Clients().Uprobes.AddUser(t.Func(op.Target)) }})

	UnregisterUprobe = add(row{family: users, Operation: &scenario.Operation{
		Word:   "unregister_uprobe",
		Params: scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFunc}),
		Says: "unregister it; `f` doesn't run for a hit any more when it returns. The last takes the breakpoint away. " +
			"`\"EINVAL\"`: it isn't registered",
		Kernel:  []string{"uprobe_unregister"},
		Object:  scenario.AUprobe,
		Inverse: "register_uprobe",
		Traits:  scenario.Serial,
		Touches: scenario.TouchUprobe,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		t.Answer(x, i, t.Clients().Uprobes.Unregister(x, t.Func(op.Target)))
	}, boot: func(t Task, _ kapi.TaskID, op *scenario.Op) { t.Clients().Uprobes.AddUser(t.Func(op.Target)) }})
)
