package linuxev

import (
	"fmt"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Events of a kernel's own engine. The engine in Go also reports Remains to monitors.
const (
	Warn = traces.EngineBlock + 32 + iota
	Heap
	Uneven
	Remains
)

// Call is reported only to viewers of a run. It enters no trace and no digest.
const Call = traces.EngineBlock + 48

// The kinds of misuse of memory.
const (
	UseAfterFree = 1 + iota // an access to memory that was given back
	OutOfBounds             // an access past the end
	DoubleFree              // memory is given back twice
	BadFree                 // the memory given back was never handed out
	Leak                    // memory is never given back
	User                    // an access to an address of user space
)

// The state that a function must leave as it found it, and that is zero when no work is left.
const (
	Preemption   = 1 + iota // the preemption count, including the bits for contexts
	Interrupts              // whether interrupts are on
	CurrentProbe            // the probe whose handlers the CPU runs
	UnusedPoint             // n: the address of a point that stands for no probe
	Slots                   // n slots are in use, and m points have one
	Traced                  // n: the address of a site that has no point, but from which ftrace calls kprobes
	InFlight                // n: an instance that is in task m's list of calls in flight
	Sections                // the number of RCU sections that the task is in
)

var misuse = [...]string{UseAfterFree: "use after free", OutOfBounds: "out of bounds", DoubleFree: "double free",
	BadFree: "bad free", Leak: "leak", User: "user access"}

// Misuse returns the name of a kind of misuse of memory.
func Misuse(what uint64) string {
	if what == 0 || what >= uint64(len(misuse)) {
		return "misuse"
	}
	return misuse[what]
}

// OwnerBug is the owner of a trap on the ud2 of a BUG or WARN, as in smpev.Claim.
const OwnerBug = 6

func init() { smpev.Owners.Define(OwnerBug, "WARN or BUG") }

// Arguments of several kinds.
var (
	at   = traces.Address.Named("at")
	what = traces.Number.Named("what")
)

type args = []traces.Arg

var _ = traces.Define(
	traces.Spec{Kind: Warn, Name: "Warn", Args: args{traces.Code.Named("ip"), traces.Number.Named("line")},
		Doc:  "the kernel's WARN at ip",
		Says: "the kernel warns at {ip}{line||: the check in line {line} of its source fails}"},
	traces.Spec{Kind: Heap, Name: "Heap", Args: args{what, at, traces.Size.Named("size")},
		Doc: "memory is misused: accessed after it was freed (what 1) or past its end (2), freed twice (3), " +
			"freed though it wasn't allocated (4), never freed (5); or user space is accessed (6)",
		Text: heap},
	traces.Spec{Kind: Uneven, Name: "Uneven", Args: args{what, traces.Value.Named("was"), traces.Value.Named("is")},
		Doc: "a function has left a CPU in another state than it found; what counts from Preemption in " +
			"linux/linuxev",
		Text: uneven},
	traces.Spec{Kind: Remains, Name: "Remains", Args: args{what, traces.Value.Named("n"), traces.Value.Named("m")},
		Monitors: true, Doc: "no work is left, but this is; what counts from Preemption in linux/linuxev"},
	traces.Spec{Kind: Call, Name: "Call", Monitors: true,
		Args: args{traces.Number.Named("gate"), traces.Value.Named("sp"), traces.Value.Named("argument")},
		Doc:  "the engine calls a function implemented in Go; sp is where it returns to"},
)

// heap describes which memory is misused, and how.
func heap(e *traces.Event, n traces.Names) string {
	at, size := n.Symbol(e.B), ""
	memory := "memory at " + at
	if e.C != 0 {
		size = ", allocated with " + traces.Counted(e.C, "byte")
		memory += size + ","
	}
	switch e.A {
	case UseAfterFree:
		return "access to freed memory at " + at + size
	case OutOfBounds:
		return "access past the end of memory at " + at + size
	case DoubleFree:
		return memory + " is freed a second time"
	case BadFree:
		return memory + " is freed, and isn't the beginning of an allocation"
	case User:
		return "access to user space at " + at + " by the kernel's code"
	}
	return "misuse of memory at " + at + size
}

// uneven describes the state that a function didn't restore.
func uneven(e *traces.Event, _ traces.Names) string {
	switch e.A {
	case Preemption:
		return fmt.Sprintf("a function returns with preempt_count %#x, which was %#x", e.C, e.B)
	case Interrupts:
		if e.C != 0 {
			return "a function returns with interrupts on, which were off"
		}
		return "a function returns with interrupts off, which were on"
	case Sections:
		return fmt.Sprintf("a function returns in %s, and began in %d", traces.Counted(e.C, "RCU section"), e.B)
	}
	return fmt.Sprintf("a function returns with current_kprobe %#x, which was %#x", e.C, e.B)
}
