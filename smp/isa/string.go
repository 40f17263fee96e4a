package isa

// A repeat is the prefix of a string instruction.
type repeat uint8

const (
	once  repeat = iota
	rep          // f3; of cmps and scas repe
	repne        // f2, which movs, stos and lods take for rep
)

// The string instructions execute one element a step: with a repeat prefix IP
// stays until RCX is 0, so that an interrupt can come between two elements, as
// it does on the processor.

// element runs one element and says what comes next. f does the accesses and,
// only when they have succeeded, moves the pointers.
func (in *Inst) element(s *Regs, m Memory, f func(in *Inst, s *Regs, m Memory, step uint64) (ok bool)) Outcome {
	if in.rep != once && s.R[RCX] == 0 {
		s.IP = in.next
		return Next
	}
	step := uint64(in.size)
	if s.Flags&DF != 0 {
		step = -step
	}
	if !f(in, s, m, step) {
		return PageFault
	}
	if in.rep == once {
		s.IP = in.next
		return Next
	}
	s.R[RCX]--
	// Of cmps and scas, which in.cond marks, the repeat ends with ZF too.
	if s.R[RCX] == 0 || in.cond != 0 && (s.Flags&ZF != 0) != (in.rep == rep) {
		s.IP = in.next
	}
	return Next
}

func execMovs(in *Inst, s *Regs, m Memory) Outcome { return in.element(s, m, movs) }
func execStos(in *Inst, s *Regs, m Memory) Outcome { return in.element(s, m, stos) }
func execLods(in *Inst, s *Regs, m Memory) Outcome { return in.element(s, m, lods) }
func execCmps(in *Inst, s *Regs, m Memory) Outcome { return in.element(s, m, cmps) }
func execScas(in *Inst, s *Regs, m Memory) Outcome { return in.element(s, m, scas) }

func movs(in *Inst, s *Regs, m Memory, step uint64) bool {
	v, ok := m.Load(Addr(s.R[RSI]), int(in.size))
	if !ok || !m.Store(Addr(s.R[RDI]), int(in.size), v) {
		return false
	}
	s.R[RSI] += step
	s.R[RDI] += step
	return true
}

func stos(in *Inst, s *Regs, m Memory, step uint64) bool {
	if !m.Store(Addr(s.R[RDI]), int(in.size), s.R[RAX]&in.mask) {
		return false
	}
	s.R[RDI] += step
	return true
}

func lods(in *Inst, s *Regs, m Memory, step uint64) bool {
	v, ok := m.Load(Addr(s.R[RSI]), int(in.size))
	if !ok {
		return false
	}
	merge(&s.R[RAX], in.size, v)
	s.R[RSI] += step
	return true
}

func cmps(in *Inst, s *Regs, m Memory, step uint64) bool {
	a, ok := m.Load(Addr(s.R[RSI]), int(in.size))
	if !ok {
		return false
	}
	b, ok := m.Load(Addr(s.R[RDI]), int(in.size))
	if !ok {
		return false
	}
	_, s.Flags = alu(opCmp, a, b, s.Flags, in.mask, in.sign)
	s.R[RSI] += step
	s.R[RDI] += step
	return true
}

func scas(in *Inst, s *Regs, m Memory, step uint64) bool {
	b, ok := m.Load(Addr(s.R[RDI]), int(in.size))
	if !ok {
		return false
	}
	_, s.Flags = alu(opCmp, s.R[RAX]&in.mask, b, s.Flags, in.mask, in.sign)
	s.R[RDI] += step
	return true
}
