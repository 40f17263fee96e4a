package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// WholeInstructions is what patching live text must keep at every moment.
var WholeInstructions = Property{
	ID:   "T1",
	Name: "whole-instructions",
	Says: "A CPU at a patched site runs the old instruction, the new one, or a breakpoint, and never a blend.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Image, smpev.TextStore, smpev.Exec, smpev.Alloc, smpev.Free,
	},
	New:     func() Monitor { return new(wholeInstructions) },
	Touches: wholeTouches,
}

type wholeInstructions struct {
	text   text
	images images
}

func (m *wholeInstructions) Reset() {
	m.text.reset()
	m.images = m.images[:0]
}

func (m *wholeInstructions) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Exec:
		return m.exec(e)
	case smpev.TextStore:
		m.text.store(e, true)
		if e.C > 1 && e.B == 0xcccccccccccccccc&mask(e.C) && !m.text.has(e.A) {
			// Poison: the memory is being taken back, and that a CPU is still
			// in it is for no-use-after-free to say.
			m.text.forget(e.A, e.C)
		}
	case smpev.Image:
		m.images.add(e)
	case smpev.Load:
		m.text.load(e)
	case smpev.Alloc, smpev.Free:
		m.text.forget(e.A, e.B)
	}
	return nil
}

func (m *wholeInstructions) End(bool) *traces.Finding { return nil }

func (m *wholeInstructions) exec(e *traces.Event) *traces.Finding {
	b := m.text.find(e.A)
	if b == nil || !b.has(e.A) {
		return m.outside(e)
	}
	old := m.text.insn(b, e.A)
	if old != nil && old.lo == e.B && old.hi == e.C {
		return nil
	}
	if e.B == int3 && e.C == 1<<56 {
		return nil
	}
	// A CPU that hasn't serialised may run an image that is gone again.
	for i := range m.images {
		if x := &m.images[i]; x.addr == e.A && x.begins(e.B, e.C) {
			return nil
		}
	}
	if old == nil {
		return found(e, e.A, "runs %s at %#x: bytes blend two instructions; none was linked or installed there", hex(e.B, e.C), e.A)
	}
	return found(e, e.A, "runs %s at %#x: bytes blend two instructions; linked there: %s", hex(e.B, e.C), e.A, hex(old.lo, old.hi))
}

// outside checks what runs in a slot or a detour: the bytes that were stored
// there since the memory was handed out.
func (m *wholeInstructions) outside(e *traces.Event) *traces.Finding {
	n := e.C >> 56
	mem, known := m.text.word(e.A)
	bad := (mem ^ e.B) & known & mask(n)
	if bad == 0 && n > 8 {
		mem, known = m.text.word(e.A + 8)
		bad = (mem ^ e.C) & known & mask(n-8)
	}
	if bad == 0 {
		return nil
	}
	lo, _ := m.text.word(e.A)
	hi, _ := m.text.word(e.A + 8)
	return found(e, e.A, "runs %s at %#x: bytes blend two instructions; memory holds %s", hex(e.B, e.C), e.A, hex(lo, hi&mask(7)|n<<56))
}

// wholeTouches: an Exec is judged by the bytes that it is of: what is known of
// them, and the images that begin there. Nothing is left for the end.
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
