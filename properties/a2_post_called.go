package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// PostCalled is property A2: the half of rule 1.4 that a pre_handler relies on.
//
// Based on: Handler against Handler, at each CallEnd.
var PostCalled = Property{
	ID:   "A2",
	Name: "post-called",
	Says: "If a pre_handler has run and let its instruction execute, the probe's post_handler runs too, once, " +
		"before the call ends.",
	Kinds: []traces.Kind{
		smpev.Image, smpev.CallEnd, smpev.Exit, smpev.Trap, smpev.Return, kpev.ApiEnter, kpev.ApiReturn, kpev.Kind,
		kpev.Enabled, kpev.Printk, kpev.Handler,
	},
	Reads:   []traces.Kind{smpev.Image, smpev.Return, kpev.Kind, kpev.Printk},
	New:     func(s *Scene) Monitor { return &postCalled{scene: s} },
	Touches: postTouches,
}

// postCalled follows probes that have both handlers, according to the head, at addresses where no pre_handler ever
// changes the path.
type postCalled struct {
	scene *Scene
	due   []postDue
}

// A postDue is a pre_handler that has run and whose post_handler hasn't.
type postDue struct {
	task  uint8
	probe uint64
	addr  uint64
}

func (m *postCalled) Reset() { m.due = m.due[:0] }

func (m *postCalled) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.Handler:
		return m.handler(e)
	case kpev.ApiEnter, kpev.ApiReturn: // whether it is still enabled where the copy has run isn't known
		if e.A != kpev.Unregister { // unregister waits for CPUs in its handlers, or between them
			m.drop(func(d postDue) bool { return d.probe == e.B })
		}
	case kpev.Enabled:
		m.due = m.due[:0]
	case smpev.Exit:
		m.drop(func(d postDue) bool { return d.task == e.Task })
	case smpev.Trap: // a copy that faults doesn't reach its end: if the fault is fixed, the original is hit again
		if e.A == smpev.VecPF || e.A == smpev.VecGP {
			m.drop(func(d postDue) bool { return d.task == e.Task })
		}
	case smpev.CallEnd:
		if len(*m.scene.frames.of(e.Task)) > 0 {
			return nil
		}
		for i := range m.due {
			if d := &m.due[i]; d.task == e.Task {
				return found(e, d.addr,
					"ends a call, and the post_handler of probe %d at %#x, whose pre_handler ran, hasn't",
					d.probe, d.addr)
			}
		}
	}
	return nil
}

func (m *postCalled) End(bool) *traces.Finding { return nil }

func (m *postCalled) handler(e *traces.Event) *traces.Finding {
	switch e.B {
	case kpev.Pre:
		if p := m.scene.probes.index(e.A); p >= 0 && m.scene.probes.list[p].sure && m.judged(e.A, e.C) {
			m.due = append(m.due, postDue{e.Task, e.A, e.C})
		}
	case kpev.Post:
		for i := len(m.due) - 1; i >= 0; i-- {
			if d := m.due[i]; d.task == e.Task && d.probe == e.A {
				m.due = append(m.due[:i], m.due[i+1:]...)
				break
			}
		}
	case kpev.Fault: // the copy may not reach its end
		m.drop(func(d postDue) bool { return d.task == e.Task })
	}
	return nil
}

// judged reports whether a probe has both handlers, and no handler at its address
// changes the path.
func (m *postCalled) judged(id, addr uint64) bool {
	if m.scene.probes.kind(id).about&aboutPost == 0 {
		return false
	}
	for i := range m.scene.probes.list {
		if p := &m.scene.probes.list[i]; p.addr == addr && m.scene.probes.kind(p.id).about&aboutPath != 0 {
			return false
		}
	}
	return true
}

func (m *postCalled) drop(which func(d postDue) bool) { m.due = slices.DeleteFunc(m.due, which) }

// postTouches: what is due belongs to a task, until a call for the probe drops it. An
// object is a probe. Nothing is left for the end.
func postTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case kpev.Handler:
		for id := range t.Addrs { // every probe at its address counts
			t.Read(uint64(id))
		}
	case smpev.CallEnd:
		for id := range t.Addrs {
			t.Read(uint64(id))
		}
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(e.B)
	case kpev.Enabled:
		t.writeAll()
		t.Write(theSwitch)
	case kpev.Printk:
		t.line(e, theSwitch)
	}
}
