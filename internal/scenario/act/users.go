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
		Kernel:  []string{"uprobe_register", "uprobe_notify_resume", "handle_swbp"},
		Object:  scenario.AUprobe,
		Traits:  scenario.Serial | scenario.Runs,
		Touches: scenario.TouchUprobe,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		t.Kernel().User(x)
		t.Clients().Uprobes.Hit(x, t.Func(op.Target))
	}, boot: func(t Task, id kapi.TaskID) { t.Clients().Uprobes.Add(id) }})
)
