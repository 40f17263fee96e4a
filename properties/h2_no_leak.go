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
	New:   func(s *Scene) Monitor { return &noLeak{scene: s} },
	Alone: true, // leaks are no CPU's
}

// noLeak remembers the leaks: the engine reports them after the last step.
type noLeak struct {
	scene *Scene
	list  []leak
}

type leak struct{ at, size uint64 }

func (m *noLeak) Reset() { m.list = m.list[:0] }

func (m *noLeak) Event(e *traces.Event) *traces.Finding {
	if e.A == linuxev.Leak {
		m.list = append(m.list, leak{e.B, e.C})
	}
	return nil
}

func (m *noLeak) End(bool) *traces.Finding {
	for i := range m.list {
		if l := &m.list[i]; !m.scene.excuses(l.at) {
			return atEnd(l.at, "%d bytes at %#x were never freed", l.size, l.at)
		}
	}
	return nil
}
