package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// WholeInstructions is property T1: a CPU never runs a blend of two instructions.
//
// Based on: the events of T2, and TextStore since Alloc for slots and detours.
var WholeInstructions = Property{
	ID:   "T1",
	Name: "whole-instructions",
	Says: "A CPU at a patched site runs the old instruction, the new one, or a breakpoint, and never a blend.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Image, smpev.TextStore, smpev.Exec, smpev.Alloc, smpev.Free, smpev.ByHand,
	},
	Reads:   []traces.Kind{smpev.Load, smpev.Image, smpev.TextStore, smpev.Alloc, smpev.Free, smpev.ByHand},
	New:     func(s *Scene) Monitor { return &wholeInstructions{s} },
	Touches: wholeTouches,
}

type wholeInstructions struct{ scene *Scene }

func (m *wholeInstructions) Reset() {}

func (m *wholeInstructions) End(bool) *traces.Finding { return nil }

// Event handles an Exec.
func (m *wholeInstructions) Event(e *traces.Event) *traces.Finding {
	text := &m.scene.text
	b := text.find(e.A)
	if b == nil || !b.has(e.A) {
		return m.outside(e)
	}
	old := text.insn(b, e.A)
	if old != nil && old.lo == e.B && old.hi == e.C {
		return nil
	}
	if m.scene.proc.isBreakpoint(e.B, e.C>>56) {
		return nil
	}
	// A CPU that hasn't serialised may run an image that has since been replaced.
	if m.scene.images.has(&m.scene.proc, e) {
		return nil
	}
	if old == nil {
		return found(e, e.A, "runs %s at %#x: bytes blend two instructions; none was linked or installed there",
			hex(e.B, e.C), e.A)
	}
	return found(e, e.A, "runs %s at %#x: bytes blend two instructions; linked there: %s",
		hex(e.B, e.C), e.A, hex(old.lo, old.hi))
}

// outside checks an instruction in a slot or a detour against the bytes that were
// stored there since the memory was allocated.
func (m *wholeInstructions) outside(e *traces.Event) *traces.Finding {
	text, n := &m.scene.text, e.C>>56
	if text.agrees(e) || m.code(e) {
		return nil
	}
	lo, _ := text.word(e.A)
	hi, _ := text.word(e.A + 8)
	return found(e, e.A, "runs %s at %#x: bytes blend two instructions; memory holds %s",
		hex(e.B, e.C), e.A, hex(lo, hi&mask(7)|n<<56))
}

// code reports whether an instruction in memory for code is a breakpoint, which fills what was mapped, or one that a
// task has stored there by hand, or one of an image that was patched. Slots and detours are never patched.
func (m *wholeInstructions) code(e *traces.Event) bool {
	s := in(m.scene.handed, e.A)
	return s != nil && (s.what == smpev.CodeMem || s.what == smpev.BpfMem) &&
		(m.scene.proc.isBreakpoint(e.B, e.C>>56) || m.scene.images.has(&m.scene.proc, e))
}

// wholeTouches: an Exec is judged by its bytes: what is known about them, and the
// images that begin there. Nothing is left for the end.
func wholeTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case smpev.Exec:
		t.ReadText(e.A, e.C>>56)
	case smpev.TextStore:
		t.WriteText(e.A, e.C)
	case smpev.Image:
		t.WriteText(e.A, e.C>>56)
	case smpev.Alloc, smpev.Free:
		t.WriteText(e.A, e.B)
	}
}
