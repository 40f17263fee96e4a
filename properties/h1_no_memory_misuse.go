package properties

import (
	"kpsim/linux/linuxev"
	"kpsim/traces"
)

// NoMemoryMisuse is property H1: what KASAN finds.
//
// Based on: Heap. An engine emits it for an access that is certainly wrong.
var NoMemoryMisuse = Property{
	ID:   "H1",
	Name: "no-memory-misuse",
	Says: "No freed memory is accessed, nor user space, nor the stack of another task's returned call; no access " +
		"goes past the end of an allocation, and memory is freed once.",
	Kinds: []traces.Kind{linuxev.Heap},
	New:   func(*Scene) Monitor { return new(noMemoryMisuse) },
	Alone: true,
}

type noMemoryMisuse struct{}

func (*noMemoryMisuse) Reset() {}

func (*noMemoryMisuse) Event(e *traces.Event) *traces.Finding {
	if e.A == linuxev.Leak {
		return nil // of NoLeak
	}
	return found(e, e.B, "misuses memory at %#x (%s)", e.B, linuxev.Misuse(e.A))
}

func (*noMemoryMisuse) End(bool) *traces.Finding { return nil }
