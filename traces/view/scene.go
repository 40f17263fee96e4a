package view

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kpsim/traces"
)

// A Scene is a run laid out in steps, for a page or another tool. Steps are named by
// their index; -1 is before the first.
type Scene struct {
	Headline   string // the violation in one line; empty if there is none
	Plain      string // Headline in a sentence, for a reader who doesn't know the properties
	CPUs       int
	Steps      []Step
	Spans      []Span  // in the order in which they begin, outer ones first
	Arrows     []Arrow // in the order of their origins
	Texts      []Patch
	Symbols    []Symbol // what addresses are named by, in the order of their own
	Stands     []Stand
	Bands      []Band
	Deviations []Turn
	Deciding   []Told // what a reader needs first
	Story      []Told
	Folds      []Stretch // uneventful, in order
	Calls      []Coded   // of a kernel's own engine, in order
	Violation  int       // its step, the last one if only the end shows it; -1: nothing is broken
}

// A Step is an event as text.
type Step struct {
	Event traces.Event
	Says  string
	Class string // store, trap, claim, violation, or none of these
	Depth int    // open traps of its task
	Clock uint64 // of its CPU, in cycles; 0 if unknown
	Time  uint64 // of the run, in cycles: at least the clock, and later than the previous step
}

// Machine is the CPU of steps without a CPU.
const Machine = 255

// A Span is something with a duration. It belongs to a CPU. If its task is switched out, it
// continues through the turns of other tasks.
type Span struct {
	Kind     string // see the constants
	CPU      int
	Task     string
	Says     string
	From, To int // steps; To is the last one of the run if it doesn't end
	Depth    int // of traps: how many are open below it
}

// The kinds of span.
const (
	SpanTask  = "task"  // a task has the CPU
	SpanTrap  = "trap"  // from an exception or interrupt to its IRET
	SpanCall  = "call"  // of the probes' API
	SpanGrace = "grace" // a grace period, of the CPU where it began
	SpanSync  = "sync"  // from the sending of IPIs until all have answered
	SpanStop  = "stop"  // stop_machine has all CPUs
	SpanLock  = "lock"  // a lock is held

	SpanHeld = "held" // a CPU holds a store: other CPUs don't see it yet

	SpanInside = "inside" // a task stands inside bytes that are written to, or freed
)

// An Arrow goes from one step to another that it causes.
type Arrow struct {
	Kind     string // ipi: to the interrupt; wake: to the switch
	From, To int
}

// A Patch is text that is written to during the run: a site, a slot or a detour.
type Patch struct {
	Name     string
	At       uint64
	Len      int  // the last size: memory may be allocated again, with another size
	Site     bool // it is linked text
	Versions []Version
	Sights   []Sight
}

// A Symbol is what addresses are named by: victim, of victim+0x1.
type Symbol struct {
	Name string
	At   uint64
	Len  uint64 // in bytes; 0: not known
}

// A Version is the bytes of a patch in memory from a step on.
type Version struct {
	Step    int
	Bytes   string // in hex, with ?? where they aren't known
	Listing string
	Gone    bool // the memory was freed
}

// A Sight is the oldest version of each byte of a site that a CPU may fetch, from a step on:
// each byte has this version or a newer one.
type Sight struct {
	Step  int
	CPU   int
	Bytes string
}

// A Stand is the position of a task in patched text, from a step on.
type Stand struct {
	Step int
	Task uint8
	CPU  int     // its CPU; -1: it was switched out
	At   []Place // empty: the task isn't in patched text
}

// A Place is an instruction that a task is at, or whose address a trap has saved.
type Place struct {
	Patch int // of Texts
	Off   int
	Ran   string // its bytes as fetched, in hex; "": not executed yet
	Insn  string // those bytes disassembled, if memory holds others
	Trap  string // the open trap; "": none, the task is there
}

// A Band is the state of a probed address between two steps.
type Band struct {
	At       uint64
	Place    string
	State    string
	From, To int
}

// A Turn is a deviation.
type Turn struct {
	traces.Deviation
	Step int // the first step after it
}

// A Told is a sentence of the story.
type Told struct {
	Step  int
	Rests []int
	Text  string
	From  string // the functions of a kernel's engine that caused its event, and the line; "": none, or not known
}

// A Stretch is steps that a reader can skip: its first step and its last.
type Stretch struct{ From, To int }

// A Coded is a call made by a kernel's own engine, with the lines of C that contain it.
type Coded struct {
	Step   int // the next event
	CPU    int
	Task   string
	Says   string
	Frames []Frame
}

// Look is further data about a run that the events don't hold. Each list is in event order.
type Look struct {
	Clocks []uint64 // in cycles, of the CPU of each event
	Sights []Seen
	Turns  []uint32 // for each deviation: the ordinal of the next event
}

// A Seen is the oldest bytes at an address that a CPU may fetch after an event.
type Seen struct {
	Seq   uint32
	CPU   int
	At    uint64
	Bytes []byte
}

// A Site is linked text that is written to during the run, whole instructions.
type Site struct {
	At  uint64
	Len int
}

// Sites returns the sites of a run, in the order of their addresses.
func Sites(in Input) (list []Site) {
	for _, s := range newText(&in).sites {
		list = append(list, Site{s.at, int(s.end - s.at)})
	}
	slices.SortFunc(list, func(a, b Site) int { return cmp.Compare(a.At, b.At) })
	return list
}

// Lay lays out a run. look may be nil.
func Lay(in Input, look *Look) *Scene {
	in.All = true
	symbols := in.collectSymbols()
	t := newTeller(&in)
	l := &layer{t: t, Scene: &Scene{CPUs: in.CPUs, Violation: -1}, look: look}
	l.patches()
	for _, e := range t.events() {
		l.step(e)
	}
	l.end()
	l.insides()
	l.Folds = l.quiet()
	for _, a := range t.text.areas {
		symbols[Symbol{a.name, a.at, a.end - a.at}] = true
	}
	l.Symbols = slices.SortedFunc(maps.Keys(symbols), func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Len, b.Len))
	})
	return l.Scene
}

// collectSymbols returns what will have the symbols by which an input's addresses are named from now on.
func (in *Input) collectSymbols() map[Symbol]bool {
	found, named := make(map[Symbol]bool), in.Symbol
	if named == nil {
		return found
	}
	in.Symbol = func(addr uint64) string {
		name := named(addr)
		if i := strings.LastIndex(name, "+0x"); i > 0 {
			if off, err := strconv.ParseUint(name[i+len("+0x"):], 16, 64); err == nil {
				found[Symbol{Name: name[:i], At: addr - off}] = true
			}
		}
		return name
	}
	return found
}
