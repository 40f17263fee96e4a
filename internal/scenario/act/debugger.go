package act

import (
	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/smpev"
)

// The breakpoints of a debugger.
var (
	SetBreakpoint = add(row{family: debuggers, Operation: &scenario.Operation{
		Word:   "set_breakpoint",
		Params: scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamInsn}),
		Says: "a debugger's breakpoint, as kgdb's, at an instruction: `f + 4`. The byte there is saved, and an " +
			"int3 written over it. A CPU that hits it continues after the instruction; kprobes, or the kernel's " +
			"own engine, is asked first. `\"EEXIST\"`: there is one; `\"EBUSY\"`: a task holds `text_mutex`",
		Kernel:  []string{"dbg_set_sw_break", "kgdb_arch_set_breakpoint", "kgdb_breakpoint"},
		Object:  scenario.ABreakpoint,
		Inverse: "clear_breakpoint",
		Traits:  scenario.Patches | scenario.Ordered | scenario.Serial,
		Touches: scenario.TouchDebugger,
	}, sets: &Setter{smpev.SettingBreakpoint, one}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		t.Answer(x, i, t.Clients().Debugger.Set(x, t.Insn(op)))
	}})

	ClearBreakpoint = add(row{family: debuggers, Operation: &scenario.Operation{
		Word:   "clear_breakpoint",
		Params: scenario.Answers(scenario.Param{Name: "f", Kind: scenario.ParamInsn}),
		Says: "write the saved byte back, whatever stands there by then. `\"ENOENT\"`: there is no breakpoint; " +
			"`\"EBUSY\"`: as above, and it stays",
		Kernel:  []string{"dbg_remove_sw_break", "kgdb_arch_remove_breakpoint"},
		Object:  scenario.ABreakpoint,
		Inverse: "set_breakpoint",
		Traits:  scenario.Ordered | scenario.Serial,
		Touches: scenario.TouchDebugger,
	}, sets: &Setter{smpev.SettingBreakpoint, zero}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		t.Answer(x, i, t.Clients().Debugger.Clear(x, t.Insn(op)))
	}})
)
