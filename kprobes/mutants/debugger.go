package mutants

import "kpsim/kprobes/rules"

// debuggers are mutants of a debugger's breakpoints, and of kprobes' checks for them.
var debuggers = []Mutant{
	{Name: "int3-copied", Source: "__copy_instruction: another subsystem has put a breakpoint there",
		Scenario: "debugger-comes-and-goes", Property: "owned-breakpoint",
		Also:  []string{"text-agrees", "no-sail-past"},
		Says:  "a probe may stand on a debugger's breakpoint, which is copied into its slot",
		Apply: func(w *Wiring) { w.Engine.Kernel.Unchecked |= rules.CheckInt3 }},
	{Name: "debugger-unasked", Source: "can_probe: kgdb_has_hit_break, 6.2", Scenario: "debugger-refuses-probe",
		Property: "whole-instructions",
		Also:     []string{"right-result"},
		Says:     "an int3 in a function is taken for padding, and the next byte for the beginning of an instruction",
		Apply:    func(w *Wiring) { w.Deps.Debugger = nil }},
}
