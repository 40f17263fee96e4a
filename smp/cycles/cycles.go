package cycles

import "kpsim/smp/kapi"

// An Event takes a CPU time: first the machine's events, then those of the Go code of
// kernel routines.
type Event uint8

// The machine's events.
const (
	Instruction Event = iota // of text: of functions, copies, detours and stubs
	Breakpoint               // #BP is delivered
	Debug                    // #DB is delivered
	Trap                     // any other exception or interrupt is delivered
	Iret                     // the CPU returns from either
	Switch                   // of tasks
	SyncCore                 // a serialising instruction
	SendIPI
	Point // a shared cell is accessed
	Line  // a line is fetched from another CPU's cache, or removed from others' for a store
	machineEvents
)

// Events is the number of possible sorts; not all kinds of work are defined.
const Events = machineEvents + Event(kapi.WorkKinds)

// All returns the defined sorts, in order.
func All() (list []Event) {
	for e := range Events {
		if e.String() != "" {
			list = append(list, e)
		}
	}
	return list
}

// Work returns the event of a kind of work.
func Work(k kapi.Work) Event { return machineEvents + Event(k) }

var names = [machineEvents]string{"instruction", "breakpoint", "debug", "trap", "iret", "switch", "sync_core",
	"send-ipi", "point", "cache-line"}

// String returns the event's name in profiles.
func (e Event) String() string {
	if e < machineEvents {
		return names[e]
	}
	return kapi.Work(e - machineEvents).String()
}

// A Cost is in cycles times Unit.
type Cost uint64

// Unit is how many of a clock's units make a cycle: fitted costs aren't whole cycles.
const Unit = 256

// A Profile has the cost of each event on one machine.
type Profile [Events]Cost

// A Tally counts each event.
type Tally [Events]uint64

// Nominal returns a processor of the 2010s in round numbers (assumed).
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
