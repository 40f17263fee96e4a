package properties

import (
	"kpsim/linux/linuxev"
	"kpsim/traces"
)

// NoRemains is property H3: an engine's tables are empty when no work is left.
//
// Based on: Remains, which an engine emits when a run has ended, and the machine for the counts of tasks.
var NoRemains = Property{
	ID:   "H3",
	Name: "no-remains",
	Says: "When all work is done each point of the table has a probe, ftrace calls from points only, as many slots " +
		"are in use as points have one, no call is in flight, and no CPU counts preempt_disable or runs a handler.",
	Kinds: []traces.Kind{linuxev.Remains},
	New:   func(s *Scene) Monitor { return &noRemains{scene: s} },
	Alone: true, // remains are no CPU's
}

// noRemains remembers the remains: the engine reports them after the last step.
type noRemains struct {
	scene *Scene
	list  []remains
}

type remains struct{ what, n, m uint64 }

func (m *noRemains) Reset() { m.list = m.list[:0] }

func (m *noRemains) Event(e *traces.Event) *traces.Finding {
	m.list = append(m.list, remains{e.A, e.B, e.C})
	return nil
}

func (m *noRemains) End(drained bool) *traces.Finding {
	if !drained {
		return nil
	}
	for i := range m.list {
		if f := m.list[i].finding(); !m.scene.excuses(f.Place) {
			return f
		}
	}
	return nil
}

func (m *remains) finding() *traces.Finding {
	switch m.what {
	case linuxev.UnusedPoint:
		return atEnd(m.n, "a point at %#x is in the table, and stands for no probe", m.n)
	case linuxev.Slots:
		return atEnd(0, "%d slots are in use, and %d points have one", m.n, m.m)
	case linuxev.Traced:
		return atEnd(m.n, "ftrace calls kprobes from %#x, where no point is", m.n)
	case linuxev.CurrentProbe:
		return atEnd(m.n, "current_kprobe is %#x", m.n)
	case linuxev.InFlight:
		return atEnd(0, "instance %d is still among the calls in flight of task%d", m.n, m.m)
	}
	return atEnd(0, "preemption is counted %#x", m.n)
}
