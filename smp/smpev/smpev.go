package smpev

// TrapUser is the addr of a Trap that user mode takes.
const TrapUser = 1

// The state that a routine must leave unchanged, as in Tilted.
const (
	TiltPreempt = 1 // the count of preempt_disable
	TiltIRQs    = 2 // whether interrupts are on
)

// What becomes of a transition, as in LivePatch.
const (
	LiveBegins   = 0
	LiveReversed = 1
	LiveComplete = 2
)

// How a task is switched, as in LiveSwitch.
const (
	LiveLooked = 0 // it doesn't run, and its stack was looked at; or it has looked itself
	LiveUser   = 1 // on its way to user mode
	LiveForced = 2 // switched wherever it stands
)

// What becomes of an fprobe, as in Fprobe.
const (
	FprobeSet   = 0 // it is registered
	FprobeGone  = 1 // unregister has returned
	FprobeEntry = 2 // its entry handler runs
	FprobeExit  = 3 // its exit handler runs
	FprobeMiss  = 4 // neither does: no hook is free, or a handler runs on the CPU
	FprobeStop  = 5 // its exit handlers are stopped
)

// What becomes of a hit of a uprobe, as in Uprobe.
const (
	UprobeHit    = 0 // a task in user mode is about to execute the breakpoint
	UprobeRuns   = 1 // its handler runs, the function at at, on the way back to user mode
	UprobeSteps  = 2 // the task is to step the instruction's copy, at at
	UprobeDone   = 3 // the copy has been stepped, and the task goes on in user mode at at
	UprobeStrays = 4 // user mode goes on at at, where it shouldn't
	// A user of the uprobe, whose handler is the function at at, begins to be registered; it is; it begins to be
	// unregistered; it is.
	UprobeAdds, UprobeAdded, UprobeRemoves, UprobeRemoved = 5, 6, 7, 8

	UprobeKills  = 9  // SIGTRAP; at 0: a breakpoint that nothing knows; 1: no uprobe is left in the process
	UprobePasses = 10 // no breakpoint stands there: the task runs the instruction
	UprobeRan    = 11 // the handler has returned

	// The user with the handler at at is registered with a return handler, or without; its filter is for the hits at
	// addr, or against them, or its handler wants no more of them.
	UprobeWithReturn, UprobeNoReturn, UprobeWants, UprobeSkips = 12, 13, 14, 15

	UprobeCalls   = 16 // user mode calls the function that begins at addr, which is to return to at
	UprobeHooks   = 17 // the return address at of that call is replaced by the trampoline's
	UprobeReturns = 18 // the call has returned, and the return handler of the user with the handler at at runs
	UprobeBack    = 19 // the call has returned, and user mode continues at at
	UprobeLeaves  = 20 // longjmp leaves that call
	UprobeLost    = 21 // a call returns to the trampoline, and none is known: SIGILL

	// The memory at at becomes the uprobe's, or is freed; a call that returns uses it.
	UprobeMakes, UprobeFrees, UprobeUses = 22, 23, 24

	UprobeEmulates = 25 // the instruction, a nop, is emulated
	UprobeEnters   = 26 // the call that stands in place of the nop has entered the kernel
	// A call replaces the breakpoint; the nop replaces the call.
	UprobeToCall, UprobeToNop = 27, 28
	// A breakpoint is about to stand in place of the nop; the nop stands there again.
	UprobeStands, UprobeGone = 29, 30
)

// What becomes of a program on a function, as in Bpf: it begins; it has returned; it is left out, as it runs on the CPU
// already. BpfEntry, BpfModRet and BpfExit are the kinds of programs, in their order; BpfAttaches has one for each
// kind, too. BpfRefused: it isn't attached.
const (
	BpfEntry    = 0
	BpfModRet   = 1
	BpfExit     = 2
	BpfRan      = 3
	BpfMisses   = 4
	BpfReturns  = 5 // the function has returned into the image at at
	BpfSkips    = 6 // the program leaves the function out
	BpfAttaches = 7 // to 9: a call begins that attaches it
	BpfAttached = 10
	BpfRefused  = 11
	BpfDetaches = 12
	BpfDetached = 13
	BpfSite     = 14 // at the head, for monitors: the function may have programs
)

// The calls of Asked. A module that is there from the beginning was loaded before.
const (
	AskedLoad   = 0 // insmod begins
	AskedUnload = 1 // rmmod begins
	AskedEnds   = 2 // added to either: it ends
)

// The subjects of Attach: what is attached to functions' sites. The number of one among its like is added. Leads with
// subject 0 is of a site itself.
const (
	SubjectOps    = 1 << 16 // a client of all sites, or of some
	SubjectFprobe = 2 << 16
	SubjectDirect = 3 << 16 // the direct call of a site
	SubjectPatch  = 4 << 16 // a live patch, from 1; calls of all are SubjectPatch's
)

// The calls of Attach.
const (
	AttachFilter     = 1 // the value is a site
	AttachUnfilter   = 2 // likewise
	AttachRegister   = 3 // of a direct call the value is the function called, of live patches the patch
	AttachUnregister = 4 // of live patches the value is the site
	AttachModify     = 5 // the value is the function called
)

// What a client is, as in Leads.
const (
	LeadsModifies = 1 << iota // it may change where calls continue
	LeadsDynamic              // no handler of it runs once it is unregistered
)

// What an fprobe does, as in Hooks.
const (
	HookFollows   = 0
	HookEntered   = 1
	HookRecursion = 2
	HookNone      = 3
	HookExit      = 4
	HookExited    = 5
	HookStopped   = 6
	HookTakes     = 7
	HookLeaves    = 8
	HookSkips     = 9
	HookRaced     = 10
)

// What is added to how many hooks an fprobe has, as in Leads.
const (
	HooksSkip   = 1 << 32 // its entry handler may leave out the exit handler
	HooksNested = 1 << 33 // a CPU may take a call while it handles another one: a kernel's own lock against recursion

	HooksNumber = HooksSkip - 1 // what is left is how many
)

// MayMiss says of an expected call that it doesn't have to be made.
const MayMiss = 1 << 63

// Check is the word for a check: its task, its number among the task's, and
// what it looks at.
func Check(task uint64, n, what int) uint64 { return task<<32 | uint64(n)<<2 | uint64(what) }

// CheckTask, CheckNumber and CheckWhat return the parts of a check's word.
func CheckTask(check uint64) uint64   { return check >> 32 }
func CheckNumber(check uint64) uint32 { return uint32(check) >> 2 } // see CheckTask
func CheckWhat(check uint64) int      { return int(check & 3) }     // see CheckTask

// What a check looks at.
const (
	CheckResult = 0 // what a call returned
	CheckMemory = 1 // at most 8 bytes of memory
	CheckErrno  = 2 // what a call of the probes' API returned
	CheckCount  = 3 // how often a probe was hit: a count, and above CheckCountOf which one
)

// CheckCountOf is where the value of a CheckCount says what is counted (Counts).
const CheckCountOf = 32

// CountInCall is what a check of a call counts: whether a handler of a probe has begun in it.
const CountInCall = 3

// Vectors, as in the IDT; hardware interrupts from 32 on.
const (
	VecDE    = 0
	VecDB    = 1
	VecNMI   = 2
	VecBP    = 3
	VecOF    = 4
	VecBR    = 5
	VecUD    = 6
	VecDF    = 8
	VecGP    = 13
	VecPF    = 14
	VecTimer = 0xec
	VecResch = 0xfd
	VecCall  = 0xfb // function call IPI: sync_core

	// VecGarbage is no vector: the CPU stands before what the machine doesn't execute.
	VecGarbage = 0x100
)

// Why a CPU serialises, as in Serialise; 0: it runs an instruction that does. An
// engine defines more (Whys).
const (
	SyncPoke1 = 1  // text_poke_bp, after the breakpoint
	SyncPoke2 = 2  // text_poke_bp, after the tail
	SyncPoke3 = 3  // text_poke_bp, after the head
	SyncStop  = 8  // stop_machine, each CPU before it leaves
	SyncSelf  = 9  // text_poke, the storing CPU
	SyncFlush = 10 // translations of unmapped memory are flushed
	SyncDebug = 12 // a debugger has written a breakpoint, or taken one away

	SyncByHand = 13 // a task of the scenario asks for it
	SyncUprobe = 14 // a uprobe's instruction is replaced
	SyncImage  = 15 // an image of a BPF trampoline was written
	SyncWhole  = 16 // instructions were stored whole
)

// Owners of a trap, as in Claim. An engine defines more (Owners).
const (
	OwnerPoke     = 1 // the text-poke handler: the address is in its descriptor
	OwnerFault    = 4 // a fault that was fixed up
	OwnerDebugger = 7 // a debugger: it has a breakpoint there, or had one
	OwnerUprobe   = 8 // uprobes: the task is in user mode, at an instruction with one, or steps it
	OwnerByHand   = 9 // what a task of the scenario has set (on_breakpoint)
)

// ModuleMem is a section of a module, as in Alloc and Free. An engine defines
// more (Memory).
const ModuleMem = 3

// MostByHand is the largest size of a ByHand.
const MostByHand = 64

// SharesWrote is a bit of a Shares' how; MostShared is the largest size of one.
const (
	SharesWrote = 1
	MostShared  = 64
)

// CodeMem is memory for code that tasks of the scenario map and free, as in Alloc and Free.
const CodeMem = 4

// BpfMem is an image of a BPF trampoline, as in Alloc and Free.
const BpfMem = 5

// TrampolineMem is a trampoline of one client of the tracer of functions, as in Alloc and Free.
const TrampolineMem = 6

// DispatcherMem is the image of a BPF dispatcher, as in Alloc and Free.
const DispatcherMem = 7

// How a CPU is given up, as in Gives; 0: the task was preempted. A task's Wake says that
// it wants a CPU again.
const (
	GiveWilling = 1 << iota // voluntarily
	GiveRests               // and the task waits, or has ended: it doesn't want a CPU; nor do idle loops
)

// How a lock was taken, as in Lock; 0: a mutex.
const (
	LockSpins  = 1 << iota // it keeps the CPU
	LockIRQsOn             // and interrupts are on while it is held
	LockInIRQ              // by the handler of an interrupt
	LockInNMI              // or of an NMI
	LockShared             // by one of several readers
	LockWaits              // it isn't taken: a task waits until the holder is done, and others may take it meanwhile
	LockNeeded             // it isn't taken: the caller should have it, and hasn't
)

// What is waited for like a lock, and can form a circle with locks: the task
// that does it counts as the holder. Monitors alone are told of these
// (traces.Log.Tell).
const (
	WaitWork  = 1 << 16 // and up: a delayed work, had by its worker while it runs
	WaitGrace = 1 << 17 // a grace period, had by read-side sections
)

// Flavours of grace period, as in GPStart.
const (
	GPSched = 1
	GPRcu   = 2
	GPTasks = 3
)

// The sorts of keys, as in Setting.
const (
	SettingLabel        = iota // 0 off, 1 on
	SettingCall                // the function that is called, 0: none
	SettingLocks               // 0 removed, 1 there
	SettingAlternatives        // 0 not applied, 1 applied
	SettingBreakpoint          // 0 cleared, 1 set
	SettingSort         = 1<<4 - 1

	SettingFirst = 1 << 4 // added: the key has this value when a run begins
)

// The bits of Sets.
const (
	SetsEnds  = 1 // the call returns
	SetsErrno = 1 // how far its errno is shifted
)
