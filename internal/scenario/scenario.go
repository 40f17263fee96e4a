package scenario

import (
	"kpsim/internal/nearest"
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
	Aliases      []Alias
	Probes       []Probe
	Labels       []Label
	Modules      []Module
	Sites        []Site
	Fprobes      []Fprobe
	Bpfs         []Bpf
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
	Bits    int      // for a call: 1 to 64 if Checked
	Or      []uint64 // for a call: results that are right as well

	// Targets are probes of one kind; or the function that is called from then on, followed by
	// pairs of another function and what is called for it.
	Targets []string

	CPU    int           // the CPU that goes offline or comes online
	Fails  smpev.CPUStep // the step of that which fails; the CPU then stays as it was
	Offset int           // from the start of the data or of the function
	Bytes  []byte        // the expected memory
	On     bool          // whether something is switched on

	Counts [3]int // how often a probe is to have been hit, by CountWords, plus 1; 0: it isn't compared

	Hand // of operations that patch text by hand
	User // of operations on uprobes
}

// CountWords are the parameters of hits, in the order of Op.Counts.
var CountWords = []string{"pre", "post", "missed"}

// A Hand is what operations take that patch text by hand.
type Hand struct {
	Form    Form    // where a write's bytes come from
	Into    int     // the offset of the place that it jumps to, in the first of Targets
	By      int     // how many bytes it stores at once; 0: as memcpy does
	Old     []byte  // what it must find there, nil: anything
	Size    int     // of a range that begins at Target and Offset
	CPUs    uint64  // a set; 0: all
	Awaited Awaited // what is waited for
	Calls   string  // the function that the handler of a breakpoint calls, "" for none
	Links   bool    // where the handler continues is called, as the instruction at the breakpoint would
}

// A User is what operations take that are about uprobes.
type User struct {
	At       string // the function whose first instruction, a nop of five bytes, has the uprobe; "" for none
	Process  int    // whose text the task runs
	Recurses int    // how often the function at the uprobe calls itself
	Leaves   int    // how many of its calls longjmp leaves
	Ret      string // the function that a return handler calls, "" for none
	Skips    uint64 // a set of processes
	Removes  bool   // the handler has the process left alone
}

// A Form says where the bytes of a write come from.
type Form uint8

// The constants are the forms.
const (
	FormBytes        Form = iota // Op.Bytes
	FormJump                     // a jump to a place
	FormCall                     // a call of it
	FormDisplacement             // the displacement of a jump or call to it, whose first byte is the one before
	FormAddress                  // its address
	FormSaved                    // what a block of data holds
)

// FormWords are the functions of the language that make them, by number.
var FormWords = []string{"", "jump_to", "call_to", "displacement", "address", "saved"}

func (f Form) String() string { return nearest.Word(FormWords, uint8(f)) }

// Awaited is what a task waits for that is about to free code.
type Awaited uint8

// The constants are what is waited for.
const (
	AwaitRCU Awaited = iota
	AwaitSched
	AwaitTasks
	AwaitTasksRude
	AwaitSafepoints
)

// AwaitedWords are their names, by number.
var AwaitedWords = []string{"rcu", "sched", "tasks", "tasks-rude", "safepoints"}

func (a Awaited) String() string { return nearest.Word(AwaitedWords, uint8(a)) }

// Expect is what the author expects of all schedules together.
type Expect struct {
	Sometimes bool   // some schedule breaks Property; else none breaks any
	Property  string // the name of the property, for Sometimes
	// a mutant under which some schedule must break a property, for Never: proof that the search can see
	Canary string
}
