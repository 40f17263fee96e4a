package linuxev

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Events of a kernel's own engine.
const (
	Warn = traces.EngineBlock + 32 + iota // [ip, line, 0] the kernel's WARN at ip
	Heap                                  // [what, at, size] memory is misused: see UseAfterFree
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
)

var misuse = [...]string{UseAfterFree: "use after free", OutOfBounds: "out of bounds", DoubleFree: "double free", BadFree: "bad free", Leak: "leak"}

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
)
