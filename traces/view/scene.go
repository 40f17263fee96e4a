package view

import (
	"cmp"
	"slices"

	"kpsim/traces"
)

// A Scene is a run laid out for who goes through it step by step: what a page draws, or
// another tool is given. Steps are named by their index; -1 is before the first.
type Scene struct {
	Headline   string // the violation in one line; empty if there is none
	CPUs       int
	Steps      []Step
	Spans      []Span  // in the order in which they begin, outer ones first
	Arrows     []Arrow // in the order of where they come from
	Texts      []Patch
	Stands     []Stand
	Bands      []Band
	Deviations []Turn
	Story      []Told
	Violation  int // the step that is it, the last one if only the end shows it; -1: nothing is broken
}

// A Step is an event in words.
type Step struct {
	Event traces.Event
	Says  string
	Class string // store, trap, claim, violation, or none of these
	Depth int    // traps that are open on its task
	Clock uint64 // of its CPU, in cycles; 0 if nobody has looked
	Time  uint64 // of the run, in cycles: at least that, and later than the step before
}

// Machine is the CPU of steps that are no CPU's.
const Machine = 255

// A Span is something that lasts. It is of a CPU, and goes on behind the other task's if
// its task is switched out.
type Span struct {
	Kind     string // see the constants
	CPU      int
	Task     string
	Says     string
	From, To int // steps; To is the last one of the run if it doesn't end
	Depth    int // traps: how many are open below it
}

// The kinds of span.
const (
	SpanTask  = "task"  // a task has the CPU
	SpanTrap  = "trap"  // from an exception or interrupt to its IRET
	SpanCall  = "call"  // of the probes' API
	SpanGrace = "grace" // a grace period, of the CPU where it began
	SpanSync  = "sync"  // from the sending of IPIs until all have answered
	SpanStop  = "stop"  // stop_machine has all CPUs
	SpanLock  = "lock"  // it is held
)

// An Arrow goes from one step to another that it leads to.
type Arrow struct {
	Kind     string // ipi: to the interrupt; wake: to the switch
	From, To int
}

// A Patch is text that is written to in the run: a site, a slot or a detour.
type Patch struct {
	Name     string
	At       uint64
	Len      int  // the last one: memory may be handed out again, in another size
	Site     bool // it is linked text
	Versions []Version
	Sights   []Sight
}

// A Version is what memory holds of a patch from a step on.
type Version struct {
	Step    int
	Bytes   string // in hex, with ?? where nobody knows
	Listing string
	Gone    bool // it was given back
}

// A Sight is what the oldest fetch may see of a site on a CPU, from a step on: of each
// byte that, or a newer one.
type Sight struct {
	Step  int
	CPU   int
	Bytes string
}

// A Stand is where a task is in what is patched, from a step on.
type Stand struct {
	Step int
	Task uint8
	CPU  int     // that it has; -1: it was switched out
	At   []Place // none: it is elsewhere
}

// A Place is an instruction that a task is at, or that a trap has saved the address of.
type Place struct {
	Patch int // of Texts
	Off   int
	Ran   string // its bytes, in hex, as they were fetched; "": it isn't executed yet
	Trap  string // that is open; "": none, the task is there
}

// A Band is the state of a probed address from a step to another.
type Band struct {
	At       uint64
	Place    string
	State    string
	From, To int
}

// A Turn is a deviation.
type Turn struct {
	traces.Deviation
	Step int // the first step behind it
}

// A Told is a sentence of the story.
type Told struct {
	Step  int
	Rests []int
	Text  string
}

// Look is what was seen of a run besides its events: each list is in their order.
type Look struct {
	Clocks []uint64 // in cycles, of the CPU of each event
	Sights []Seen
	Turns  []uint32 // of each deviation: the ordinal of the event that came next
}

// A Seen is what a CPU's oldest fetch may see at an address, from behind an event on.
type Seen struct {
	Seq   uint32
	CPU   int
	At    uint64
	Bytes []byte
}

// A Site is text that was linked and is written to in the run, whole instructions.
type Site struct {
	At  uint64
	Len int
}

// Sites returns those of a run, in the order of their addresses.
func Sites(in Input) (list []Site) {
	for _, s := range newText(&in).sites {
		list = append(list, Site{s.at, int(s.end - s.at)})
	}
	slices.SortFunc(list, func(a, b Site) int { return cmp.Compare(a.At, b.At) })
	return list
}

// Lay lays a run out. look is nil if there is none.
func Lay(in Input, look *Look) *Scene {
	in.All = true
	t := newTeller(&in)
	l := &layer{t: t, Scene: &Scene{CPUs: in.CPUs, Violation: -1}, look: look, last: make(map[uint64]string)}
	l.patches()
	for _, e := range t.events() {
		l.step(e)
	}
	l.end()
	return l.Scene
}
