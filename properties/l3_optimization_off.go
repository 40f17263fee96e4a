package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// OptimizationOff is property L3: what the sysctl debug.kprobes-optimization promises
// (spec 7.3).
//
// Based on: Sysctl and the API calls against TextStore; Retire and Free, for the
// text of a module that goes.
var OptimizationOff = Property{
	ID:   "L3",
	Name: "optimization-off",
	Says: "From when a write of 0 to kprobes-optimization returns until a write of 1 begins, no registered probe " +
		"has a jump, and none is written.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.TextStore, smpev.Retire, smpev.Free, kpev.ApiEnter, kpev.ApiReturn, kpev.Sysctl,
	},
	Reads:   []traces.Kind{smpev.Load, smpev.Retire, smpev.Free, kpev.ApiEnter, kpev.ApiReturn},
	New:     func(s *Scene) Monitor { return &optimizationOff{scene: s} },
	Touches: offTouches,
}

type optimizationOff struct {
	scene *Scene
	offs  []offCall // writes of 0 in progress
	ons   int       // writes of 1 in progress
	begun int       // writes of 1 begun so far
	off   bool      // certainly
}

// An offCall is a write of 0 that hasn't returned.
type offCall struct {
	task  uint8
	alone bool // no write of 1 was in progress
	begun int
}

func (m *optimizationOff) Reset() {
	m.offs, m.ons, m.begun, m.off = m.offs[:0], 0, 0, false
}

func (m *optimizationOff) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.TextStore:
		if m.off {
			return m.stored(e)
		}
	case kpev.Sysctl:
		if m.sysctl(e); m.off && e.B == 1 {
			return m.returned(e)
		}
	}
	return nil
}

// sysctl follows the writes. If two overlap, it isn't known which came last.
func (m *optimizationOff) sysctl(e *traces.Event) {
	switch on, done := e.A != 0, e.B != 0; {
	case on && !done:
		m.off = false
		m.ons++
		m.begun++
	case on:
		m.ons--
	case !done:
		m.offs = append(m.offs, offCall{e.Task, m.ons == 0, m.begun})
	default:
		for i, c := range m.offs {
			if c.task == e.Task {
				m.offs = append(m.offs[:i], m.offs[i+1:]...)
				m.off = m.off || c.alone && c.begun == m.begun
				return
			}
		}
	}
}

// returned looks for a jump that is left after the write of 0.
func (m *optimizationOff) returned(e *traces.Event) *traces.Finding {
	for i := range m.scene.probes.list {
		if p := &m.scene.probes.list[i]; m.jumps(p) {
			return found(e, p.addr, "returns from kprobes-optimization = 0, and a jump still stands at probe %d, %#x",
				p.id, p.addr)
		}
	}
	return nil
}

// stored checks a store: is it a jump over a probe?
func (m *optimizationOff) stored(e *traces.Event) *traces.Finding {
	for i := range m.scene.probes.list {
		if p := &m.scene.probes.list[i]; p.addr-e.A < e.C && m.jumps(p) {
			return found(e, p.addr, "writes a jump at probe %d, %#x, while kprobes-optimization is 0", p.id, p.addr)
		}
	}
	return nil
}

// jumps reports whether there is a jump where a probe is certainly registered. In the
// text of a module that is about to go nothing is restored.
func (m *optimizationOff) jumps(p *probe) bool {
	if p.reg != regYes || !m.scene.text.has(p.addr) || in(m.scene.dying, p.addr) != nil {
		return false
	}
	mem, orig := m.scene.text.head(p.addr)
	return m.scene.proc.jumps(mem) && !m.scene.proc.jumps(orig)
}

func (m *optimizationOff) End(bool) *traces.Finding { return nil }

// offTouches: a store of a jump is judged by the sysctl and by the calls for the probe;
// the return of a write of 0 by all probes and their text. Nothing is left for the end.
func offTouches(t *Touched, e *traces.Event) {
	switchTouches(t, e, kpev.Sysctl, t.proc.jumps)
}

// switchTouches is the touches of a monitor that, while the switch of these writes is
// 0, looks for stores to a probe's first byte that must not happen.
func switchTouches(t *Touched, e *traces.Event, writes traces.Kind, forbidden func(w uint64) bool) {
	const file = 1 << 32 // other objects are probes
	switch e.Kind {
	case writes:
		t.Write(file)
		if e.A == 0 && e.B == 1 {
			for id, addr := range t.Addrs {
				t.Read(uint64(id))
				t.ReadText(addr, t.proc.tells)
			}
		}
	case smpev.TextStore:
		t.WriteText(e.A, e.C)
		for id, addr := range t.Addrs {
			k := addr - e.A
			if k >= e.C || t.proc.tells == 1 && !forbidden(e.B>>(8*k)) {
				continue
			}
			t.Read(file)
			t.Read(uint64(id))
			if t.proc.tells > 1 { // other stores may decide, too
				t.ReadText(addr, t.proc.tells)
			}
		}
	case smpev.Retire, smpev.Free:
		if e.C == smpev.ModuleMem {
			t.WriteText(e.A, e.B)
		}
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(e.B)
	}
}
