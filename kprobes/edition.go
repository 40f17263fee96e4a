package kprobes

import (
	"kpsim/kprobes/rules"
	"kpsim/smp/kapi"
)

// An Edition is one of the documents, and the kernels of its time.
type Edition uint8

// The editions of the specification.
const (
	Edition26         Edition = iota // 2.6.2x
	Edition415                       // 3.12 to 4.19
	Edition514                       // 5.14 to 6.0
	Edition65                        // 6.1 to 6.5
	Edition69                        // 6.7 and later
	EditionDocumented                // as 6.5, but its optimizer is as the documents tell it
	Editions                         // how many there are
)

var editionNames = [Editions]string{"2.6", "4.15", "5.14", "6.5", "6.9", "documented"}

func (e Edition) String() string { return editionNames[e] }

// ParseEdition returns the edition of that name.
func ParseEdition(name string) (Edition, bool) {
	for i, n := range editionNames {
		if n == name {
			return Edition(i), true
		}
	}
	return 0, false
}

// Rules returns the edition whose rules say which bytes can be probed.
func (e Edition) Rules() rules.Edition {
	if e == EditionDocumented {
		return rules.Edition65
	}
	return rules.Edition(e)
}

// A Step is how the engine notices that the copy of an instruction has run.
type Step uint8

// The ways to step.
const (
	StepInt3  Step = iota // a breakpoint behind the copy (5.13 and later); what changes ip or IF is emulated
	StepDebug             // the trap flag and #DB (until 5.12)
)

// A Boost is where the jump back behind a copy comes from, which saves the step.
type Boost uint8

// The ways to boost. None does under CONFIG_PREEMPTION (spec 8.5).
const (
	BoostPrepare Boost = iota // written with the copy (4.12 and later)
	BoostStepped              // written when the copy has been stepped once (until 5.12)
	BoostNever                // not at all (2.6 on x86_64)
)

// A ReturnGeneration is how return probes keep track of calls in flight.
type ReturnGeneration uint8

// The generations.
const (
	ReturnObjpool  ReturnGeneration = iota // rethook, a per-CPU array of free instances (6.7 and later)
	ReturnRethook                          // rethook, a lock-free list of free instances (5.18 to 6.6)
	ReturnFreelist                         // a list a task, a lock-free list of free instances (5.11 to 5.17)
	ReturnHashed                           // a hash table by task with a lock a bucket, a code trampoline (2.6.28 to 5.10)
	ReturnGlobal                           // the same with one lock, and a probe on a nop as the trampoline (until 2.6.27)
)

// An Order is the optimizer's: which locks it holds while it waits, and whether
// it wakes itself again before it lets kprobe_mutex go (study of kernels, 1.6).
type Order uint8

// MostOptimized is how many jumps a run of the optimizer wrote and took away at
// most while text_poke_smp_batch was what wrote them (2.6.38 to 3.11).
const MostOptimized = 256

// The orders.
const (
	OrderText   Order = iota // cpus_read_lock and text_mutex, held throughout (5.8 and later)
	OrderModule              // cpus_read_lock throughout, text_mutex a step (4.15 to 5.2)
	OrderStep                // text_mutex a step (until 4.12)
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

// Settings are what the engine's configuration and edition decide. Each can be
// set by itself.
type Settings struct {
	Kernel        rules.Kernel     // which bytes can be probed, and which regions optimized
	AnyByte       bool             // instruction boundaries aren't looked at (2.6)
	Step          Step             // how the end of a copy is noticed
	Boost         Boost            // where the jump behind a copy comes from
	Return        ReturnGeneration // how return probes keep track of calls
	MaxactiveAll  bool             // the default of maxactive doesn't depend on the build (6.1 and later)
	DataMax       int              // the most bytes of data_size; 0: any (until 5.15)
	Unwind        bool             // backtraces see through the trampoline of return probes (5.15 and later)
	FaultHandlers bool             // probes have fault handlers (until 5.13)
	Jprobes       bool             // there are jprobes (until 4.14)
	Batches       bool             // arrays can be registered, probes disabled and enabled (2.6.30 and later)
	Quiesce       kapi.Flavour     // what the optimizer waits for (spec 4.6)
	Order         Order            // which locks the optimizer holds meanwhile
	Batch         int              // how many jumps a run of the optimizer writes and takes away at most; 0: all
	Breakpoint    bool             // unoptimize by breakpoint and syncs (5.6 and later), else by the patcher
	SaveSS        bool             // detours save a whole register image (5.10 and later), else none of its ss
	DetourIRQsOff bool             // handlers behind a detour run with interrupts off (until 4.14)
	RemovedInt3   bool             // a breakpoint that is no longer there is handled (until 6.2)
	Files         Files            // the interface files
	FtraceClaims  bool             // every probe at a site of ftrace says that it may change the path (until 5.3), else those with a post_handler
	ModuleRefs    bool             // a probe holds its module until it is unregistered (2.6), else while it is being registered
	Steps         *Steps           // nil: Linux; mutants wrap some
	_             struct{}
}

// Settings returns those of an edition, of a build with or without
// CONFIG_PREEMPTION, on the repaired algorithm. The columns are the editions:
// 2.6, 4.15, 5.14, 6.5, 6.9, documented.
func (e Edition) Settings(preemption bool) Settings {
	quiesce := [Editions]kapi.Flavour{kapi.QuiesceNone, kapi.QuiesceSched, kapi.QuiesceRCU, kapi.QuiesceRCU, kapi.QuiesceRCU, kapi.QuiesceRCU}
	optprobes := e != Edition26
	if preemption {
		quiesce = [Editions]kapi.Flavour{kapi.QuiesceNone, kapi.QuiesceTasks, kapi.QuiesceTasks, kapi.QuiesceTasks, kapi.QuiesceTasks, kapi.QuiesceRCU}
		optprobes = optprobes && e != EditionDocumented
	}
	return Settings{
		Kernel:        rules.Kernel{Edition: e.Rules(), Preemption: preemption, Optprobes: optprobes, Ftrace: e != Edition26},
		AnyByte:       e == Edition26,
		Step:          [Editions]Step{StepDebug, StepDebug, StepInt3, StepInt3, StepInt3, StepInt3}[e],
		Boost:         [Editions]Boost{BoostNever, BoostStepped, BoostPrepare, BoostPrepare, BoostPrepare, BoostPrepare}[e],
		Return:        [Editions]ReturnGeneration{ReturnGlobal, ReturnHashed, ReturnFreelist, ReturnRethook, ReturnObjpool, ReturnRethook}[e],
		MaxactiveAll:  e >= Edition65,
		DataMax:       [Editions]int{0, 0, 0, 4096, 4096, 4096}[e], // KRETPROBE_MAX_DATA_SIZE
		Unwind:        e >= Edition65,
		FaultHandlers: e <= Edition415,
		Jprobes:       e == Edition26,
		Batches:       e != Edition26,
		Quiesce:       quiesce[e],
		Order:         [Editions]Order{OrderStep, OrderModule, OrderText, OrderText, OrderText, OrderText}[e],
		Batch:         [Editions]int{EditionDocumented: MostOptimized}[e],
		Breakpoint:    e >= Edition514 && e != EditionDocumented,
		SaveSS:        e >= Edition514,
		RemovedInt3:   e != Edition69,
		FtraceClaims:  e == Edition415,
		ModuleRefs:    e == Edition26,
		Files:         [Editions]Files{FilesFirst, FilesPlain, FilesChar, FilesBool, FilesBool, FilesBool}[e],
	}
}
