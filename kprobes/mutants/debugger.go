package mutants

import "kpsim/kprobes/rules"

// debuggers are mutants of a debugger's breakpoints, and of what kprobes asks about them.
var debuggers = []Mutant{
	{Name: "debugger-forgets", Source: "kgdb_skipexception", Scenario: "debugger-comes-and-goes", Property: "owned-breakpoint",
		Says:  "a debugger doesn't know of a breakpoint any more that it has cleared: a trap on it that comes late has no owner",
		Apply: func(w *Wiring) { w.Debugger.Forgets = true }},
	{Name: "int3-copied", Source: "__copy_instruction: another subsystem puts a breakpoint", Scenario: "debugger-comes-and-goes", Property: "owned-breakpoint",
		Also:  []string{"text-agrees", "no-sail-past"},
		Says:  "a probe may stand on a debugger's breakpoint, which is copied into its slot",
		Apply: func(w *Wiring) { w.Engine.Kernel.Unchecked |= rules.CheckInt3 }},
	{Name: "debugger-unasked", Source: "can_probe: kgdb_has_hit_break, 6.2", Scenario: "debugger-refuses-probe", Property: "whole-instructions",
		Also:  []string{"right-result"},
		Says:  "an int3 in a function is taken for padding, and the instruction after it for what it seems to be",
		Apply: func(w *Wiring) { w.Deps.Debugger = nil }},
}
