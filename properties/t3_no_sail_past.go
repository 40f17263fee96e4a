package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// NoSailPast is rule 1.3: a breakpoint that is armed is met.
var NoSailPast = Property{
	ID:   "T3",
	Name: "no-sail-past",
	Says: "Once register or enable has returned, and until disable or unregister begins, no CPU runs the original instruction at the probe.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Exec, kpev.ApiEnter, kpev.ApiReturn,
	},
	New:     func() Monitor { return new(noSailPast) },
	Touches: sailTouches,
}

type noSailPast struct {
	loads  loads
	probes probes
	guards []guard
}

// A guard is an address where a probe is enabled for certain, and the
// instruction that mustn't run there.
type guard struct {
	insn
	probe uint64
}

func (m *noSailPast) Reset() {
	m.guards = m.guards[:0]
	m.loads.reset()
	m.probes.reset()
}

func (m *noSailPast) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Exec:
		for i := range m.guards {
			if g := &m.guards[i]; g.addr == e.A && g.lo == e.B && g.hi == e.C {
				return found(e, e.A, "runs the original %s at %#x, though probe %d is enabled there", hex(e.B, e.C), e.A, g.probe)
			}
		}
	case smpev.Load:
		m.loads.load(e)
	default:
		m.probes.event(e)
		m.guard()
	}
	return nil
}

func (m *noSailPast) End(bool) *traces.Finding { return nil }

// guard draws up the list anew: one entry a probe, so that an address is
// guarded as long as one of its probes is enabled.
func (m *noSailPast) guard() {
	m.guards = m.guards[:0]
	for i := range m.probes.list {
		p := &m.probes.list[i]
		if x := m.loads.at(p.addr); p.sure && x.hi != 0 {
			m.guards = append(m.guards, guard{x, p.id})
		}
	}
}

// sailTouches: an Exec is judged by the calls for the probes at its address. An
// object is a probe. Nothing is left for the end.
func sailTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case smpev.Exec:
		t.readAt(e.A)
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(e.B)
	}
}
