package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// NoSailPast is property T3, rule 1.3: a CPU can't run past an armed breakpoint.
//
// Based on: Load and the API calls.
var NoSailPast = Property{
	ID:   "T3",
	Name: "no-sail-past",
	Says: "Once register or enable has returned, and until disable or unregister begins, no CPU runs the original " +
		"instruction at the probe.",
	Kinds: []traces.Kind{
		smpev.Image, smpev.Load, smpev.Exec, smpev.Retire, kpev.ApiEnter, kpev.ApiReturn, kpev.Kind, kpev.Enabled,
		kpev.Printk,
	},
	Reads: []traces.Kind{smpev.Image, smpev.Load, smpev.Retire, kpev.ApiEnter, kpev.ApiReturn, kpev.Kind, kpev.Enabled,
		kpev.Printk},
	New:     func(s *Scene) Monitor { return &noSailPast{s} },
	Touches: sailTouches,
}

type noSailPast struct{ scene *Scene }

func (m *noSailPast) Reset() {}

// Event handles an Exec. An address is guarded while one of its probes is enabled.
func (m *noSailPast) Event(e *traces.Event) *traces.Finding {
	for i := range m.scene.probes.list {
		p := &m.scene.probes.list[i]
		if p.addr != e.A || !p.sure {
			continue
		}
		if x := m.scene.text.insnAt(e.A); x.hi != 0 && x.lo == e.B && x.hi == e.C {
			return found(e, e.A, "runs the original %s at %#x, though probe %d is enabled there", hex(e.B, e.C), e.A,
				p.id)
		}
	}
	return nil
}

func (m *noSailPast) End(bool) *traces.Finding { return nil }

// sailTouches: an Exec is judged by the calls for the probes at its address. An
// object is a probe. Nothing is left for the end.
func sailTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case smpev.Exec:
		t.readAt(e.A)
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(e.B)
	case kpev.Enabled:
		t.writeAll()
		t.Write(theSwitch)
	case kpev.Printk:
		t.line(e, theSwitch)
	case smpev.Retire:
		if e.C == smpev.ModuleMem {
			t.writeAll()
		}
	}
}
