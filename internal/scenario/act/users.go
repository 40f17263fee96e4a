package act

import (
	"slices"

	"kpsim/engine/uprobe"
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
		Word: "hit_uprobe",
		Params: []scenario.Param{{Name: "f", Kind: scenario.ParamFunc}, {Name: "at", Kind: scenario.ParamNop},
			{Name: "process", Kind: scenario.ParamProcess}, {Name: "recurses", Kind: scenario.ParamRecurses},
			{Name: "leaves", Kind: scenario.ParamLeaves}},
		Says: "go to user mode, to an instruction with a uprobe: a #BP, whose handler calls `f`, without " +
			"arguments, on the way back to user mode, where it may sleep; then a #DB, when the instruction's copy " +
			"is stepped there. kprobes is asked about both first, and declines them. `process`, 0 to 3, is whose " +
			"text it is. Where a user has a return handler, the instruction is a function's first one: the function " +
			"calls itself `recurses` times, each time hitting the uprobe, `longjmp` leaves the innermost `leaves` of the " +
			"calls, and the others return. `at` is a function that begins with a nop of five bytes, which has the " +
			"uprobe: the task runs it in user mode, with the fetch model of the machine, and the first hit makes the " +
			"nop a call of the kernel, as since 6.18; when the last user goes it becomes a nop again",
		Kernel:  []string{"uprobe_notify_resume", "handle_swbp", "handle_trampoline"},
		Object:  scenario.AUprobe,
		Traits:  scenario.Serial | scenario.Runs,
		Touches: scenario.TouchUprobe,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		t.Kernel().User(x)
		t.Clients().Uprobes.Hit(x, hitOf(t, op))
	}, boot: func(t Task, id kapi.TaskID, op *scenario.Op) {
		if op.At != "" {
			t.Kernel().M.MapUserStack(id)
		}
		t.Clients().Uprobes.Add(id, hitOf(t, op))
	}})

	RegisterUprobe = add(uprobeUser("register_uprobe", "register a user of the uprobe, whose handler calls `f`: from "+
		"now on `hit_uprobe` calls those that are registered, instead of its own. The first brings the breakpoint. "+
		"`ret` is what its return handler calls, once for each call that returns and began after this. `skips` are "+
		"the processes that its filter is against, `[1]`: their hits don't call it (no filter is asked of `ret`), "+
		"and if no user wants a process it has no breakpoint. `removes = True`: each time, its handler has the hit's "+
		"process skipped from then on; the breakpoint is removed there if no user needs it. `\"EBUSY\"`: it is "+
		"registered",
		"unregister_uprobe", "uprobe_register", scenario.Patches, []scenario.Param{
			{Name: "ret", Kind: scenario.ParamRet}, {Name: "skips", Kind: scenario.ParamSkips},
			{Name: "removes", Kind: scenario.ParamRemoves}}, (*uprobe.Uprobes).Register))

	UnregisterUprobe = add(uprobeUser("unregister_uprobe", "unregister it; neither `f` nor its return handler runs "+
		"any more when it returns. The last takes the breakpoint away. `\"EINVAL\"`: it isn't registered",
		"register_uprobe", "uprobe_unregister", 0, nil,
		func(u *uprobe.Uprobes, x kapi.Context, how uprobe.User) int { return u.Unregister(x, how.Handler) }))
)

// hitOf returns the hit of an operation.
func hitOf(t Task, op *scenario.Op) uprobe.Hit {
	return uprobe.Hit{Handler: t.Func(op.Target), Process: op.Process, Calls: op.Recurses + 1, Leaves: op.Leaves}
}

// uprobeUser returns the row of an operation on a user of the uprobe.
func uprobeUser(word, says, inverse, kernel string, traits scenario.Traits, more []scenario.Param,
	do func(u *uprobe.Uprobes, x kapi.Context, how uprobe.User) (errno int)) row {
	how := func(t Task, op *scenario.Op) uprobe.User {
		u := uprobe.User{Handler: t.Func(op.Target), Skips: op.Skips, Removes: op.Removes}
		if op.Ret != "" {
			u.Return = t.Func(op.Ret)
		}
		return u
	}
	return row{family: users, Operation: &scenario.Operation{
		Word: word,
		Params: scenario.Answers(slices.Concat([]scenario.Param{{Name: "f", Kind: scenario.ParamFunc}},
			more)...),
		Says:    says,
		Kernel:  []string{kernel},
		Object:  scenario.AUprobe,
		Inverse: inverse,
		Traits:  traits | scenario.Serial,
		Touches: scenario.TouchUprobe,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		t.Answer(x, i, do(t.Clients().Uprobes, x, how(t, op)))
	}, boot: func(t Task, _ kapi.TaskID, op *scenario.Op) { t.Clients().Uprobes.AddUser(how(t, op)) }}
}
