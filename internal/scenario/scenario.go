package scenario

import (
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// A Scenario is what is run: a machine, its text, its probes, its programs,
// and what is expected of them. It is plain data; String prints it as the
// Starlark program that builds it again, with nothing left outside.
type Scenario struct {
	Name         string
	Says         string // one sentence: what it shows
	Needs        Needs  // what its violations pass through, and shrinking keeps
	Machine      Machine
	Texts        []Text
	Datas        []Data
	Missing      []Missing
	Probes       []Probe
	Labels       []Label
	Modules      []Module
	Sites        []Site
	Fprobes      []Fprobe
	Locked       []Site // instructions with a lock prefix that comes and goes
	Alternatives []Alternative
	Calls        []StaticCall
	Reserved     []Reserved
	Tasks        []Task
	Sources      []Source
	Expect       Expect
	_            struct{}
}

// Needs names what a violation must go on passing through while it is shrunk.
type Needs uint8

// The needs.
const (
	NeedsNothing   Needs = iota
	NeedsInterrupt       // a deviation that fires a source, delays an IPI, or takes the turn from an interrupt's handler
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
	PerCPU bool // each CPU has a copy, by its base of gs, and nothing is at At itself
	Away   bool // its pages are away when a run begins: a task that accesses them sleeps until they are there
}

// Missing is an undefined symbol that code refers to. Nothing is in memory
// there: a run that calls or reads it is refused, and named.
type Missing struct {
	Name string
	At   arch.Addr
	Size int
}

// ProbeKind says what a probe is.
type ProbeKind uint8

// The kinds of probe.
const (
	ProbeKprobe    ProbeKind = iota
	ProbeKretprobe           // Pre is its entry_handler, Post its handler
	ProbeJprobe              // Entry, or else Pre, is what runs with the function's arguments
)

// Probe is a probe on a function (plus offset). Handlers are data; a nil one is
// no handler.
type Probe struct {
	Name      string
	Kind      ProbeKind
	Func      string // "": Symbol alone says where
	Offset    int
	Symbol    string // the engine gets the place by this name, which doesn't have to exist; "": by the address
	Pre       []Step
	Post      []Step
	Fault     []Step // of a kprobe
	Disabled  bool   // it is registered disabled
	Maxactive int    // of a kretprobe; 0 or less: the default
	DataSize  int    // of a kretprobe: bytes of private data of each call
	Entry     string // of a jprobe: the function
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
	Target  string     // the function, probe, label or data
	Args    []uint64
	Changed bool // of a call: a handler changes the call's result on purpose, don't compare

	// Checked says that the author knows what comes back, in a call's low Bits
	// bits of rax or, as a positive number, from a call of the probes' API.
	Checked bool
	Returns uint64
	Bits    int // of a call: 1 to 64 if Checked

	// Targets are probes of one kind; or the function that is called from then on, and then pairs of
	// another one and what is called for it.
	Targets []string

	CPU    int           // that goes or comes
	Fails  smpev.CPUStep // the step of that which fails, by which the CPU stays as it was
	Offset int           // from the start of the data or of the function
	Bytes  []byte        // what memory is to hold
	On     bool          // whether something is switched on
}

// Task is a kernel thread bound to a CPU.
type Task struct {
	Name   string
	CPU    int
	Ops    []Op
	Repeat int // how often Ops are run, at least 1

	// Setup is how many of Ops are done before any task begins, where the engine's state
	// can be kept: a run begins after them. Elsewhere they are the task's first.
	Setup int

	// Background says that it isn't repeated any more once all tasks without it
	// have ended.
	Background bool
}

// Expect is what the author expects of all schedules together.
type Expect struct {
	Sometimes bool   // some schedule breaks Property; else none breaks any
	Property  string // the name of the property, for Sometimes
	Canary    string // a mutant under which some schedule must break a property, for Never: proof that the search can see
}
