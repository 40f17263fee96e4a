package mutants

import (
	"kpsim/smp/smpev"
)

// uprobes are mutants of how kprobes and uprobes check traps of user mode.
var uprobes = []Mutant{
	{Name: "user-trap-unasked", Source: "2326c77017c7, until 2.6.16", Scenario: "uprobe-beside-probe",
		Property: "no-oops",
		Says: "kprobes doesn't check for user mode at a breakpoint, and reads user memory to see if it is still " +
			"there, which SMAP forbids",
		Apply: func(w *Wiring) {
			s := w.Steps()
			ask := s.Hit.UserMode
			s.Hit.UserMode = func(e *engine, x context, r *regs) bool {
				if ask(e, x, r) && w.Engine.RemovedInt3 {
					x.Emit(smpev.Oops, smpev.VecPF, uint64(x.Regs().IP), uint64(r.IP)-1)
					w.Deps.Traps.Bug(x, "a user address is read in the kernel")
				}
				return false
			}
		}},
	{Name: "uprobe-unasked", Source: "arch_uprobe_exception_notify, 3.5", Scenario: "uprobe-debugger",
		Property: "owned-breakpoint",
		Also:     []string{"whole-instructions"},
		Says: "uprobes doesn't check for user mode at a breakpoint, and claims a debugger's breakpoint " +
			"in the kernel",
		Apply: func(w *Wiring) { w.Uprobes.SkipsUserCheck = true }},
	{Name: "uprobe-step-first", Source: "arch_uprobe_exception_notify; the priorities of uprobe_exception_nb " +
		"and kprobe_exceptions_nb", Scenario: "uprobe-step", Property: "owned-breakpoint",
		Says:  "uprobes is asked about the trap of a step before kprobes is, and doesn't check for user mode",
		Apply: func(w *Wiring) { w.Uprobes.First() }},
}
