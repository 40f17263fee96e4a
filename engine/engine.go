package engine

import (
	"fmt"

	"kpsim/engine/fprobe"
	"kpsim/engine/ftrace"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// An Engine puts probes into live text. It is one run's: Renew begins the next.
// Probes are called by their numbers in Config.Probes. The words for verbs and
// handlers are kpev's: Register and the others, Pre and the others.
//
// The methods without a Context are called while nothing runs, or, Status and
// Prepare, from a routine; they have no points.
type Engine interface {
	// Renew makes the engine what its Row's New would make of c, in its own memory, so that a run allocates nothing.
	// No state of the previous run remains. c has the probes that New was given; probes added later are dropped.
	Renew(c *Config)
	// Add adds a probe in the midst of a run, and returns nothing: its number is the
	// next one.
	Add(p Probe)

	// Prepare is called before a verb of a probe: it sets up the user's data for the call. at is the probe's address
	// now; moved reports whether that isn't the requested one.
	Prepare(verb uint64, probe int) (at arch.Addr, moved bool)
	// Do executes a verb of one probe. It returns 0, or the errno, as a positive number. Context: may sleep.
	Do(x kapi.Context, verb uint64, probe int) (errno uint64)
	// DoAll registers or unregisters an array of probes, of one kind. Context: may
	// sleep.
	DoAll(x kapi.Context, verb uint64, probes []int) (errno uint64)
	// Set turns a switch; an engine that hasn't got it does nothing. Context: may
	// sleep.
	Set(x kapi.Context, s Switch, on bool)
	// Wait returns when the engine's background work is done. Context: may sleep.
	Wait(x kapi.Context)

	// Settled reports whether the engine has nothing left to do in the background.
	Settled() bool
	// Switched returns the state of a switch. An engine without it returns on.
	Switched(s Switch) bool
	// Status returns the status of a probe.
	Status(probe int) Status
	// ReadMissed reads a probe's nmissed, as a task or a handler does while others work: of a return probe, how
	// many calls found no instance. Context: any.
	ReadMissed(x kapi.Context, probe int) int
	// Trampoline returns the address that a call followed by a return probe returns to; 0: there is none.
	Trampoline() arch.Addr
	// Own returns text of the kernel's own that the engine has a probe of its own on,
	// and its symbol; nil code: none.
	Own() (name string, at arch.Addr, code []byte)
	// Files returns the engine's interface files, in the order in which they are
	// listed.
	Files() []File
	// Claim reports the engine's claims about itself to monitors, at the end of a run.
	Claim(tell func(k traces.Kind, a, b, c uint64))
	// CellName names a cell of the engine for people; "" if the cell isn't the engine's.
	CellName(id kapi.CellID) string
	// State calls add with a pointer to each struct that is part of the engine's state: a proof compares them.
	State(add func(root any))
}

// A Keeper is an Engine whose state can be kept: Renew then continues from where Keep was called.
type Keeper interface {
	Engine
	// Keep is called between two runs, when the engine is settled.
	Keep()
}

// A Holder is an Engine whose boot has allocated slots or detours.
type Holder interface {
	Engine
	// Held lists them. The list isn't changed.
	Held() []Held
}

// A Held is a slot or a detour that is allocated: where it is, its size in bytes, and what it is, as smpev.Alloc has
// them.
type Held struct {
	At         arch.Addr
	Size, What uint64
}

// A Reader is an Engine whose files tasks can read while others work (Row.Reads).
type Reader interface {
	Engine
	// ReadList calls show with each line of kprobes/list, as kpev.Listed has them. Context: may sleep.
	ReadList(x kapi.Context, show func(addr, letter, tags uint64))
	// ReadSwitch reads the file of a switch. Context: may sleep.
	ReadSwitch(x kapi.Context, s Switch) bool
}

// A Patcher is an Engine that has the kernel's other clients of text patching, too. Each
// method returns false if it lacks that one: then nothing is done.
type Patcher interface {
	Engine
	// SetLabel turns a jump label, by its number in Deps.Labels. Context: may sleep.
	SetLabel(x kapi.Context, label int, on bool) (done bool)
	// SetCall makes target the target of a static call, given by its number in Deps.Calls; 0 is nothing. Context: may
	// sleep.
	SetCall(x kapi.Context, call int, target arch.Addr) (done bool)
	// Sites returns the writer of the text of Deps.Sites; nil: the engine has none.
	Sites() ftrace.Writer
	// Fprobes returns who has Deps.Fprobes; nil: the engine has none.
	Fprobes() fprobe.Owner
	// Clients returns the kernel's own ftrace, where that has the clients of Deps.Sites; nil: Deps.Sites has them.
	Clients() ftrace.Core
	// Poke writes an instruction over another one that CPUs may execute. Context: may sleep; text_mutex held.
	Poke(x kapi.Context, at arch.Addr, insn []byte) (done bool)
}

// A Config is what an engine is made from.
type Config struct {
	Deps     Deps
	Settings any     // of the engine's own type, nil if it has none
	Booted   any     // the result of the Row's Boot
	Probes   []Probe // not registered yet
	Handle   Handler
	Audit    bool // monitors listen: Deps.Tell may be called
	_        struct{}
}

// A Handler runs the handler of a probe that was hit. It returns 0, or 1 if it has changed where control continues.
// Context: the engine's.
type Handler func(x kapi.Context, h Hit) int

// A Hit is one call of a handler.
type Hit struct {
	Probe   int
	Which   uint64    // kpev.Pre or another
	At      arch.Addr // the probe's address
	Regs    *arch.Regs
	Ret     arch.Addr // at a return: the return address
	Private []byte    // for a return probe: the data of this call
}

// A Kind is the kind of a probe, as in kpev.Kind.
type Kind uint8

// The kinds.
const (
	Kprobe    Kind = iota // at an instruction
	Kretprobe             // at a function's entry and its returns
	Jprobe                // at a function's entry, with its arguments
)

// KindWords are the names of the kinds.
var KindWords = []string{"kprobe", "kretprobe", "jprobe"}

func (k Kind) String() string {
	if int(k) < len(KindWords) {
		return KindWords[k]
	}
	return fmt.Sprintf("%d?", uint8(k))
}

// A Probe is what its user registers, as plain data.
type Probe struct {
	Kind     Kind
	Symbol   string    // "": Addr is used
	Offset   int       // from Symbol
	Addr     arch.Addr // including the offset, if there is no Symbol; 0: not known
	Disabled bool      // it is registered disabled

	// Which handlers it has: 1<<kpev.Pre and so on.
	Handlers uint64

	Maxactive int       // for a Kretprobe; 0 or less: the default
	DataSize  int       // for a Kretprobe: bytes of private data for each call
	Entry     arch.Addr // for a Jprobe: the function that is called; 0: a handler
}

// A Status is the state of a probe.
type Status struct {
	Addr       arch.Addr // its address, as far as the engine knows
	Registered bool
	Disabled   bool
	Missed     int // hits that ran no handler, since one was running
	NoInstance int // calls that a Kretprobe had no instance for
}

// A Switch is a global one.
type Switch uint8

// The switches.
const (
	Optimization Switch = iota // the sysctl debug.kprobes-optimization
	Armed                      // the file enabled
)

// A File is an interface file.
type File struct {
	Dir, Name string
	Mode      string // as ls prints it
	Read      func() string

	// Write writes to the file, and returns the kernel's answer; nil: it is read only. Parse returns the meaning of a
	// text for Switch; ok is false if it has none.
	Write  func(x kapi.Context, text string) error
	Parse  func(text string) (on, ok bool)
	Switch Switch
}

// Path returns the whole name.
func (f *File) Path() string { return f.Dir + "/" + f.Name }
