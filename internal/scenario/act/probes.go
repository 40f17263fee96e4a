package act

import (
	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/kprobes/kpev"
	"kpsim/smp"
	"kpsim/traces"
	"slices"
)

// Calls of the probes' API, and the files that switch all probes.
var (
	Register = add(row{family: probes, Operation: &scenario.Operation{
		Word:   "register",
		Params: scenario.Answers(scenario.Param{Name: "k", Of: scenario.TheProbes}),
		Says: "call the kernel's function of this name. It may refuse, which `explore` counts. `errno`: the answer " +
			"that it must give, 0 or one of `\"ENOENT\"`, `\"E2BIG\"`, `\"EAGAIN\"`, `\"ENOMEM\"`, `\"EBUSY\"`, " +
			"`\"EEXIST\"`, `\"ENODEV\"`, `\"EINVAL\"`, `\"ENOSPC\"`, `\"ENOSYS\"`, `\"EILSEQ\"`, `\"EOPNOTSUPP\"`",
		Kernel:  []string{"register_kprobe", "register_kretprobe", "register_jprobe"},
		Step:    scenario.StepRegister,
		Of:      verb(kpev.Register),
		What:    "register()",
		Object:  scenario.AProbe,
		Inverse: "unregister",
		Traits:  scenario.Probes | scenario.Patches | scenario.SetsUp | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchAPI | scenario.TouchRegister,
		Drawn:   scenario.Drawn{Nth: 1, Times: 2},
	}, do: func(t Task, x *smp.Ctx, i int, _ *scenario.Op) { t.API(x, i, kpev.Register) }})

	Unregister = add(row{family: probes, Operation: &scenario.Operation{
		Word:    "unregister",
		Params:  scenario.Answers(scenario.Param{Name: "k", Of: scenario.TheProbes}),
		Says:    "as `register`. A probe that is made further down is given by its name: `unregister(\"k\")`",
		Kernel:  []string{"unregister_kprobe", "unregister_kretprobe", "unregister_jprobe"},
		Step:    scenario.StepUnregister,
		Of:      verb(kpev.Unregister),
		What:    "unregister()",
		Object:  scenario.AProbe,
		Inverse: "register",
		Traits:  scenario.Probes | scenario.SetsUp | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchAPI | scenario.TouchRemove | scenario.TouchUndo,
		Drawn:   scenario.Drawn{Nth: 2, Times: 2},
	}, do: func(t Task, x *smp.Ctx, i int, _ *scenario.Op) { t.API(x, i, kpev.Unregister) }})

	Enable = add(row{family: probes, Operation: &scenario.Operation{
		Word:    "enable",
		Params:  scenario.Answers(scenario.Param{Name: "k", Of: scenario.TheProbes}),
		Says:    "likewise",
		Kernel:  []string{"enable_kprobe", "enable_kretprobe", "enable_jprobe"},
		Step:    scenario.StepEnable,
		Setting: "batches",
		Of:      verb(kpev.Enable),
		What:    "enable()",
		Object:  scenario.AProbe,
		Inverse: "disable",
		Traits:  scenario.Probes | scenario.SetsUp | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchAPI,
		Drawn:   scenario.Drawn{Nth: 3, Times: 1},
	}, do: func(t Task, x *smp.Ctx, i int, _ *scenario.Op) { t.API(x, i, kpev.Enable) }})

	Disable = add(row{family: probes, Operation: &scenario.Operation{
		Word:    "disable",
		Params:  scenario.Answers(scenario.Param{Name: "k", Of: scenario.TheProbes}),
		Says:    "likewise",
		Kernel:  []string{"disable_kprobe", "disable_kretprobe", "disable_jprobe"},
		Step:    scenario.StepDisable,
		Setting: "batches",
		Of:      verb(kpev.Disable),
		What:    "disable()",
		Object:  scenario.AProbe,
		Inverse: "enable",
		Traits:  scenario.Probes | scenario.SetsUp | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchAPI | scenario.TouchRemove | scenario.TouchUndo,
		Drawn:   scenario.Drawn{Nth: 4, Times: 1},
	}, do: func(t Task, x *smp.Ctx, i int, _ *scenario.Op) { t.API(x, i, kpev.Disable) }})

	RegisterAll = add(row{family: probes, Operation: &scenario.Operation{
		Word:    "register_all",
		Params:  scenario.Answers(scenario.Param{Name: "ks", Kind: scenario.ParamParts, Of: scenario.TheProbes}),
		Says:    "`register` for a list, of kprobes or of kretprobes: if one can't be registered, none is",
		Kernel:  []string{"register_kprobes", "register_kretprobes", "register_jprobes"},
		Setting: "batches",
		Of:      arrays,
		What:    "register_all()",
		Object:  scenario.AProbe,
		Inverse: "unregister",
		Traits:  scenario.Probes | scenario.Patches | scenario.SetsUp | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchAPI | scenario.TouchRegister,
		Drawn:   scenario.Drawn{Nth: 11, Times: 1},
	}, do: func(t Task, x *smp.Ctx, i int, _ *scenario.Op) { t.APIAll(x, i, kpev.Register) }})

	UnregisterAll = add(row{family: probes, Operation: &scenario.Operation{
		Word:    "unregister_all",
		Params:  scenario.Answers(scenario.Param{Name: "ks", Kind: scenario.ParamParts, Of: scenario.TheProbes}),
		Says:    "`unregister` for a list; one grace period for all",
		Kernel:  []string{"unregister_kprobes", "unregister_kretprobes", "unregister_jprobes"},
		Setting: "batches",
		Of:      arrays,
		What:    "unregister_all()",
		Object:  scenario.AProbe,
		Inverse: "register",
		Traits:  scenario.Probes | scenario.SetsUp | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchAPI | scenario.TouchRemove | scenario.TouchUndo,
		Drawn:   scenario.Drawn{Nth: 12, Times: 1},
	}, do: func(t Task, x *smp.Ctx, i int, _ *scenario.Op) { t.APIAll(x, i, kpev.Unregister) }})

	WaitOptimized = add(row{family: probes, Operation: &scenario.Operation{
		Word:    "wait_optimized",
		Says:    "wait until the optimizer has no work left",
		Kernel:  []string{"wait_for_kprobe_optimizer", "wait_for_kprobe_optimizer_locked"},
		Setting: "optprobes",
		What:    "optimizer to wait for",
		Object:  scenario.TheOptimizer,
		Traits:  scenario.Probes | scenario.SetsUp | scenario.Serial,
		Drawn:   scenario.Drawn{Nth: 5, Times: 1},
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) { t.Engine().Wait(x) }})

	Optimization = add(row{family: probes, Operation: &scenario.Operation{
		Word:   "optimization",
		Params: []scenario.Param{{Name: "on", Kind: scenario.ParamOn}},
		Says:   "write 0 or 1 to the sysctl debug.kprobes-optimization. `False` returns when no jump is left",
		Kernel: []string{"optimize_all_kprobes", "unoptimize_all_kprobes", "proc_kprobes_optimization_handler",
			"sysctl"},
		Setting:  "optprobes",
		What:     "sysctl kprobes-optimization",
		Switches: []engine.Switch{engine.Optimization},
		Object:   scenario.TheSysctl,
		Traits:   scenario.Probes | scenario.SetsUp | scenario.Serial | scenario.Stirs,
		Touches:  scenario.TouchSysctl | scenario.TouchUndo,
		Drawn:    scenario.Drawn{Nth: 7, Times: 1},
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		write(t, x, kpev.Sysctl, engine.Optimization, op.On)
	}})

	Enabled = add(row{family: probes, Operation: &scenario.Operation{
		Word:     "enabled",
		Params:   []scenario.Param{{Name: "on", Kind: scenario.ParamOn}},
		Says:     "write 0 or 1 to kprobes/enabled of debugfs: 0 disarms all probes, 1 arms all that aren't disabled",
		Kernel:   []string{"arm_all_kprobes", "disarm_all_kprobes", "write_enabled_file_bool"},
		What:     "file enabled",
		Switches: []engine.Switch{engine.Armed},
		Object:   scenario.TheFile,
		Traits:   scenario.Probes | scenario.SetsUp | scenario.Serial | scenario.Stirs,
		Touches:  scenario.TouchEnabled | scenario.TouchRemove | scenario.TouchUndo,
		Drawn:    scenario.Drawn{Nth: 13, Times: 2},
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		write(t, x, kpev.Enabled, engine.Armed, op.On)
	}})
)

// verb says that an engine has a call of the API.
func verb(v uint64) func(r *engine.Row) bool {
	return func(r *engine.Row) bool { return slices.Contains(r.Verbs, v) }
}

// arrays says that an engine takes several probes at once.
func arrays(r *engine.Row) bool { return r.Arrays }

// write writes 0 or 1 to a file of the kernel's, and reports it.
func write(t Task, x *smp.Ctx, kind traces.Kind, to engine.Switch, on bool) {
	v := uint64(0)
	if on {
		v = 1
	}
	x.Emit(kind, v, 0, 0)
	t.Engine().Set(x, to, on)
	x.Emit(kind, v, 1, 0)
}
