package smpev

import "fmt"

// Words names the numbers of one sort that events carry. This package defines the
// machine's own; an engine defines its numbers in the package of its own
// vocabulary, when that is initialised, and no two may be equal.
type Words struct {
	sort  string
	names [64]string
}

// The sorts.
var (
	Whys   = &Words{sort: "reason"} // why a CPU serialises, as in Serialise
	Owners = &Words{sort: "owner"}  // the owner of a trap, as in Claim
	Memory = &Words{sort: "memory"} // what Alloc hands out

	// what a CheckCount counts; of a return probe the first two are its entry handler and its handler of returns
	Counts = NewWords("count", "runs of its pre_handler", "runs of its post_handler", "misses",
		"call in which a handler of a probe has run")

	Flavours = NewWords("flavour", "", "RCU-sched", "RCU", "RCU-tasks") // of grace period, as in GPStart
)

// NewWords returns the Words of a sort whose numbers from 0 on have these names; "" is no name.
func NewWords(sort string, names ...string) *Words {
	w := &Words{sort: sort}
	copy(w.names[:], names)
	return w
}

// Define gives n a name. It panics if n has one, or is out of range.
func (w *Words) Define(n uint64, name string) {
	if n >= uint64(len(w.names)) || w.names[n] != "" {
		panic(fmt.Sprintf("smpev: %s %d can't be %q: it is out of range or %q already", w.sort, n, name, w.Name(n)))
	}
	w.names[n] = name
}

// Name returns n's name, or the sort and n if it has none.
func (w *Words) Name(n uint64) string {
	if n < uint64(len(w.names)) && w.names[n] != "" {
		return w.names[n]
	}
	return fmt.Sprintf("%s %d", w.sort, n)
}

func init() {
	Whys.Define(0, "serialising instruction")
	Whys.Define(SyncPoke1, "text_poke_bp, breakpoint written")
	Whys.Define(SyncPoke2, "text_poke_bp, tail written")
	Whys.Define(SyncPoke3, "text_poke_bp, head written")
	Whys.Define(SyncStop, "leaving stop_machine")
	Whys.Define(SyncSelf, "own store")
	Whys.Define(SyncFlush, "memory unmapped")
	Whys.Define(SyncDebug, "debugger's breakpoint")
	Whys.Define(SyncByHand, "asked for")
	Whys.Define(SyncUprobe, "uprobe")
	Whys.Define(SyncImage, "image written")
	Whys.Define(SyncWhole, "instructions stored")
	Owners.Define(OwnerPoke, "text-poke handler")
	Owners.Define(OwnerDebugger, "debugger")
	Owners.Define(OwnerUprobe, "uprobes")
	Owners.Define(OwnerFault, "fault fix-up")
	Owners.Define(OwnerByHand, "patcher's own handler")
	Memory.Define(ModuleMem, "module's section")
	Memory.Define(CodeMem, "memory for code")
	Memory.Define(BpfMem, "image")
	Memory.Define(TrampolineMem, "trampoline")
	Memory.Define(DispatcherMem, "dispatcher-image")
}
