package kprobes

// Mutants are the steps of the engine that can be left out, doubled or swapped
// on purpose, one switch each. All off is the right engine.
type Mutants struct {
	NoQuiesce bool // the optimizer doesn't wait before it writes jumps (R1, M01)
	FreeEarly bool // the optimizer frees a detour before it waits (R36, M12)
	NoGrace   bool // unregister doesn't wait for handlers that have found the probe (M38)
	NoRestore bool // disarm leaves the breakpoint in the text
	LeakIF    bool // the end of a step leaves interrupts off (M34's sibling)
	LostKick  bool // a queued probe doesn't wake the optimizer
	CancelRCU bool // a detour that was queued but never reached by a jump is freed after an RCU grace period, as kernels do
	// IgnoreSysctl lets jumps be written while the sysctl says no (spec 7.3).
	IgnoreSysctl bool
	// JNGAnd emulates jng and jg with "and" where the manual has "or" (5.13 to 5.19).
	JNGAnd bool
	// PreIP lets the pre_handler of a breakpoint see the probe's address, not the byte behind it.
	PreIP bool
	// NoModuleRef registers a probe in a module without holding the module meanwhile (R52).
	NoModuleRef bool
	// CheckUnlocked asks for the module before kprobe_mutex is taken, as kernels do:
	// init text may be freed in between.
	CheckUnlocked bool
	// NoKill doesn't hear that modules go: their probes stay.
	NoKill bool
	// KillWrites writes the original byte to text that is about to go.
	KillWrites bool
	// KillKeepsFtrace leaves the probes of a module that goes to ftrace (R51).
	KillKeepsFtrace bool
	// FtraceByPost disarms a site with the client that it would be armed with now (R53, and
	// what an oracle's kernel leaves in its table).
	FtraceByPost bool
	// FtraceKeepsPath ignores that a pre_handler at a site has changed ip.
	FtraceKeepsPath bool
	_               struct{}
}
