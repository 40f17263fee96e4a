package act

import (
	"kpsim/engine/uprobe"
	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/arch"
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

	RegisterUprobe = add(uprobeUser("register_uprobe", "register a user of the uprobe, whose handler calls `f`: from "+
		"now on `hit_uprobe` calls those that are registered, instead of its own. The first brings the breakpoint. "+
		"`\"EBUSY\"`: it is registered", "unregister_uprobe", "uprobe_register", scenario.Patches,
		(*uprobe.Uprobes).Register))

	UnregisterUprobe = add(uprobeUser("unregister_uprobe", "unregister it; `f` doesn't run for a hit any more when it "+
		"returns. The last takes the breakpoint away. `\"EINVAL\"`: it isn't registered", "register_uprobe",
		"uprobe_unregister", 0, (*uprobe.Uprobes).Unregister))
)

// uprobeUser returns the row of an operation on a user of the uprobe.
func uprobeUser(word, says, inverse, kernel string, traits scenario.Traits,
	do func(u *uprobe.Uprobes, x kapi.Context, handler arch.Addr) (errno int)) row {
	return row{family: users, Operation: &scenario.Operation{
		Word:    word,
		Params:  scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamFunc}),
		Says:    says,
		Kernel:  []string{kernel},
		Object:  scenario.AUprobe,
		Inverse: inverse,
		Traits:  traits | scenario.Serial,
		Touches: scenario.TouchUprobe,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		t.Answer(x, i, do(t.Clients().Uprobes, x, t.Func(op.Target)))
	}, boot: func(t Task, _ kapi.TaskID, op *scenario.Op) { t.Clients().Uprobes.AddUser(t.Func(op.Target)) }}
}
