package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// TextAgrees is property T4: the text agrees with the engine's own table of states
// (doc.go of kprobes), because code that acts on the state of a probe's address acts on
// the text. It judges as soon as the mutex is released, before a consequence can show.
//
// Based on: State, the engine's view of each address, against what TextStore left.
var TextAgrees = Property{
	ID:   "T4",
	Name: "text-agrees",
	Says: "Whenever kprobe_mutex is released each point is in a state that exists, and the text at its address is " +
		"that state's.",
	Kinds: []traces.Kind{smpev.Load, smpev.Image, smpev.TextStore, smpev.Retire, smpev.Free, smpev.Debugger,
		smpev.ByHand, kpev.ApiEnter, kpev.State},
	Reads: []traces.Kind{smpev.Load, smpev.Image, smpev.TextStore, smpev.Retire, smpev.Free, smpev.Debugger,
		smpev.ByHand, kpev.ApiEnter},
	New: func(s *Scene) Monitor { return &textAgrees{scene: s} },
	// The mutex orders the reports about an address. That leaves the text there, and
	// within reach.
	Touches: func(t *Touched, e *traces.Event) {
		switch e.Kind {
		case kpev.State:
			t.ReadText(e.A, t.proc.jumpLen())
		case smpev.TextStore:
			t.WriteText(e.A, e.C)
		case smpev.Image:
			t.WriteText(e.A, e.C>>56)
		case smpev.Debugger:
			t.WriteText(e.A, 1)
		case smpev.Retire, smpev.Free:
			if e.C == smpev.ModuleMem {
				t.WriteText(e.A, e.B)
			}
		}
	},
}

type textAgrees struct{ scene *Scene }

func (m *textAgrees) Reset()                   {}
func (m *textAgrees) End(bool) *traces.Finding { return nil }

// pointLists are the optimizer's lists. An address is on at most one of them.
const pointLists = kpev.StateOptimizing | kpev.StateUnoptimizing | kpev.StateFreeing

// Event checks first whether such a state exists, then whether the text is that of the
// state.
func (m *textAgrees) Event(e *traces.Event) *traces.Finding {
	if e.Kind != kpev.State {
		return nil
	}
	if wrong := noSuchState(e.B); wrong != "" {
		return found(e, e.A, "leaves %#x %s", e.A, wrong)
	}
	if e.B&(kpev.StateGone|kpev.StateFtrace) != 0 || !m.scene.text.has(e.A) || in(m.scene.dying, e.A) != nil ||
		m.scene.hand(e.A) {
		return nil
	}
	mem, orig := m.scene.text.head(e.A)
	proc := &m.scene.proc
	switch {
	case e.B&kpev.StateJumped != 0:
		if lo, known := m.scene.text.word(e.A); lo&known&mask(proc.jumpLen()) != proc.jumpTo(e.A, e.C)&known {
			return found(e, e.A, "leaves %#x optimized, and no jump to its detour stands there: %s", e.A,
				hex(lo, proc.jumpLen()<<56))
		}
	case e.B&kpev.StateArmed != 0:
		if !proc.breaks(mem) {
			return found(e, e.A, "leaves %#x armed, and %s stands there", e.A, proc.standing(mem))
		}
	case proc.first(mem^orig) != 0 && !m.others(e.A) && !m.scene.debugs(e.A):
		return found(e, e.A, "leaves %#x disarmed, and %s stands there", e.A, proc.standing(mem))
	}
	return nil
}

// noSuchState says why a state is impossible, "" if it isn't.
func noSuchState(s uint64) string {
	armed, jumped, marked := s&kpev.StateArmed != 0, s&kpev.StateJumped != 0, s&kpev.StateOptimized != 0
	list := s & pointLists
	switch {
	case list&(list-1) != 0:
		return "on two lists of the optimizer's"
	case s&kpev.StateGone != 0:
		switch {
		case armed || jumped || marked:
			return "armed, though its text is gone"
		case s&kpev.StateCalled != 0:
			return "in ftrace's filter, though its text is gone"
		}
	case s&kpev.StateFtrace != 0:
		if jumped || marked || list != 0 { // whether it is called as it is armed, its calls show
			return "optimized, though ftrace arms it"
		}
	case marked != jumped && list != kpev.StateOptimizing:
		return "with a mark and a text that differ in whether it is optimized"
	case list == kpev.StateOptimizing && (jumped || !marked || !armed):
		return "queued to be optimized, and is so already or can't be"
	case list == kpev.StateUnoptimizing && !jumped:
		return "queued to be unoptimized, and has no jump"
	case list == kpev.StateFreeing && jumped:
		return "queued to be freed with its jump"
	case jumped && !armed:
		return "optimized and not armed"
	}
	return ""
}

// others reports whether the bytes at addr belong to a neighbour's jump, or to an image
// of a raw site.
func (m *textAgrees) others(addr uint64) bool {
	for i := range m.scene.images {
		x := &m.scene.images[i]
		if addr-x.addr < x.len() && (i < m.scene.raw || x.addr != addr) && m.scene.text.holds(x) {
			return true
		}
	}
	return false
}
