package linuxev

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Events of a kernel's own engine. Of Remains monitors are told by the engine in Go, too.
const (
	Warn    = traces.EngineBlock + 32 + iota // [ip, line, 0] the kernel's WARN at ip
	Heap                                     // [what, at, size] memory is misused: see UseAfterFree
	Uneven                                   // [what, was, is] a function has left a CPU otherwise than it was: see Preemption
	Remains                                  // [what, n, m] no work is left, and this is: see Preemption
)

// Call is told to those that show a run: it is in no trace and no digest.
const Call = traces.EngineBlock + 48 // [gate, sp, first argument] the engine calls what is done in Go; sp is where it returns to

// What is wrong with memory.
const (
	UseAfterFree = 1 + iota // an access to memory that was given back
	OutOfBounds             // an access past the end
	DoubleFree              // memory is given back twice
	BadFree                 // what wasn't handed out is given back
	Leak                    // it is never given back
	User                    // an access to an address of user space
)

// What a function leaves as it was, and is zero when no work is left.
const (
	Preemption   = 1 + iota // the count of preempt_disable, of the contexts among it
	Interrupts              // whether they are on
	CurrentProbe            // whose handlers the CPU runs
	UnusedPoint             // n: the address of a point that stands for no probe
	Slots                   // n are in use, and m of the points have one
	Traced                  // n: the address of a site that ftrace calls kprobes from, without a point
	InFlight                // n: an instance that is in the list of calls in flight of task m
	Sections                // of RCU that the task is in
)

var misuse = [...]string{UseAfterFree: "use after free", OutOfBounds: "out of bounds", DoubleFree: "double free", BadFree: "bad free", Leak: "leak", User: "user access"}

// Misuse returns what is wrong with memory in words.
func Misuse(what uint64) string {
	if what == 0 || what >= uint64(len(misuse)) {
		return "misuse"
	}
	return misuse[what]
}

// OwnerBug is the owner of a ud2 that is a BUG or WARN, as in smpev.Claim.
const OwnerBug = 6

func init() { smpev.Owners.Define(OwnerBug, "WARN or BUG") }

var _ = traces.Define(Call, traces.Spec{Name: "Call", Args: []string{"gate", "sp", "argument"}})

var _ = traces.Define(traces.EngineBlock+32,
	traces.Spec{Name: "Warn", Args: []string{"ip", "line"}},
	traces.Spec{Name: "Heap", Args: []string{"what", "at", "size"}},
	traces.Spec{Name: "Uneven", Args: []string{"what", "was", "is"}},
	traces.Spec{Name: "Remains", Args: []string{"what", "n", "m"}},
)
