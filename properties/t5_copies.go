package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Copies is property T5: the rules about a copy (spec 1.3, 4.2). It judges when a CPU is sent there, before it can
// run a wrong copy.
//
// Based on: Return from a breakpoint, Load, and what TextStore left in slots and detours.
var Copies = Property{
	ID:   "T5",
	Name: "copies",
	Says: "A CPU that is sent from a breakpoint to a slot or a detour finds a copy of the instruction linked at " +
		"the breakpoint, identical except for operands relative to its address; a detour has copies of all " +
		"instructions under the jump, and then a jump to the next one.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Image, smpev.TextStore, smpev.Alloc, smpev.Free, smpev.Trap, smpev.Claim, smpev.Return,
	},
	Reads:   []traces.Kind{smpev.Load, smpev.Image, smpev.TextStore, smpev.Alloc, smpev.Free, smpev.Trap, smpev.Claim},
	New:     func(s *Scene) Monitor { return &copies{scene: s, known: make(map[[2]uint64]bool)} },
	Touches: copyTouches,
}

type copies struct {
	scene *Scene
	known map[[2]uint64]bool `state:"skip: what follows from bytes"` // by instruction: whether it is relative
}

func (m *copies) Reset()                   {}
func (m *copies) End(bool) *traces.Finding { return nil }

// Event handles a Return.
func (m *copies) Event(e *traces.Event) *traces.Finding {
	s := m.scene
	f := s.popped
	if e.A != smpev.VecBP || f == nil || f.owner != kpev.OwnerKprobe {
		return nil
	}
	memory := in(s.handed, e.B)
	if memory == nil || memory.what != kpev.SlotMem && memory.what != kpev.DetourMem {
		return nil
	}
	at := s.proc.brokeAt(f.ip) // the breakpoint's address
	for i := range s.images[:s.raw] {
		if s.images[i].addr == at {
			return nil // others patch there, too: the copy need not equal the linked bytes
		}
	}
	for d := uint64(0); ; {
		x := s.text.insnAt(at + d)
		if x.len() == 0 {
			return nil
		}
		if !m.same(&x, e.B+d) && !m.replaced(&x, e.B+d) {
			return found(e, at, "is sent from the breakpoint at %#x to a copy at %#x, which holds %s; linked there: %s",
				at+d, e.B+d, m.bytes(e.B+d, x.len()), hex(x.lo, x.hi))
		}
		if d += x.len(); memory.what != kpev.DetourMem {
			return nil
		}
		if d >= s.proc.jumpLen() {
			return m.goesOn(e, at+d, e.B+d)
		}
	}
}

// same reports whether the memory at to holds a linked instruction, relocated. Four adjacent
// bytes may differ, by the distance of the two addresses.
func (m *copies) same(x *insn, to uint64) bool {
	n := x.len()
	first, last := n, uint64(0) // that differ
	for k := range n {
		if b, known := m.byteAt(to + k); known && b != x.at(k) {
			first, last = min(first, k), k
		}
	}
	if first > last {
		// branches may be copied as they are, and put right when they have been stepped
		return x.addr == to || !m.relative(x)
	}
	for k := uint64(max(int(last)-3, 1)); k <= first && k+4 <= n; k++ {
		var was, is uint32
		known := true
		for i := range uint64(4) {
			b, ok := m.byteAt(to + k + i)
			known = known && ok
			was, is = was|uint32(x.at(k+i))<<(8*i), is|uint32(b)<<(8*i)
		}
		if !known || is-was == uint32(x.addr-to) {
			return true
		}
	}
	return false
}

// replaced is same for the instructions that patchers put in place of a linked one. One of another length may have
// taken the place of several: no copy can be told from its own.
func (m *copies) replaced(x *insn, to uint64) bool {
	for i := range m.scene.images[:m.scene.raw] {
		y := &m.scene.images[i]
		if y.addr-x.addr < x.len() && (y.addr != x.addr || y.len() != x.len() || m.same(y, to)) {
			return true
		}
	}
	return false
}

// relative reports whether a linked instruction has a memory operand relative to its
// address.
func (m *copies) relative(x *insn) bool {
	is, known := m.known[[2]uint64{x.lo, x.hi}]
	if known {
		return is
	}
	var b []byte
	for k := range x.len() {
		b = append(b, x.at(k))
	}
	if in, err := m.scene.proc.Decode(b, arch.Addr(x.addr)); err == nil {
		_, _, is = in.IPRelative()
	}
	m.known[[2]uint64{x.lo, x.hi}] = is
	return is
}

// goesOn judges the bytes after the copy in a detour.
func (m *copies) goesOn(e *traces.Event, to, at uint64) *traces.Finding {
	lo, known := m.scene.text.word(at)
	n := m.scene.proc.jumpLen()
	if want := m.scene.proc.jumpTo(at, to); (lo^want)&known&mask(n) != 0 {
		return found(e, to, "is sent to a detour that goes on with %s at %#x; right is %s, a jump to %#x",
			hex(lo, n<<56), at, hex(want, n<<56), to)
	}
	return nil
}

// byteAt returns a byte of memory, and whether it is known.
func (m *copies) byteAt(a uint64) (b byte, ok bool) {
	mem, known := m.scene.text.word(a)
	return byte(mem), byte(known) != 0
}

// bytes returns n bytes of memory in words.
func (m *copies) bytes(a, n uint64) string {
	lo, _ := m.scene.text.word(a)
	hi, _ := m.scene.text.word(a + 8)
	return hex(lo, hi&mask(7)|n<<56)
}

// copyTouches: a Return is judged by the memory that it goes to.
func copyTouches(t *Touched, e *traces.Event) {
	longest := 2*t.proc.jumpLen() - 1 + uint64(t.proc.MaxLen)
	switch e.Kind {
	case smpev.Return:
		if e.A == smpev.VecBP && t.isLent(e.B) {
			t.ReadText(e.B, longest)
		}
	case smpev.TextStore:
		t.WriteText(e.A, e.C)
	case smpev.Alloc, smpev.Free:
		t.WriteText(e.A, e.B)
	}
}
