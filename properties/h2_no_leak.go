package properties

import (
	"kpsim/linux/linuxev"
	"kpsim/traces"
)

// NoLeak is property H2: what kmemleak finds.
//
// Based on: Heap. An engine emits a leak when a run has ended, for memory that nothing
// of it can free any more.
var NoLeak = Property{
	ID:      "H2",
	Name:    "no-leak",
	Says:    "What was allocated for a probe is freed after the probe was unregistered.",
	Kinds:   []traces.Kind{linuxev.Heap},
	New:     func(*Scene) Monitor { return new(noLeak) },
	Touches: nothingTouched,
}

type noLeak struct{}

func (*noLeak) Reset() {}

func (*noLeak) Event(e *traces.Event) *traces.Finding {
	if e.A != linuxev.Leak {
		return nil // of NoMemoryMisuse
	}
	return atEnd(e.B, "%d bytes at %#x were never freed", e.C, e.B)
}

func (*noLeak) End(bool) *traces.Finding { return nil }
