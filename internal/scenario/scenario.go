package scenario

import "kpsim/smp/smpev"

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

// Expect is what the author expects of all schedules together.
type Expect struct {
	Sometimes bool   // some schedule breaks Property; else none breaks any
	Property  string // the name of the property, for Sometimes
	// a mutant under which some schedule must break a property, for Never: proof that the search can see
	Canary string
}
