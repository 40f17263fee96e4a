package scenario

import (
	"slices"
	"strings"

	"kpsim/engine"
)

// An Operation is a row: all that is known about one operation of a task except what it does,
// which package act adds. Language, printer, checks, generator, shrinker and pages are made
// from it. Op.Kind points to it: two operations are of one kind if their pointers are equal.
type Operation struct {
	Word   string    // its name in the language
	Params []Param   // the parameters between its brackets, in order
	Says   string    // its paragraph in docs/scenarios.md
	Kernel []string  // the kernel's names for it, for readers who write these; none: it exists in the language only
	Step   *StepKind // the handler step that does the same; nil: there is none

	// What a machine needs.
	Setting  string                           // the setting of an edition that provides it; "": each edition has it
	Of       func(r *engine.Row) bool         // whether an engine provides it; nil: each does
	What     string                           // its name in the error if the edition or the engine lacks it
	Switches []engine.Switch                  // the kernel's files that it writes
	Check    func(s *Scenario, op *Op) string // an error beyond its parameters, or ""
	Idle     func(s *Scenario, op *Op) string // why it changes nothing, "" if it may; nil: it always may

	Object  Object // what it is about
	Inverse string // the operation that undoes it; "": none, or itself with another value
	Traits  Traits
	Touches Touches
	Drawn   Drawn
}

// String returns the operation's name.
func (k *Operation) String() string {
	if k == nil {
		return "no operation"
	}
	return k.Word
}

// An Object is a sort of thing that operations are about. Package pairs has the states of each.
type Object string

// The constants are the sorts.
const (
	Nothing         Object = "nothing" // it is about its task
	AProbe          Object = "probe"
	AFunction       Object = "function"
	TheOptimizer    Object = "optimizer"
	TheSysctl       Object = "sysctl"
	TheFile         Object = "file enabled"
	ALabel          Object = "jump label"
	AStaticCall     Object = "static call"
	LockPrefixes    Object = "lock prefixes"
	AllAlternatives Object = "alternatives"
	AModule         Object = "module"
	TheTracer       Object = "tracer"
	TheLivepatch    Object = "client that changes paths"
	APatch          Object = "live patch"
	ADirect         Object = "direct call"
	AnFprobe        Object = "fprobe"
	ABpf            Object = "BPF program"
	ADispatcher     Object = "BPF dispatcher"
	ATailCall       Object = "BPF tail call"
	ABreakpoint     Object = "breakpoint"
	AUprobe         Object = "uprobe"
	ACPU            Object = "CPU"
	TheCPUs         Object = "hotplug lock"
	AWork           Object = "work"
	TextByHand      Object = "text by hand"
	AMemory         Object = "memory for code"
)

// Undoes reports whether an operation undoes another, on the same object.
func (k *Operation) Undoes(other *Operation) bool {
	return k.Inverse != "" && k.Inverse == other.family()
}

// Like reports whether two operations do the same to an object, one by one or in an array.
func (k *Operation) Like(other *Operation) bool { return k.family() == other.family() }

// family returns the operation's name without what says that it takes an array.
func (k *Operation) family() string { return strings.TrimSuffix(k.Word, "_all") }

// A ParamKind says what a parameter of an operation is: which values the language accepts for
// it, and which field of Op holds it. A new kind needs a row in params (check_op.go) and in
// lang's forms. A kind that names a part of the scenario is also known to edit, which leaves parts
// out.
type ParamKind uint8

// The constants are the kinds of parameter, each with its field.
const (
	ParamPart      ParamKind = iota // Target: a part of the list Of
	ParamParts                      // Targets: several
	ParamFunc                       // Target
	ParamInsn                       // Target and Offset: an instruction that a debugger can step
	ParamData                       // Target and Offset: a place in data
	ParamBytes                      // Bytes: the expected memory
	ParamFuncs                      // Target and Targets: a function, or several
	ParamIntos                      // Targets: as many others
	ParamInto                       // Targets: another function
	ParamCallee                     // Targets: a function, or none
	ParamOn                         // On
	ParamCPU                        // CPU, never the first one
	ParamDownFails                  // Fails: a step of cpu_down; may be left out
	ParamUpFails                    // Fails: a step of cpu_up; may be left out
	ParamArgs                       // Args: numbers
	ParamChanged                    // Changed; may be left out
	ParamReturns                    // Checked, Returns and Or; may be left out
	ParamBits                       // Bits; may be left out
	ParamErrno                      // Checked and Returns; may be left out
	ParamPlace                      // Target and Offset: a byte of a function
	ParamWritten                    // Form, Bytes or Targets and Into: the bytes of a write
	ParamBy                         // By: the bytes of each store; may be left out
	ParamOld                        // Old: the bytes that must stand there; may be left out
	ParamStopped                    // On: while the machine is stopped; may be left out
	ParamText                       // Bytes: those that stand at a ParamPlace
	ParamBlock                      // Targets: data, as a whole
	ParamSize                       // Size: how many bytes at a ParamPlace
	ParamStacks                     // On; may be left out
	ParamCPUs                       // CPUs; may be left out
	ParamAwaited                    // Awaited: what is waited for
	ParamGoto                       // Targets and Into: a place in a function; may be left out
	ParamRetry                      // On; may be left out
	ParamCalls                      // Calls: a function; may be left out
	ParamLinks                      // Links; may be left out
	ParamProbed                     // On: without probes the memory differs; may be left out
	ParamNop                        // At: a function; may be left out
	ParamProcess                    // Process: a number; may be left out
	ParamRecurses                   // Recurses; may be left out
	ParamLeaves                     // Leaves; may be left out
	ParamRet                        // Ret: a function; may be left out
	ParamSkips                      // Skips: processes; may be left out
	ParamRemoves                    // Removes; may be left out
	ParamCount                      // Counts: one of them, by its name in CountWords; may be left out
)

// A Param is a parameter of an operation.
type Param struct {
	Name string
	Kind ParamKind
	Of   *List // for a ParamPart and ParamParts
}

// Answers returns the parameters of an operation that answers an errno.
func Answers(p ...Param) []Param { return append(p, Param{Name: "errno", Kind: ParamErrno}) }

// Has reports whether an operation has a parameter of one of these kinds.
func (k *Operation) Has(kinds ...ParamKind) bool {
	return slices.ContainsFunc(k.Params, func(p Param) bool { return slices.Contains(kinds, p.Kind) })
}

// Takes reports whether an operation is about parts of a list.
func (k *Operation) Takes(l *List) bool {
	return slices.ContainsFunc(k.Params, func(p Param) bool { return p.Of == l })
}

// Traits are the properties of an operation that verbs check.
type Traits uint32

// The constants are the traits.
const (
	Patches    Traits = 1 << iota // it writes text, or causes it to be written
	Probes                        // a call to the engine: a run without probes leaves it out
	SetsUp                        // other tasks aren't involved: it may be done before all of them
	Serial                        // one task can do it by itself
	Stirs                         // the optimizer may have something to do afterwards
	Ordered                       // it waits for others, or they for it: a change of it leaves tasks that hang
	Waits                         // it waits for another task or for a work
	Runs                          // it runs functions of the scenario
	Around                        // it patches text that isn't a probe's
	Sited                         // it uses sites of ftrace
	Live                          // it concerns a function that is patched live
	Direct                        // it concerns a direct call of ftrace
	Modifies                      // its client of ftrace may change where calls continue, at all sites
	Works                         // it concerns a work, which the scenario expects to be done: the shrinker keeps it
	Locks                         // it writes lock prefixes
	Alternates                    // it applies alternatives
	ByHand                        // it is a step of a patcher that the scenario describes
	Halts                         // it stops CPUs, or lets them go on
	Safe                          // it passes a safepoint, or may wait for those
)

// Drawn says how the generator draws an operation for tasks that call the API.
type Drawn struct {
	Nth   int    // its position in the list that is drawn from, from 1; 0: it isn't drawn. New ones go last
	Times int    // how often the list contains it
	Or    string // the operation that is drawn instead half the time; "": none
}
