package properties

import (
	"kpsim/linux/linuxev"
	"kpsim/traces"
)

// NoLeak is property H2: what kmemleak finds.
//
// Based on: Heap. An engine emits a leak when a run has ended, for memory that it can't free any more.
var NoLeak = Property{
	ID:    "H2",
	Name:  "no-leak",
	Says:  "Memory allocated for a probe is freed after the probe was unregistered.",
	Kinds: []traces.Kind{linuxev.Heap},
	New:   func(*Scene) Monitor { return new(noLeak) },
	Alone: true, // leaks are no CPU's
}

// noLeak remembers the first leak: the engine reports it after the last step.
type noLeak struct{ at, size uint64 }

func (m *noLeak) Reset() { *m = noLeak{} }

func (m *noLeak) Event(e *traces.Event) *traces.Finding {
	if e.A == linuxev.Leak && m.size == 0 {
		m.at, m.size = e.B, e.C
	}
	return nil
}

func (m *noLeak) End(bool) *traces.Finding {
	if m.size == 0 {
		return nil
	}
	return atEnd(m.at, "%d bytes at %#x were never freed", m.size, m.at)
}
