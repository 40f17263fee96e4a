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
	// PushedTF leaves in the flags that a stepped pushf has pushed what the step needed.
	PushedTF bool
	// CopyReturns leaves the return address that a stepped call has pushed: in the slot.
	CopyReturns bool
	// BoostPreempt boosts slots under CONFIG_PREEMPTION, too.
	BoostPreempt bool
	// BoostPost doesn't step for a post_handler that has joined a boosted point, as
	// kernels since 5.13 don't.
	BoostPost bool
	// FaultInCopy treats a fault of the copy as one of the copy's address.
	FaultInCopy bool
	NoFault     bool // no fault handler is asked
	_           struct{}
}
