package act

import (
	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
)

// Modules come and go.
var (
	Load = add(row{family: modules, Operation: &scenario.Operation{
		Word:   "insmod",
		Params: scenario.Answers(scenario.Param{Name: "m", Of: scenario.TheModules}),
		Says: "load a module: its text appears, then `init` runs. Calling a function that isn't there is a page " +
			"fault without a handler. The run without probes does it as well, and doesn't compare `errno`",
		Kernel:  []string{"init_module", "finit_module", "load_module", "do_init_module", "modprobe", "request_module"},
		Object:  scenario.AModule,
		Inverse: "rmmod",
		Traits:  scenario.Patches | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchLoad,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		ask(t, x, i, t.Module(op.Target), smpev.AskedLoad, t.Kernel().Modules.Load)
	}})

	Unload = add(row{family: modules, Operation: &scenario.Operation{
		Word:    "rmmod",
		Params:  scenario.Answers(scenario.Param{Name: "m", Of: scenario.TheModules}),
		Says:    "unload it: `exit` runs, then its text goes. `\"EAGAIN\"`: the module is in use",
		Kernel:  []string{"delete_module", "free_module"},
		Object:  scenario.AModule,
		Inverse: "insmod",
		Traits:  scenario.Patches | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchLoad,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		ask(t, x, i, t.Module(op.Target), smpev.AskedUnload, t.Kernel().Modules.Unload)
	}})
)

// ask loads or unloads a module.
func ask(t Task, x *smp.Ctx, i int, m *kernel.Module, call uint64, do func(kapi.Context, *kernel.Module) int) {
	x.Tell(smpev.Asked, m.Number(), call, 0)
	errno := do(x, m)
	x.Tell(smpev.Asked, m.Number(), call|smpev.AskedEnds, uint64(errno))
	t.Answer(x, i, errno)
}
