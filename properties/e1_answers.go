package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/traces"
)

// Answers is property E1: the API's answers agree with what it has done.
//
// Based on: the API calls against each other.
var Answers = Property{
	ID:    "E1",
	Name:  "answers",
	Says:  "Registering a probe that is registered, and unregistering, enabling or disabling one that isn't, is refused; unregistering or disabling one that is succeeds, and so does registering one that isn't where nothing speaks against it.",
	Kinds: []traces.Kind{kpev.ApiEnter, kpev.ApiReturn, kpev.Fits},
	Reads: []traces.Kind{kpev.ApiEnter},
	New:   func(s *Scene) Monitor { return &answers{scene: s} },
	Touches: func(t *Touched, e *traces.Event) { // an object is a probe
		t.Write(e.B)
	},
}

type answers struct {
	scene *Scene
	fits  []uint64 // the probes that nothing speaks against
}

func (m *answers) Reset() { m.fits = m.fits[:0] }

var apiWords = [...]string{kpev.Register: "register", kpev.Unregister: "unregister", kpev.Enable: "enable", kpev.Disable: "disable"}

// Event handles the return of a call for one probe, if no other call for the probe
// overlapped it.
func (m *answers) Event(e *traces.Event) *traces.Finding {
	if e.Kind == kpev.Fits {
		m.fits = append(m.fits, e.A)
		return nil
	}
	c := &m.scene.probes.last
	if m.scene.called.place < 0 || !c.lone || e.A >= uint64(len(apiWords)) {
		return nil
	}
	does := apiWords[e.A]
	switch {
	case c.was == regYes && e.A == kpev.Register && e.C == 0:
		return found(e, 0, "answers that register of probe %d, which is registered, has succeeded", e.B)
	case c.was == regNo && e.A != kpev.Register && e.C == 0:
		return found(e, 0, "answers that %s of probe %d, which isn't registered, has succeeded", does, e.B)
	case c.was == regNo && e.A == kpev.Register && e.C != 0 && slices.Contains(m.fits, e.B):
		return found(e, 0, "answers errno %d to register of probe %d, which isn't registered, and nothing speaks against it", e.C, e.B)
	case c.was == regYes && (e.A == kpev.Unregister || e.A == kpev.Disable) && e.C != 0:
		return found(e, 0, "answers errno %d to %s of probe %d, which is registered", e.C, does, e.B)
	}
	return nil
}

func (m *answers) End(bool) *traces.Finding { return nil }
