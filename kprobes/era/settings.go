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
	PatchWhole                    // the whole instruction at once, then a sync (arch.Arch.BreakpointFirst)
)

var patchWords = []string{"breakpoint", "stop_machine", "naive", "naive-tail-first", "whole"}

// String returns the word of machine().
func (p Patch) String() string { return patchWords[p] }

// A Step is how the engine notices that the copy of an instruction has run.
type Step uint8

// The ways to step.
const (
	// a breakpoint after the copy; instructions that change ip or IF are emulated (5.13 and later)
	StepInt3  Step = iota
	StepDebug      // the trap flag and #DB (until 5.12)
)

// A Boost is how an out-of-line copy gets a jump back after it, which saves the step.
type Boost uint8

// The ways to boost. No copy is boosted under CONFIG_PREEMPTION (spec 8.5).
const (
	BoostNever   Boost = iota // not at all (2.6 on x86_64)
	BoostPrepare              // the jump is written with the copy (4.12 and later)
	BoostStepped              // the jump is written once the copy has been stepped (until 5.12)
)

// A Return is how return probes keep track of calls in flight.
type Return uint8

// The generations.
const (
	ReturnObjpool  Return = iota // rethook, a per-CPU array of free instances (6.7 and later)
	ReturnRethook                // rethook, a lock-free list of free instances (5.18 to 6.6)
	ReturnFreelist               // one list per task, a lock-free list of free instances (5.11 to 5.17)
	ReturnHashed                 // a hash table by task, one lock per bucket, a code trampoline (2.6.28 to 5.10)
	ReturnGlobal                 // a hash table, one lock, and a probe on a nop as the trampoline (until 2.6.27)
)

// An Order is the optimizer's order of locking: which locks it holds while it waits, and
// whether it wakes itself again before it releases kprobe_mutex.
type Order uint8

// The orders.
const (
	OrderText   Order = iota // cpus_read_lock and text_mutex, held throughout (5.8 and later)
	OrderModule              // cpus_read_lock throughout, text_mutex for each step (4.15 to 5.2)
	OrderStep                // text_mutex for each step (until 4.12)
)

// MostOptimized is the most jumps that one run of the optimizer wrote, and removed, while
// text_poke_smp_batch wrote them (2.6.38 to 3.11).
const MostOptimized = 256

// An Unoptimize is how a jump is removed.
type Unoptimize uint8

// The ways to remove a jump.
const (
	UnoptimizeLikePatch  Unoptimize = iota // by a breakpoint if Patch is PatchBreakpoint, otherwise as it was written
	UnoptimizeBreakpoint                   // by a breakpoint and syncs, whatever Patch is (5.6 and later)
	UnoptimizePatcher                      // as it was written
)

// A Files is a generation of the interface files: which files exist, and what they accept, print and log.
type Files uint8

// The generations of files.
const (
	FilesBool  Files = iota // enabled accepts what kstrtobool accepts (5.16 and later)
	FilesChar               // enabled looks at the first character only: 0 1 y Y n N (until 5.15)
	FilesPlain              // as FilesChar; the list shows a bare address where no symbol is known (until 4.17)
	FilesFirst              // only list and enabled exist, and a bad write is ignored (2.6)
)

// dataMost is KRETPROBE_MAX_DATA_SIZE.
const dataMost = 4096

// Settings are the choices that an engine's configuration and edition decide. Each can be
// set separately. Of makes them; the zero value matches no edition.
type Settings struct {
	Kernel      rules.Kernel // which bytes can be probed, and which regions optimized
	Quiesce     kapi.Flavour // what the optimizer waits for (spec 4.6)
	Patch       Patch        // how jumps are written: which patcher the engine gets
	RemovedInt3 bool         // a trap on a breakpoint already removed is handled (until 6.2)
	AnyByte     bool         // a probe may lie inside an instruction (2.6)
	Step        Step         // how the end of a copy is noticed
	Boost       Boost        // how a copy gets the jump after it
	Return      Return       // how return probes keep track of calls
	// If set, the trampoline of ReturnGlobal is a nop with a probe on i386 as well as on x86-64 (until 2.6.16);
	// otherwise on i386 it is code (spec 2.1).
	OldTrampoline bool
	MaxactiveAll  bool       // the default of maxactive doesn't depend on the build (6.1 and later)
	DataMax       int        // the largest data_size in bytes; 0: unlimited (until 5.15)
	Unwind        bool       // backtraces see through the trampoline of return probes (5.15 and later)
	FaultHandlers bool       // probes have fault handlers (until 5.13)
	Jprobes       bool       // jprobes can be registered (until 4.14)
	Batches       bool       // arrays can be registered, probes disabled and enabled (2.6.30 and later)
	Order         Order      // which locks the optimizer holds while it waits
	Batch         int        // the most jumps that a run of the optimizer writes, and removes; 0: all
	SaveSS        bool       // detours save a whole register image (5.10 and later), otherwise one without ss
	DetourIRQsOff bool       // handlers of a detour run with interrupts off (until 4.14)
	Unoptimize    Unoptimize // how a jump is removed
	// The kernel synchronizes every CPU after writing a breakpoint (5.6 and later).
	SyncArm    bool
	SyncCopies bool // every CPU is synchronized after a copy was written (no kernel does)
	// Every probe at an ftrace site declares that it may change the path (until 5.3); otherwise only those with a
	// post_handler do.
	FtraceClaims bool
	// A probe holds its module until it is unregistered (2.6); otherwise only while it is being registered.
	ModuleRefs bool
	Files      Files // the interface files

	// The kernel holds back an NMI that arrives in an NMI handler until that handler ends (3.3 and later).
	NMILatch bool
	Counting kapi.Counting // what the kernel adds to the preemption count in a breakpoint's handler
}

// UnoptimizesByInt3 reports whether a jump is removed by a breakpoint and syncs. Otherwise
// the patcher that wrote it removes it.
func (s *Settings) UnoptimizesByInt3() bool {
	return s.Unoptimize == UnoptimizeBreakpoint || s.Unoptimize == UnoptimizeLikePatch && s.Patch == PatchBreakpoint
}

// NopTrampoline reports whether the trampoline of return probes is a nop with a probe on it. On ppc64le it is one in
// all kernels, and where probes become jumps that one is a jump from boot on: the trampoline is its detour then.
func (s *Settings) NopTrampoline() bool {
	return s.Return == ReturnGlobal && (!s.Kernel.Bits32 || s.OldTrampoline) ||
		s.Kernel.Decoder.Traces() && !s.Kernel.Optprobes // arch_rethook_trampoline of powerpc
}

// Of returns the settings that an edition presets, on the repaired algorithm, for a build
// with or without CONFIG_PREEMPTION. For rules.EditionNone it returns the defaults.
func Of(e rules.Edition, preemption bool) (s Settings) {
	for i := range Table {
		r := &Table[i]
		r.Set(&s, r.Preset(e, preemption))
	}
	s.Kernel.Preemption = preemption
	return s
}

// OfNumbers is Of for processors whose instructions are numbers: nothing is boosted, and on ppc64le alone probes
// go through ftrace. Where breakpoints are written under running CPUs, and copies are stepped by a trace interrupt
// (ppc64le), one that a CPU has hit may be gone, and probes become jumps in every build. On the others nothing is
// optimized, and a breakpoint that a CPU has hit is never gone, since it is written with the machine stopped.
func OfNumbers(e rules.Edition, preemption bool, d rules.Decoder) Settings {
	s := Of(e, preemption)
	s.Kernel.Decoder = d
	s.Kernel.Optprobes, s.Kernel.Ftrace = s.Kernel.Optprobes && d.Optimizes(), s.Kernel.Ftrace && d.Traced()
	s.Boost, s.RemovedInt3 = BoostNever, d.Traces()
	if d.Traces() {
		s.Step = StepDebug
	}
	return s
}

// Of386 is Of for i386, which got boosting before x86-64 (2.6.17; x86-64 in 2.6.25).
func Of386(e rules.Edition, preemption bool) Settings {
	s := Of(e, preemption)
	s.Kernel.Bits32 = true
	if e == rules.Edition26 {
		s.Boost = BoostStepped
	}
	return s
}
