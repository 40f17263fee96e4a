package scenario

import (
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// A Scenario is what is run: a machine, its text, its probes, its programs, and what is
// expected of them. It is plain data. lang.Print prints it as a Starlark program that builds it
// again and needs no other file.
type Scenario struct {
	Name         string
	Says         string // one sentence: what it shows
	Needs        Needs  // what shrinking must keep of its violations
	Machine      Machine
	Texts        []Text
	Datas        []Data
	Missing      []Missing
	Probes       []Probe
	Labels       []Label
	Modules      []Module
	Sites        []Site
	Fprobes      []Fprobe
	Locked       []Site // instructions whose lock prefix is patched in and out
	Alternatives []Alternative
	Calls        []StaticCall
	Reserved     []Reserved
	Tasks        []Task
	Sources      []Source
	Expect       Expect
	_            struct{}
}

// Needs names what a violation must still pass through when it is shrunk.
type Needs uint8

// The constants are the needs.
const (
	NeedsNothing Needs = iota
	// a deviation that fires a source, delays an IPI, or takes the turn from an interrupt's handler
	NeedsInterrupt
)

// Text is one function: its bytes as linked at At.
type Text struct {
	Name    string
	At      arch.Addr
	Code    []byte
	Extable []int // offsets of instructions with an exception-table entry
}

// Data is a block of writable memory that functions refer to.
type Data struct {
	Name   string
	At     arch.Addr
	Bytes  []byte
	PerCPU bool // each CPU has a copy, found by its gs base; nothing is at At itself
	Away   bool // its pages are absent when a run begins: a task that accesses them sleeps until they are present
}

// Missing is an undefined symbol that code refers to. No memory is there. A run that calls or
// reads it is refused, with the symbol's name.
type Missing struct {
	Name string
	At   arch.Addr
	Size int
}

// ProbeKind is the kind of a probe.
type ProbeKind uint8

// The constants are the kinds of probe.
const (
	ProbeKprobe    ProbeKind = iota
	ProbeKretprobe           // Pre is its entry_handler, Post its handler
	ProbeJprobe              // Entry, or Pre without it, runs with the function's arguments
)

// Probe is a probe on a function (plus offset). Handlers are data; a nil one means no handler.
type Probe struct {
	Name      string
	Kind      ProbeKind
	Func      string // "": Symbol alone gives the place
	Offset    int
	Symbol    string // the engine gets the place by this name, which need not exist; "": by the address
	Pre       []Step
	Post      []Step
	Fault     []Step // for a kprobe
	Disabled  bool   // it is registered disabled
	Maxactive int    // for a kretprobe; 0 or less: the default
	DataSize  int    // for a kretprobe: bytes of private data per call
	Entry     string // for a jprobe: the function
}

// Label is a raw client of text_poke_bp: a 5-byte nop that flips to a jump and
// back, as a jump label does.
type Label struct {
	Name   string
	Func   string
	Offset int
	Target string // the function (plus TargetOffset) the jump goes to
	TOff   int
}

// Op is one operation of a task.
type Op struct {
	Kind    *Operation // a row of package act
	Target  string     // the name of a part: which list has it depends on the kind of parameter (ParamKind)
	Args    []uint64
	Changed bool // for a call: a handler changes the call's result on purpose, so it isn't compared

	// Checked says that the author knows the result: for a call of a function, in the low Bits
	// bits of rax; for a call of the probes' API, as a positive number.
	Checked bool
	Returns uint64
	Bits    int // for a call: 1 to 64 if Checked

	// Targets are probes of one kind; or the function that is called from then on, followed by
	// pairs of another function and what is called for it.
	Targets []string

	CPU    int           // the CPU that goes offline or comes online
	Fails  smpev.CPUStep // the step of that which fails; the CPU then stays as it was
	Offset int           // from the start of the data or of the function
	Bytes  []byte        // the expected memory
	On     bool          // whether something is switched on
}

// Task is a kernel thread bound to a CPU.
type Task struct {
	Name   string
	CPU    int
	Ops    []Op
	Repeat int // how often Ops are run, at least 1

	// Setup is how many of Ops are done before any task begins, if the engine's state can be kept:
	// a run then begins after them. Otherwise they are the task's first operations.
	Setup int

	// Background says that the task isn't repeated any more when all tasks without it have ended.
	Background bool
}

// Expect is what the author expects of all schedules together.
type Expect struct {
	Sometimes bool   // some schedule breaks Property; else none breaks any
	Property  string // the name of the property, for Sometimes
	// a mutant under which some schedule must break a property, for Never: proof that the search can see
	Canary string
}
