// Package cycles says what each event of the machine costs, in cycles of the
// CPU it happens on.
//
// What it is not: it doesn't know how events come about, and no searching
// strategy reads a clock.
//
// Its rule: a figure is the sum of what happened, never a formula beside it.
//
// Its limits: the nominal profile's numbers are assumed: only their order of
// magnitude is meant. Those of real machines, and where they are from, are in
// internal/eval/overhead. Of what caches hold only the lines of shared cells, run queues
// and watched text are followed, for a machine that has been told costs: a cell has
// one to itself, all CPUs are equally far from each other, and words of memory that
// guest text shares have none.
package cycles

import "kpsim/smp/kapi"

// An Event is something that takes a CPU time: what the machine does, then what
// the Go code of kernel routines does.
type Event uint8

// The machine's events.
const (
	Instruction Event = iota // of text: of functions, copies, detours and stubs
	Breakpoint               // #BP is delivered
	Debug                    // #DB is delivered
	Trap                     // any other exception or interrupt is
	Iret                     // the CPU comes back from either
	Switch                   // of tasks
	SyncCore                 // a serialising instruction
	SendIPI
	Point // a shared cell is accessed
	Line  // a line comes from another CPU's cache, or is taken out of others' to be stored to
	machineEvents
)

// Events is how many sorts there is room for: not all kinds of work are defined.
const Events = machineEvents + Event(kapi.WorkKinds)

// All returns the sorts that there are, in order.
func All() (list []Event) {
	for e := range Events {
		if e.String() != "" {
			list = append(list, e)
		}
	}
	return list
}

// Work returns the event that is work of a kind.
func Work(k kapi.Work) Event { return machineEvents + Event(k) }

var names = [machineEvents]string{"instruction", "breakpoint", "debug", "trap", "iret", "switch", "sync_core", "send-ipi", "point", "cache-line"}

// String returns the event's name, by which profiles know it.
func (e Event) String() string {
	if e < machineEvents {
		return names[e]
	}
	return kapi.Work(e - machineEvents).String()
}

// A Cost is cycles times Unit.
type Cost uint64

// Unit is how many of a clock's units are a cycle: costs that are fitted aren't whole
// cycles.
const Unit = 256

// A Profile is what each event costs on one machine.
type Profile [Events]Cost

// A Tally is how often each event happened.
type Tally [Events]uint64

// Nominal returns a round-numbered processor of the 2010s (assumed).
func Nominal() *Profile {
	p := &Profile{
		Instruction: 1 * Unit,
		Breakpoint:  200 * Unit,
		Debug:       200 * Unit,
		Trap:        200 * Unit,
		Iret:        100 * Unit,
		Switch:      1000 * Unit,
		SyncCore:    150 * Unit,
		SendIPI:     300 * Unit,
		Point:       4 * Unit,
		Line:        100 * Unit,
	}
	for w := range kapi.Work(kapi.WorkKinds) {
		p[Work(w)] = Cost(w.Nominal()) * Unit
	}
	return p
}
