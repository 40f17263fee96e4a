package kprobes

// RetMutants are the switches of return probes and jprobes.
type RetMutants struct {
	// ReRegister takes a return probe that is registered already for a new one until
	// its kprobe is refused (R54).
	ReRegister bool
	// SwitchTo lets __switch_to be return-probed (K17).
	SwitchTo bool
	// HookFirst replaces the return address before an instance is there (K13, M45).
	HookFirst bool
	// EntryIgnored follows a call whatever its entry_handler says.
	EntryIgnored bool
	// FrameUnchecked takes the newest call for the one that returns (K4, M50).
	FrameUnchecked bool
	// NoFlush leaves a task's calls in flight behind when it ends (K14, M47).
	NoFlush bool
	// HolderRefs counts the instances of a return probe, but not the return probe
	// itself, as 5.11 to 5.17 do (K7).
	HolderRefs bool
	// EmptyLate empties the list of what a task's end has to free when it has been
	// filled (K5, 2.6.25 to 2.6.35).
	EmptyLate bool
	// ObjpoolLast is the kernel's array of free instances (6.7 and later), in which
	// an NMI that pushes between the steps of a push publishes a place that isn't
	// filled yet, and the push then sets back how far they are filled: see ring.
	ObjpoolLast bool
	// DisarmTrampoline has the file enabled disarm the probe on the trampoline, too
	// (2.6): calls in flight return to a nop, and run into what is behind it.
	DisarmTrampoline bool
	// LockInNMI takes the locks of return probes in an NMI, too, which may have
	// interrupted their holder (until 3.7).
	LockInNMI bool
	// RetAddrKept tells a return handler what its own instance has kept: the trampoline's
	// address, where another return probe of the function was first (until 2.6.37).
	RetAddrKept      bool
	RetAddrLost      bool // every return handler is told the trampoline's address
	NoHook           bool // the return address stays on the stack
	EntryReturns     bool // the pre_handler of a return probe returns non-zero
	OneHandler       bool // of a frame's calls only the handler of the one that knows where to runs
	RetRegsLost      bool // what a return handler changes of the registers is lost
	NoBug            bool // nothing is said of a return that nobody knows
	OneData          bool // the instances of a return probe share their data
	RetAnywhere      bool // return probes go anywhere in a function
	OneLess          bool // a return probe has one instance less than it says
	NoBranchTracking bool // there is no IBT
	NoStackCopy      bool // a jprobe keeps no stack
	NoRegsCopy       bool // nor the registers
	TwoJprobes       bool // two jprobes may be on one function
	NoBreak          bool // the breakpoint of jprobe_return is nobody's
	_                struct{}
}
