package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// einval is the errno for an operation on a probe in the wrong state (spec 6.1, 6.6).
const einval = 22

// Answers is property E1: the API's answers agree with its effects.
//
// Based on: the API calls against each other; Fits, the scenario's statement about a place; the kernel's lines
// against the writes of kprobes/enabled and of the sysctl (spec 7.2, 7.3).
var Answers = Property{
	ID:   "E1",
	Name: "answers",
	Says: "Registering a registered probe, and unregistering, enabling or disabling an unregistered one, is " +
		"refused; unregistering or disabling a registered one succeeds, and registering an unregistered one is " +
		"answered as its place requires. A refusal because of a probe's state is EINVAL. Writing kprobes/enabled " +
		"or the sysctl prints the change, and nothing if there is none; probes fail to be armed only at sites of " +
		"ftrace.",
	Kinds: []traces.Kind{smpev.Image, kpev.ApiEnter, kpev.ApiReturn, kpev.Fits, kpev.Enabled, kpev.Sysctl, kpev.Printk},
	Reads: []traces.Kind{smpev.Image, kpev.ApiEnter},
	New:   func(s *Scene) Monitor { return &answers{scene: s} },
	Touches: func(t *Touched, e *traces.Event) { // an object is a probe, or a file
		const files = 1 << 32
		switch e.Kind {
		case smpev.Image:
		case kpev.Enabled:
			t.Write(files + uint64(kpev.EnabledFile))
		case kpev.Sysctl:
			t.Write(files + uint64(kpev.Optimization))
		case kpev.Printk:
			if s, _ := kpev.Line(e.A).Switched(); s != kpev.NoSwitch {
				t.Write(files + uint64(s))
				t.failures(e)
			}
		default:
			t.Write(e.B)
		}
	},
}

type answers struct {
	scene *Scene
	fits  []fit
	files [2]written // kprobes/enabled, the sysctl
}

// A fit is the answer that registering a probe must give: errno, or other, unless that is 0.
type fit struct{ probe, errno, other uint64 }

// written is what is known about a switch, and about the writes in progress.
type written struct {
	busy   int
	lone   bool // the write in progress is overlapped by none
	on     bool // the value written
	prints bool // it has printed its change
	known  bool // value is certain
	value  bool // the last value written
}

func (m *answers) Reset() { m.fits, m.files = m.fits[:0], [2]written{} }

// Event handles the return of a call for one probe, if no other call for the probe
// overlapped it.
func (m *answers) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.Fits:
		m.fits = append(m.fits, fit{e.A, e.B, e.C &^ kpev.FitsJump})
		return nil
	case kpev.Enabled:
		return m.files[0].wrote(e, "kprobes/enabled")
	case kpev.Sysctl:
		return m.files[1].wrote(e, "kprobes-optimization")
	case kpev.Printk:
		return m.printed(e)
	}
	c := &m.scene.probes.last
	if m.scene.called.place < 0 || !c.lone || e.A > kpev.Disable {
		return nil
	}
	does := kpev.Verbs.Name(e.A)
	switch {
	case c.was == regYes && e.A == kpev.Register && e.C == 0:
		return found(e, 0, "answers that register of probe %d, which is registered, has succeeded", e.B)
	case c.was == regNo && e.A != kpev.Register && e.C == 0:
		return found(e, 0, "answers that %s of probe %d, which isn't registered, has succeeded", does, e.B)
	case c.was == regNo && e.A != kpev.Register && e.C != einval:
		return found(e, 0, "answers errno %d to %s of probe %d, which isn't registered: it must be %d",
			e.C, does, e.B, einval)
	case c.was == regNo && e.A == kpev.Register:
		return m.registered(e)
	// otherwise its module may have gone
	case c.was == regYes && e.A == kpev.Register && e.C != einval && m.fit(e.B) >= 0:
		return found(e, 0, "answers errno %d to register of probe %d, which is registered: it must be %d", e.C, e.B,
			einval)
	case c.was == regYes && (e.A == kpev.Unregister || e.A == kpev.Disable) && e.C != 0:
		return found(e, 0, "answers errno %d to %s of probe %d, which is registered", e.C, does, e.B)
	}
	return nil
}

// fit returns the index of the fit of a probe's place, -1 if there is none.
func (m *answers) fit(probe uint64) int {
	return slices.IndexFunc(m.fits, func(f fit) bool { return f.probe == probe })
}

// registered judges the answer to register of a probe that isn't registered.
func (m *answers) registered(e *traces.Event) *traces.Finding {
	i := m.fit(e.B)
	switch {
	case i < 0:
		return nil
	case e.C == m.fits[i].errno || m.fits[i].other != 0 && e.C == m.fits[i].other:
		return nil
	case m.fits[i].errno == 0:
		return found(e, 0, "answers errno %d to register of probe %d, which isn't registered, and nothing "+
			"speaks against it",
			e.C, e.B)
	}
	return found(e, 0, "answers errno %d to register of probe %d, whose place must be refused with errno %d",
		e.C, e.B, m.fits[i].errno)
}

// wrote follows the writes of a file.
func (w *written) wrote(e *traces.Event, name string) *traces.Finding {
	on, done := e.A != 0, e.B != 0
	if !done {
		w.busy++
		w.lone, w.on, w.prints = w.busy == 1, on, false
		return nil
	}
	if w.busy = max(0, w.busy-1); !w.lone || w.busy > 0 {
		w.known = false
		return nil
	}
	was, known := w.value, w.known
	w.value, w.known, w.lone = on, true, false
	switch {
	case known && was != on && !w.prints:
		return found(e, 0, "says nothing when %d is written to %s, where %d was", e.A, name, 1-e.A&1)
	case known && was == on && w.prints:
		return found(e, 0, "says that something has changed when %d is written to %s, where it was already", e.A, name)
	}
	return nil
}

// printed judges a line about a switch that one task alone turns.
func (m *answers) printed(e *traces.Event) *traces.Finding {
	s, on := kpev.Line(e.A).Switched()
	if s == kpev.NoSwitch {
		return nil
	}
	w := &m.files[s-kpev.EnabledFile]
	if w.busy != 1 || !w.lone {
		return nil
	}
	w.prints = true
	if line := kpev.Line(e.A); line.Failed() {
		if n := m.scene.refusable(); e.B > n {
			const says = "prints %q, and %d of the places of probes are sites of ftrace, which alone refuses any"
			return found(e, 0, says, kpev.Text(line, e.B, e.C), n)
		}
	}
	if on != w.on {
		return found(e, 0, "prints %q while the opposite is written", kpev.Text(kpev.Line(e.A), e.B, e.C))
	}
	return nil
}

// refusable returns how many places that ftrace may refuse to arm have, or may have, a probe.
func (s *Scene) refusable() (n uint64) {
	list := s.probes.list
	for i := range list {
		p := &list[i]
		same := func(q probe) bool { return q.addr == p.addr && q.reg != regNo }
		if p.reg != regNo && s.images[:s.raw].calls(&s.proc, p.addr) && slices.IndexFunc(list, same) == i {
			n++
		}
	}
	return n
}

func (m *answers) End(bool) *traces.Finding { return nil }
