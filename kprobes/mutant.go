package kprobes

// Mutants are the steps of the engine that can be left out, doubled or swapped
// on purpose, one switch each. All off is the right engine.
type Mutants struct {
	RetMutants // of return probes and jprobes

	NoQuiesce bool // the optimizer doesn't wait before it writes jumps (R1, M01)
	FreeEarly bool // the optimizer frees a detour before it waits (R36, M12)
	NoGrace   bool // unregister doesn't wait for handlers that have found the probe (M38)
	FreeFirst bool // unregister frees the copy before it waits for who is in a handler (M12)
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
	// BoostAny boosts whatever the instruction, and however long it is.
	BoostAny bool
	// BoostPost doesn't step for a post_handler that has joined a boosted point, as
	// kernels since 5.13 don't.
	BoostPost bool
	// FaultInCopy treats a fault of the copy as one of the copy's address.
	FaultInCopy bool
	NoFault     bool // no fault handler is asked
	SkipPost    bool // no post_handler runs
	// PostByList runs the post_handlers of the probes that are at the address when the
	// instruction has been executed, as kernels do (aggr_post_handler): one that is being
	// unregistered isn't among them any more.
	PostByList bool
	NilStops   bool // a pre_handler that is nil is taken for one that has changed the path
	IgnorePre  bool // what a pre_handler returns is ignored
	CopyRegs   bool // handlers are given a copy of the registers
	NoMissed   bool // a hit from inside a handler isn't counted
	// MissedByPoint counts such a hit for the point alone where it has several probes (M41).
	MissedByPoint bool
	// ByteFirst looks whether the breakpoint is still there before it looks whose it is (R32, M22; until 2.6.33).
	ByteFirst bool
	// SaveArmed keeps as the original byte what is there behind the write of the breakpoint (M25).
	SaveArmed bool
	// HideFirst takes a point out of the table before it is disarmed (M37).
	HideFirst bool
	// SwapInTwo leaves a point without probes for a moment when one comes or goes (M39).
	SwapInTwo bool
	// SharedNoGrace doesn't wait for handlers when other probes stay at the address (M40).
	SharedNoGrace bool
	// LeaveTF leaves the trap flag set where a stepped copy has faulted (R41, M34; until 4.6).
	LeaveTF bool
	// RIPKept copies an instruction that is relative to the instruction pointer as it is (M35).
	RIPKept bool
	// RIPOfBuffer relocates it to where it was put together, not to where it runs (M36).
	RIPOfBuffer bool

	// Of registering:
	SymbolFirst bool // a probe with a symbol and an address goes to the symbol
	TakeTwice   bool // what is registered already is registered once more
	// ReregUnlocked asks whether a probe is registered already and lets kprobe_mutex go
	// before it registers it, as kernels do (check_kprobe_rereg, later warn_kprobe_rereg):
	// of two that register the same probe at once both do.
	ReregUnlocked bool
	KeepMissed    bool // registering leaves nmissed
	KeepFlags     bool // registering leaves the caller's flags
	ArmDisabled   bool // what is registered disabled is enabled all the same
	KeepAddr      bool // unregistering what isn't registered leaves its address
	NoRollback    bool // what was registered before an array's bad probe stays
	GraceEach     bool // an array is unregistered one by one
	OldestFirst   bool // of several at one address the first registered runs first
	RunDisabled   bool // handlers of disabled probes run
	MissedEnabled bool // a hit inside a handler counts for those alone that aren't disabled
	ToggleOnce    bool // what is disabled can't be disabled again, nor enabled what is enabled
	ToggleAny     bool // what isn't registered can be disabled and enabled
	// ReuseDisabled takes back that an unused point loses its jump when a disabled probe
	// joins it, and holds the point for enabled from then on, as kernels since 2.6.38 do
	// (reuse_unused_kprobe): when that probe goes the jump stays for good.
	ReuseDisabled bool
	// EnableLost forgets what is enabled while the file enabled says 0, as kernels since
	// 2.6.30 do (enable_kprobe): a probe that is alone at its address, and can't be
	// optimized, stays disabled; of others the own mark is cleared, so that the list
	// shows nothing, and the address' is not.
	EnableLost bool

	// Of the optimizer:
	CancelLost       bool // what is queued to lose its jump and is wanted again loses it all the same (R6, 5.6-rc)
	StepQueued       bool // what is queued to become a jump is stepped all the same
	FlagEarly        bool // the mark of a jump is taken away before the jump (R5, 2.6.38 to 5.5)
	MarkKept         bool // the mark of a jump stays when the jump is taken away
	RekickOutside    bool // the optimizer wakes itself when it has let kprobe_mutex go (R7, 2.6.38 to 5.7)
	SavedAtPrepare   bool // the bytes under a jump are saved when the detour is made, with the breakpoints that lie there
	DisarmLost       bool // what loses its jump to "enabled" while it is queued for the sysctl keeps its breakpoint
	OptimizeDisarmed bool // jumps are written while all is disarmed (M52)
	OptimizePost     bool // a point with a post_handler becomes a jump (M54)
	OptimizeBlocked  bool // a point with another probe in its region becomes a jump
	RetryLost        bool // a point that a probe on its way out has blocked isn't tried again (R11, 2.6.38 to 6.19)
	NoRetry          bool // a point that was blocked is never tried again, whoever has blocked it
	JumpKept         bool // the jump of a point whose probes are all disabled stays
	BackOff          bool // each run of the optimizer waits twice as often as the last
	ArmOver          bool // a breakpoint is written into a region that has its jump (spec 4.8)
	StackRegions     bool // stack-check looks for who is in a region alone, not in a detour: as the documents tell it
	FlushLocked      bool // who waits for the optimizer holds kprobe_mutex, which it wants
	HotplugLast      bool // the CPU-hotplug lock is taken under text_mutex (R16, until 4.12)
	LabelsLast       bool // the jump labels' lock is taken under text_mutex (R17, 2.6.37-rc)
	ArmDisarmed      bool // probes are armed while "enabled" says 0
	ArmBeforeClear   bool // "enabled" arms before it says that nothing is disarmed (M53)
	DetourDisabled   bool // a detour runs handlers of disabled probes (M43)
	DetourPreempt    bool // handlers behind a detour run with preemption on (spec 1.10)
	DetourNested     bool // a detour doesn't look whether it is inside a handler (M44)
	// DetourPost runs the pre_handler of a probe that has joined with a post_handler
	// while the CPU stood in the detour, which runs none, as kernels since 2.6.34 do.
	DetourPost   bool
	DetourPath   bool // a detour goes where a pre_handler says
	DetourStops  bool // a detour's pre_handler that returns non-zero skips those after it
	SPUnadjusted bool // a handler behind a detour that saves ss sees the stack pointer below it (5.10)

	// ReenterAgain takes a hit on top of two others for one on top of one: the
	// CPU loses track of the first.
	ReenterAgain bool

	// Of modules and ftrace:
	// NoModuleRef registers a probe in a module without holding the module meanwhile (R52).
	NoModuleRef bool
	// CheckUnlocked asks for the module before kprobe_mutex is taken, as kernels do:
	// init text may be freed in between.
	CheckUnlocked bool
	// NoKill doesn't hear that modules go: their probes stay.
	NoKill bool
	// KillHidden kills points that are no longer in the table, too.
	KillHidden bool
	// KillKeepsFtrace leaves the probes of a module that goes to ftrace (R51).
	KillKeepsFtrace bool
	// FtraceByPost disarms a site with the client that it would be armed with now (R53, and
	// what an oracle's kernel leaves in its table).
	FtraceByPost bool
	// FtraceKeepsPath ignores that a pre_handler at a site has changed ip.
	FtraceKeepsPath bool
	// Of the files:
	ListKprobes    bool // each probe is listed as a kprobe
	ListOldest     bool // the oldest probe of an address is listed first
	ListBare       bool // modules and tags are left out
	ListJumps      bool // [OPTIMIZED] only when the jump is there
	EnabledIgnored bool // enabled says 0, and nothing is disarmed
	EnabledAll     bool // enabled arms disabled probes, too
	EnabledDigits  bool // a write to enabled is taken for a number
	SysctlRange    bool // kprobes-optimization takes any number
	StartOff       bool // all is off until it is switched on
	_              struct{}
}
