package mutants

import (
	"kpsim/smp/arch"
)

// clients are mutants of ftrace's other clients, and of how ftrace distinguishes them.
var clients = []Mutant{
	{Name: "ip-not-recovered", Source: "kprobe_ftrace_handler, 3.7 to 3.18", Scenario: "livepatch-probe",
		Property: "newest-version",
		Also:     []string{"right-result"},
		Says: "a probe at a site of ftrace makes the function continue after the site, even if another client has " +
			"sent it elsewhere",
		Apply: on(func(s *steps) {
			handle := s.Gone.KprobeFtraceHandler
			s.Gone.KprobeFtraceHandler = func(e *engine, x context, ip arch.Addr, r *regs) {
				was := r.IP
				if handle(e, x, ip, r); r.IP == was {
					r.IP = ip + branchLen
				}
			}
		})},
	{Name: "ipmodify-shared", Source: "f8b8be8a310a, 3.7 to 3.18", Scenario: "livepatch-refused",
		Property: "clients-called",
		Also:     []string{"right-result"},
		Says:     "a function has two clients that may change where its calls continue",
		Apply:    func(w *Wiring) { w.Ftrace.Shared = true }},
	{Name: "ipmodify-kept", Source: "__ftrace_hash_update_ipmodify", Scenario: "livepatch-refused",
		Property: "clients-called",
		Also:     []string{"right-result", "accounted"},
		Says:     "a client that is refused one of its functions keeps its claim on the others",
		Apply:    func(w *Wiring) { w.Ftrace.Kept = true }},
	{Name: "unpatched-at-work", Source: "klp_try_switch_task", Scenario: "livepatch-leaves",
		Property: "no-use-after-free",
		Also:     []string{"no-oops"},
		Says:     "a live patch is removed, and its module unloaded, while a task is in the new function",
		Apply:    func(w *Wiring) { w.Klp.NoWait = true }},
	{Name: "direct-freed", Source: "unregister_ftrace_direct: synchronize_rcu_tasks", Scenario: "direct-leaves",
		Property: "no-use-after-free",
		Also:     []string{"no-oops"},
		Says:     "a direct call is removed, and the trampoline freed, while a task is in it",
		Apply:    func(w *Wiring) { w.Ftrace.DirectStays = true }},
	{Name: "direct-own-way", Source: "BPF_TRAMP_F_ORIG_STACK, 6.0", Scenario: "direct-shares",
		Property: "newest-version", Also: []string{"right-result"},
		Says:  "a direct call returns to after the site, although a live patch has sent the call elsewhere",
		Apply: func(w *Wiring) { w.Ftrace.DirectOwn = true }},
	{Name: "direct-overwritten", Source: "ftrace_modify_direct_caller", Scenario: "direct-modified",
		Property: "whole-instructions",
		Also:     []string{"newest-version", "no-oops", "no-start-inside", "progress"},
		Says:     "a direct call is written over another one without a breakpoint and without a sync",
		Apply:    func(w *Wiring) { w.Ftrace.PlainDirect = true }},
}

// branchLen is the length of a site.
const branchLen = 5

// fprobes are mutants of fprobes. They stand last, as events do.
var fprobes = []Mutant{
	{Name: "fprobe-stopped-late", Source: "195b9cb5b288, 6.5-rc", Scenario: "fprobe-leaves", Property: "fprobe-pairs",
		Also:  []string{"right-result"},
		Says:  "an fprobe's exit handlers are stopped only after the wait for its handlers",
		Apply: func(w *Wiring) { w.Fprobes.StopLate = true }},
	{Name: "fprobe-lock-kept", Source: "5f0c584daf74, 5.18 to 6.4", Scenario: "fprobe-shared", Property: "fprobe-pairs",
		Also:  []string{"right-result"},
		Says:  "a call for which an fprobe has no free hook keeps the recursion lock",
		Apply: func(w *Wiring) { w.Fprobes.KeepLock = true }},
}

// transitions are mutants of live patches' transitions. They stand last, as events do.
var transitions = []Mutant{
	{Name: "stack-unchecked", Source: "klp_check_stack, 4.12", Scenario: "livepatch-consistent",
		Property: "one-universe",
		Says:     "a task that doesn't run goes over to a live patch's functions without a scan of its stack",
		Apply:    func(w *Wiring) { w.Klp.Unchecked = true }},
	{Name: "transition-forced", Source: "klp_force_transition, 4.15", Scenario: "livepatch-reversed",
		Property: "one-universe",
		Says:     "all tasks go over to a live patch's functions at once, wherever they are",
		Apply:    func(w *Wiring) { w.Klp.Forced = true }},
}
