package mutants

import "kpsim/kprobes"

// ofRules are mutants that no scenario shows, or that break a rule of the specification besides the effect of a row
// of All: the tests of the rules notice them.
var ofRules = []Mutant{
	{Name: "symbol-first", Source: "spec 6.1", Says: "a probe with a symbol and an address is placed at the symbol",
		Apply: on(symbolFirst)},
	{Name: "take-twice", Source: "spec 6.1", Says: "a registered probe is registered again",
		Apply: on(func(s *steps) {
			s.Register.CheckKprobeRereg = func(*engine, context, *kprobe) error { return nil }
		})},
	{Name: "re-register-late", Source: "R54",
		Says:  "a registered return probe is taken for a new one until its kprobe is refused",
		Apply: on(func(s *steps) { s.Ret.CheckKretprobeRereg = func(*kretprobe) error { return nil } })},
	{Name: "keep-missed", Source: "spec 6.1", Says: "registering leaves nmissed",
		Apply: on(func(s *steps) { s.Register.InitNmissed = (*kprobe).Missed })},
	{Name: "keep-flags", Source: "spec 6.3", Says: "registering leaves the caller's flags",
		Apply: on(func(s *steps) {
			s.Register.InitFlags = func(_ *engine, p *kprobe) kprobes.Flags { return p.Flags }
		})},
	{Name: "keep-addr", Source: "spec 6.5", Says: "unregistering an unregistered probe leaves its address",
		Apply: on(func(s *steps) { skip2(&s.Register.ClearAddr) })},
	{Name: "no-rollback", Source: "spec 6.4", Says: "probes registered before an array's bad probe stay registered",
		Apply: on(func(s *steps) { skip3(&s.Register.Rollback) })},
	{Name: "grace-each", Source: "spec 6.4", Says: "an array is unregistered one by one", Apply: on(graceEach)},
	{Name: "oldest-first", Source: "spec 1.8", Says: "of several probes at one address the first registered runs " +
		"first",
		Apply: on(func(s *steps) { s.Register.AddTail = func(*kprobe) bool { return true } })},
	{Name: "toggle-once", Source: "spec 6.6",
		Says: "a disabled probe can't be disabled again, nor an enabled one enabled", Apply: on(toggleOnce)},
	{Name: "two-jprobes", Source: "spec 3.2", Says: "two jprobes may be on one function",
		Apply: on(func(s *steps) { s.Register.CheckJprobe = func(*aggr, *kprobe) error { return nil } })},
	{Name: "no-stack-copy", Source: "spec 3.1", Says: "a jprobe doesn't save the stack",
		Apply: on(func(s *steps) { s.Jprobe.JprobeStack = func(*engine, context, *regs) int { return 0 } })},
	{Name: "optimize-blocked", Source: "spec 4.4", Says: "a point with another probe in its region becomes a jump",
		Apply: on(func(s *steps) { s.Optimizer.ArchCheckOptimizedKprobe = func(*engine, *aggr) bool { return true } })},
	{Name: "sp-unadjusted", Source: "5.10", Says: "a handler in a detour that saves ss sees the stack pointer below it",
		Apply: on(func(s *steps) { skip2(&s.Hit.AdjustSP) })},
	{Name: "detour-path", Source: "spec 4.10", Says: "a detour continues at the address that a pre_handler " +
		"sets", Apply: on(detourPath)},
	{Name: "pre-ip", Source: "spec 1.2", Says: "a pre_handler sees the probe's address, not the next byte's",
		Apply: on(preIP)},
	{Name: "pushed-tf", Source: "spec 1.3",
		Says:  "a stepped pushf leaves the step's flags in the pushed value",
		Apply: on(func(s *steps) { skip5(&s.Copy.FixPushedFlags) })},
	{Name: "copy-returns", Source: "spec 1.3", Says: "a stepped call leaves a return address in the slot",
		Apply: on(func(s *steps) { skip5(&s.Copy.FixReturnAddress) })},
	{Name: "nil-stops", Source: "spec 1.5",
		Says: "a nil pre_handler counts as one that has changed the path", Apply: on(nilStops)},
	{Name: "no-fault", Source: "spec 1.12", Says: "no fault handler is asked", Apply: func(w *Wiring) {
		w.Engine.FaultHandlers = false
	}},
	{Name: "missed-enabled", Source: "spec 1.11", Says: "a hit in a handler counts for enabled probes only",
		Apply: on(missedEnabled)},
	{Name: "reenter-again", Source: "KPROBE_REENTER", Says: "a hit on top of two others is taken for one on top of " +
		"one",
		Apply: on(func(s *steps) { s.Hit.Reentered = func(*engine, context) bool { return false } })},
	{Name: "kill-hidden", Source: "kprobes_module_callback",
		Says:  "points that are no longer in the table are killed, too",
		Apply: on(func(s *steps) { s.Gone.InTable = func(*engine, *aggr) bool { return true } })},
	{Name: "kill-keeps-ftrace", Source: "R51", Says: "the probes of an unloaded module stay with ftrace",
		Apply: on(killKeepsFtrace)},
	{Name: "ftrace-keeps-path", Source: "spec 8.4", Says: "ftrace ignores a pre_handler's change of ip",
		Apply: on(ftraceKeepsPath)},
	{Name: "list-kprobes", Source: "spec 7.1", Says: "each probe is listed as a kprobe",
		Apply: on(func(s *steps) { s.Files.ProbeType = func(*kprobe) byte { return 'k' } })},
	{Name: "list-oldest", Source: "spec 7.1", Says: "the oldest probe of an address is listed first",
		Apply: on(listOldest)},
	{Name: "list-jumps", Source: "spec 7.1", Says: "[OPTIMIZED] only when the jump is there", Apply: on(listJumps)},
	{Name: "enabled-ignored", Source: "spec 7.2", Says: "enabled says 0, and nothing is disarmed",
		Apply: on(func(s *steps) { skip2(&s.Files.DisarmAllKprobes) })},
	{Name: "enabled-all", Source: "spec 7.2", Says: "enabled arms disabled probes, too", Apply: on(enabledAll)},
	{Name: "enabled-digits", Source: "spec 7.2", Says: "a write to enabled is read as a number",
		Apply: on(func(s *steps) {
			s.Files.ParseEnabled = func(_ *engine, text string) (on, ok bool) { return text[0] != '0', true }
		})},
	{Name: "sysctl-range", Source: "spec 7.3", Says: "kprobes-optimization accepts any number",
		Apply: on(func(s *steps) { s.Files.SysctlRange = func(uint64) bool { return true } })},
	{Name: "start-off", Source: "spec 7.2", Says: "everything is off until it is switched on",
		Apply: on(func(s *steps) { s.Files.InitKprobes = func(e *engine) { s.Files.SetAllDisarmed(e, true) } })},
	{Name: "switch-to", Source: "K17", Says: "__switch_to can be return-probed", Apply: on(func(s *steps) {
		s.Ret.KretprobeBlacklisted = never(s.Ret.KretprobeBlacklisted)
	})},
	{Name: "anywhere", Source: "spec 2.9", Says: "return probes go anywhere in a function",
		Apply: on(func(s *steps) { s.Ret.OnFuncEntry = always })},
	{Name: "no-ibt", Source: "spec 2.9", Says: "there is no IBT", Apply: func(w *Wiring) {
		w.Engine.Kernel.IBT = false
	}},
	{Name: "one-data", Source: "spec 2.5", Says: "the instances of a return probe share their data",
		Apply: on(oneData)},
	{Name: "one-handler", Source: "spec 2.10",
		Says: "of a frame's calls only the one with the real return address has its handler " +
			"run", Apply: on(oneHandler)},
	{Name: "regs-lost", Source: "spec 2.6", Says: "a return handler's changes of the registers are lost",
		Apply: on(retRegsLost)},
	{Name: "no-bug", Source: "spec 2.8", Says: "a return without an owner isn't reported",
		Apply: on(func(s *steps) { skip2(&s.Ret.ReturnLost) })},
}

// Apply applies a mutant of All, or one that only the rules' tests notice. It reports whether that name exists.
func Apply(name string, w *Wiring) bool {
	if m, ok := find(name); ok {
		m.Apply(w)
		return true
	}
	for i := range ofRules {
		if ofRules[i].Name == name {
			ofRules[i].Apply(w)
			return true
		}
	}
	return false
}
