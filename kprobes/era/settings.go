package era

import (
	"kpsim/kprobes/rules"
	"kpsim/smp/kapi"
)

// A Patch is how a jump is written over live text.
type Patch uint8

// The ways to write.
const (
	PatchBreakpoint  Patch = iota // int3 first (text_poke_bp)
	PatchStopMachine              // text_poke_smp
	PatchHeadFirst                // plain stores: the head byte, then the tail
	PatchTailFirst                // plain stores: the tail, then the head byte
)

// A Step is how the engine notices that the copy of an instruction has run.
type Step uint8

// The ways to step.
const (
	StepInt3  Step = iota // a breakpoint after the copy (5.13 and later); what changes ip or IF is emulated
	StepDebug             // the trap flag and #DB (until 5.12)
)

// A Boost is where the jump back after a copy comes from, which saves the step.
type Boost uint8

// The ways to boost. None does under CONFIG_PREEMPTION (spec 8.5).
const (
	BoostNever   Boost = iota // not at all (2.6 on x86_64)
	BoostPrepare              // written with the copy (4.12 and later)
	BoostStepped              // written when the copy has been stepped once (until 5.12)
)

// A Return is how return probes keep track of calls in flight.
type Return uint8

// The generations.
const (
	ReturnObjpool  Return = iota // rethook, a per-CPU array of free instances (6.7 and later)
	ReturnRethook                // rethook, a lock-free list of free instances (5.18 to 6.6)
	ReturnFreelist               // a list a task, a lock-free list of free instances (5.11 to 5.17)
	ReturnHashed                 // a hash table by task with a lock a bucket, a code trampoline (2.6.28 to 5.10)
	ReturnGlobal                 // the same with one lock, and a probe on a nop as the trampoline (until 2.6.27)
)

// An Order is the optimizer's: which locks it holds while it waits, and whether
// it wakes itself again before it lets kprobe_mutex go.
type Order uint8

// The orders.
const (
	OrderText   Order = iota // cpus_read_lock and text_mutex, held throughout (5.8 and later)
	OrderModule              // cpus_read_lock throughout, text_mutex a step (4.15 to 5.2)
	OrderStep                // text_mutex a step (until 4.12)
)

// MostOptimized is how many jumps a run of the optimizer wrote and took away at
// most while text_poke_smp_batch wrote them (2.6.38 to 3.11).
const MostOptimized = 256

// An Unoptimize is how a jump is taken away.
type Unoptimize uint8

// The ways to take a jump away.
const (
	UnoptimizeLikePatch  Unoptimize = iota // by a breakpoint if Patch is one, else as it was written
	UnoptimizeBreakpoint                   // by a breakpoint and syncs, whatever Patch is (5.6 and later)
	UnoptimizePatcher                      // as it was written
)

// A Files is which interface files there are, what they take, print and log.
type Files uint8

// The generations of files.
const (
	FilesBool  Files = iota // enabled takes what kstrtobool does (5.16 and later)
	FilesChar               // it looks at the first character, of 0 1 y Y n N (until 5.15)
	FilesPlain              // the same, and the list shows a bare address where there is no symbol (until 4.17)
	FilesFirst              // there are only list and enabled, and a bad write is ignored (2.6)
)

// dataMost is KRETPROBE_MAX_DATA_SIZE.
const dataMost = 4096

// Settings are what an engine's configuration and edition decide. Each can be
// set by itself. Of makes them; the zero value is no edition's.
type Settings struct {
	Kernel      rules.Kernel // which bytes can be probed, and which regions optimized
	Quiesce     kapi.Flavour // what the optimizer waits for (spec 4.6)
	Patch       Patch        // how jumps are written: which patcher the engine is given
	RemovedInt3 bool         // a breakpoint that is no longer there is handled (until 6.2)
	AnyByte     bool         // instruction boundaries aren't looked at (2.6)
	Step        Step         // how the end of a copy is noticed
	Boost       Boost        // where the jump after a copy comes from
	Return      Return       // how return probes keep track of calls
	// on i386, too, the trampoline is a nop with a probe as long as x86-64 has that (until 2.6.16),
	// else it is code there (spec 2.1)
	OldTrampoline bool
	MaxactiveAll  bool       // the default of maxactive doesn't depend on the build (6.1 and later)
	DataMax       int        // the most bytes of data_size; 0: any (until 5.15)
	Unwind        bool       // backtraces see through the trampoline of return probes (5.15 and later)
	FaultHandlers bool       // probes have fault handlers (until 5.13)
	Jprobes       bool       // there are jprobes (until 4.14)
	Batches       bool       // arrays can be registered, probes disabled and enabled (2.6.30 and later)
	Order         Order      // which locks the optimizer holds while it waits
	Batch         int        // how many jumps a run of the optimizer writes and takes away at most; 0: all
	SaveSS        bool       // detours save a whole register image (5.10 and later), else none of its ss
	DetourIRQsOff bool       // handlers of a detour run with interrupts off (until 4.14)
	Unoptimize    Unoptimize // how a jump is taken away
	// every CPU is synchronized after a breakpoint was written (5.6 and later); the kernel's to do
	SyncArm    bool
	SyncCopies bool // every CPU is synchronized after a copy was written (no kernel does)
	// every probe at a site of ftrace says that it may change the path (until 5.3), else those with a post_handler
	FtraceClaims bool
	// a probe holds its module until it is unregistered (2.6), else while it is being registered
	ModuleRefs bool
	Files      Files // the interface files

	// an NMI that comes in an NMI's handler waits for its end (3.3 and later); the kernel's to do
	NMILatch bool
	Counting kapi.Counting // what a breakpoint's handler counts in the preemption count; the kernel's to do
}

// UnoptimizesByInt3 reports whether a jump is taken away by a breakpoint and syncs, else
// by the patcher that wrote it.
func (s *Settings) UnoptimizesByInt3() bool {
	return s.Unoptimize == UnoptimizeBreakpoint || s.Unoptimize == UnoptimizeLikePatch && s.Patch == PatchBreakpoint
}

// NopTrampoline reports whether the trampoline of return probes is a nop with a probe on it.
func (s *Settings) NopTrampoline() bool {
	return s.Return == ReturnGlobal && (!s.Kernel.Bits32 || s.OldTrampoline)
}

// Of returns the settings that an edition presets, on the repaired algorithm, of
// a build with or without CONFIG_PREEMPTION. Of rules.EditionNone: what holds if
// nothing is said.
func Of(e rules.Edition, preemption bool) (s Settings) {
	for i := range Table {
		r := &Table[i]
		r.Set(&s, r.Preset(e, preemption))
	}
	s.Kernel.Preemption = preemption
	return s
}

// Of386 is Of for i386, which had boosting first (2.6.17; x86-64 in 2.6.25).
func Of386(e rules.Edition, preemption bool) Settings {
	s := Of(e, preemption)
	s.Kernel.Bits32 = true
	if e == rules.Edition26 {
		s.Boost = BoostStepped
	}
	return s
}
