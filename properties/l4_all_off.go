package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// AllOff is property L4: what the file enabled promises (spec 7.2).
//
// Based on: Enabled and the API calls against TextStore; Retire and Free, for the
// text of a module that goes.
var AllOff = Property{
	ID:   "L4",
	Name: "all-off",
	Says: "From when a write of 0 to kprobes/enabled returns until a write of 1 begins, no registered probe has a " +
		"breakpoint or a jump, and none is written.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Image, smpev.TextStore, smpev.Retire, smpev.Free, kpev.ApiEnter, kpev.ApiReturn, kpev.Enabled,
	},
	Reads:   []traces.Kind{smpev.Load, smpev.Image, smpev.Retire, smpev.Free, kpev.ApiEnter, kpev.ApiReturn},
	New:     func(s *Scene) Monitor { return &allOff{scene: s} },
	Touches: allOffTouches,
}

type allOff struct {
	scene *Scene
	under int   // writes in progress
	task  uint8 // the task of the only write
	alone bool  // it is a write of 0 that no other has overlapped
	off   bool  // certainly
}

func (m *allOff) Reset() { m.under, m.alone, m.off = 0, false, false }

func (m *allOff) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.TextStore:
		if m.off {
			return m.stored(e)
		}
	case kpev.Enabled:
		if m.enabled(e) {
			return m.returned(e)
		}
	}
	return nil
}

// enabled follows the writes, and reports whether a write of 0 that no other overlapped
// has returned. A task that writes 0 while another does returns at once.
func (m *allOff) enabled(e *traces.Event) (certain bool) {
	switch on, done := e.A != 0, e.B != 0; {
	case !done:
		m.alone, m.task = !on && m.under == 0, e.Task
		m.under++
		m.off = m.off && !on
	default:
		certain = !on && m.alone && e.Task == m.task
		m.alone = false
		m.under = max(0, m.under-1)
		m.off = m.off || certain
	}
	return certain
}

// returned looks for breakpoints and jumps that are left after the write of 0.
func (m *allOff) returned(e *traces.Event) *traces.Finding {
	for i := range m.scene.probes.list {
		if p := &m.scene.probes.list[i]; p.reg == regYes && m.stands(p.addr) && !m.scene.excuses(p.addr) {
			mem, _ := m.scene.text.head(p.addr)
			return found(e, p.addr, "returns from kprobes/enabled = 0, and %s still stands at probe %d, %#x",
				m.scene.proc.standing(mem), p.id, p.addr)
		}
	}
	return nil
}

// stored checks a store: is it a breakpoint or a jump on a probe? Where no probe is registered it is a debugger's.
func (m *allOff) stored(e *traces.Event) *traces.Finding {
	for i := range m.scene.probes.list {
		p := &m.scene.probes.list[i]
		if p.reg != regNo && p.addr-e.A < e.C && m.stands(p.addr) && !m.scene.excuses(p.addr) {
			mem, _ := m.scene.text.head(p.addr)
			return found(e, p.addr, "writes %s at probe %d, %#x, while kprobes/enabled is 0",
				m.scene.proc.standing(mem), p.id, p.addr)
		}
	}
	return nil
}

// stands reports whether there is a breakpoint or a jump at addr that belongs neither
// to the text itself nor to a raw site, which others also patch.
func (m *allOff) stands(addr uint64) bool {
	s := m.scene
	if !s.text.has(addr) || in(s.dying, addr) != nil {
		return false
	}
	for i := range s.images[:s.raw] {
		if s.images[i].addr == addr {
			return false
		}
	}
	mem, orig := s.text.head(addr)
	return s.proc.breaks(mem) && !s.proc.breaks(orig) || s.proc.jumps(mem) && !s.proc.jumps(orig)
}

func (m *allOff) End(bool) *traces.Finding { return nil }

// allOffTouches: a store to a probe's first byte is judged by the writes of the file;
// the return of a write of 0 by all probes and their text. Nothing is left for the end.
func allOffTouches(t *Touched, e *traces.Event) {
	switchTouches(t, e, kpev.Enabled, func(w uint64) bool { return t.proc.breaks(w) || t.proc.jumps(w) })
}
