package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// ReturnPairs is property R1: what the author of an entry_handler and a handler relies
// on.
//
// Based on: RetEntry, RetLeft and RetReturn, Hooked without an entry_handler,
// Trampoline for where a call goes.
var ReturnPairs = Property{
	ID:   "R1",
	Name: "return-pairs",
	Says: "A return probe's handler runs once for each call that its entry_handler has accepted, where that call " +
		"returns, and gets the address that it returns to.",
	Kinds: []traces.Kind{
		smpev.CallEnd, smpev.Exit, kpev.ApiEnter, kpev.ApiReturn, kpev.Kind, kpev.NoPre,
		kpev.RetEntry, kpev.RetLeft, kpev.RetReturn, kpev.Hooked, kpev.Trampoline, kpev.Returner,
	},
	Reads:   []traces.Kind{kpev.ApiEnter, kpev.ApiReturn, kpev.Kind},
	New:     func(s *Scene) Monitor { return &returnPairs{scene: s} },
	Touches: pairTouches,
}

// returnPairs follows the calls that return probes follow, by the place of their return
// address. An entry_handler sees the return address before the engine puts the
// trampoline there. For a probe without one the engine reports the address when it does
// so (Hooked), and the report is checked twice: against what the handler gets, and
// against where the trampoline goes.
type returnPairs struct {
	scene      *Scene
	open       []openCall
	silent     []uint64 // the probes without a handler
	trampoline uint64   // its address
}

type openCall struct {
	task            uint8
	probe, sp, addr uint64
	moves           uint32 // of the probe's registration, when it began
	hooked          bool   // the engine has reported that the trampoline is in its place
	addrSeen        bool   // a handler got addr
}

func (m *returnPairs) Reset() { m.open, m.silent, m.trampoline = m.open[:0], m.silent[:0], 0 }

func (m *returnPairs) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.NoPre:
		m.silent = append(m.silent, e.A)
	case kpev.RetEntry:
		m.begins(e)
	case kpev.Returner:
		m.trampoline = e.A
	case kpev.Hooked:
		m.hooked(e)
	case kpev.RetLeft:
		m.take(func(c openCall) bool { return c.task == e.Task && c.probe == e.A && c.sp == e.B })
	case kpev.RetReturn:
		return m.returns(e)
	case kpev.Trampoline:
		return m.passed(e)
	case smpev.CallEnd:
		if len(*m.scene.frames.of(e.Task)) == 0 { // the remaining calls never returned
			m.take(func(c openCall) bool { return c.task == e.Task })
		}
	case smpev.Exit:
		m.take(func(c openCall) bool { return c.task == e.Task })
	}
	return nil
}

func (m *returnPairs) End(bool) *traces.Finding { return nil }

func (m *returnPairs) begins(e *traces.Event) {
	c := openCall{task: e.Task, probe: e.A, sp: e.B, addr: e.C}
	// another return probe of the function has put it there
	if o := m.at(e.Task, e.B); e.C == m.trampoline && o != nil {
		c.addr = o.addr
	}
	m.left(e.Task, e.B, c.addr)
	if i := m.scene.probes.index(e.A); i >= 0 {
		c.moves = m.scene.probes.list[i].moves
	}
	m.open = append(m.open, c)
}

// hooked handles a Hooked event: the trampoline replaces a return address.
func (m *returnPairs) hooked(e *traces.Event) {
	o := m.at(e.Task, e.B)
	if e.C == m.trampoline && o != nil { // it is there already
		return
	}
	for i := range m.open {
		if c := &m.open[i]; c.task == e.Task && c.sp == e.B && !c.hooked { // an entry_handler has seen it
			c.hooked = true
			return
		}
	}
	m.left(e.Task, e.B, e.C)
	if m.at(e.Task, e.B) == nil {
		m.open = append(m.open, openCall{task: e.Task, probe: ranAlready, sp: e.B, addr: e.C, hooked: true})
	}
}

// left removes the calls of a place that don't return to addr: another call uses it
// now, so their frames were left without a return. Where a call leaves its return address in a register the place is
// only what the stack pointer was, and a call from a function without a frame of its own has the same.
func (m *returnPairs) left(task uint8, sp, addr uint64) {
	if m.scene.proc.Pushed == 0 {
		return
	}
	m.take(func(c openCall) bool { return c.task == task && c.sp == sp && c.addr != addr })
}

// at returns the first call whose return address is at a place.
func (m *returnPairs) at(task uint8, sp uint64) *openCall {
	for i := range m.open {
		if o := &m.open[i]; o.task == task && o.sp == sp {
			return o
		}
	}
	return nil
}

func (m *returnPairs) returns(e *traces.Event) *traces.Finding {
	c := m.at(e.Task, e.B)
	entry := m.scene.probes.kind(e.A).about&aboutEntry != 0
	for i := range m.open {
		if o := &m.open[i]; o.task == e.Task && o.probe == e.A && o.sp == e.B {
			c, entry, o.probe = o, false, ranAlready // it stays for the next call at this place
			break
		}
	}
	switch {
	case entry:
		return found(e, e.C, "runs the handler of probe %d for a call that its entry_handler hasn't let pass", e.A)
	case c == nil:
		return found(e, e.C,
			"runs the handler of probe %d for a call that it doesn't follow, and tells it that this returns to %#x",
			e.A, e.C)
	case c.addr != e.C:
		return found(e, c.addr, "tells the handler of probe %d that its call returns to %#x; it returns to %#x",
			e.A, e.C, c.addr)
	}
	c.addrSeen = true
	return nil
}

// ranAlready marks a call whose handler has run, or that has none; it is no probe.
const ranAlready = ^uint64(0)

// passed handles the end of the trampoline: all handlers have run.
func (m *returnPairs) passed(e *traces.Event) (f *traces.Finding) {
	if m.at(e.Task, e.A) == nil {
		return found(e, m.trampoline, "lets a call return to %#x whose return address nothing has replaced", e.B)
	}
	for i := range m.open {
		c := &m.open[i]
		if c.task != e.Task || c.sp != e.A {
			continue
		}
		if c.addrSeen && e.B != c.addr {
			f = found(e, c.addr, "lets a call return to %#x of which a handler was told that it returns to %#x", e.B,
				c.addr)
			break
		}
		if c.probe == ranAlready || slices.Contains(m.silent, c.probe) {
			continue
		}
		if k := m.scene.probes.index(c.probe); k >= 0 {
			if p := &m.scene.probes.list[k]; p.reg == regYes && p.moves == c.moves {
				f = found(e, c.addr, "lets a call return of which probe %d's handler wasn't told", c.probe)
				break
			}
		}
	}
	m.take(func(c openCall) bool { return c.task == e.Task && c.sp == e.A })
	return f
}

// take removes calls.
func (m *returnPairs) take(which func(c openCall) bool) { m.open = slices.DeleteFunc(m.open, which) }

// pairTouches: the memory belongs to a task, except the registration of the probes. An
// object is a probe. Nothing is left for the end.
func pairTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case kpev.RetEntry:
		t.Read(e.A)
	case kpev.Trampoline:
		for id := range t.Addrs {
			t.Read(uint64(id))
		}
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(e.B)
	}
}
