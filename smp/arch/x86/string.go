package x86

import "kpsim/smp/arch"

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
// only when they have succeeded, moves the pointers. Pointers and counter are as
// wide as addresses are.
func (in *Inst) element(s *arch.Regs, m arch.Memory,
	f func(in *Inst, s *arch.Regs, m arch.Memory, step uint64) (ok bool)) arch.Outcome {
	if in.rep != once && s.R[RCX]&in.addrMask == 0 {
		s.IP = in.next
		return arch.Next
	}
	step := uint64(in.size)
	if s.Flags&DF != 0 {
		step = -step
	}
	if !f(in, s, m, step) {
		return arch.PageFault
	}
	if in.rep == once {
		s.IP = in.next
		return arch.Next
	}
	in.advance(&s.R[RCX], ^uint64(0))
	// The repeat of cmps and scas, which in.cond marks, ends by ZF too.
	if s.R[RCX]&in.addrMask == 0 || in.cond != 0 && (s.Flags&ZF != 0) != (in.rep == rep) {
		s.IP = in.next
	}
	return arch.Next
}

// advance adds to a register as wide as addresses are: 32 bits clear the upper
// half, 16 leave the rest.
func (in *Inst) advance(r *uint64, step uint64) {
	v := (*r + step) & in.addrMask
	if in.addrMask == 0xffff {
		v |= *r &^ 0xffff
	}
	*r = v
}

// at is where a pointer register points to.
func (in *Inst) at(s *arch.Regs, r arch.Reg) arch.Addr { return arch.Addr(s.R[r] & in.addrMask) }

func execMovs(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.element(s, m, movs) }
func execStos(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.element(s, m, stos) }
func execLods(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.element(s, m, lods) }
func execCmps(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.element(s, m, cmps) }
func execScas(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.element(s, m, scas) }

// An override never applies to what RDI points to.

func movs(in *Inst, s *arch.Regs, m arch.Memory, step uint64) bool {
	v, ok := m.Load(in.at(s, RSI), int(in.size))
	if !ok || !plain(m).Store(in.at(s, RDI), int(in.size), v) {
		return false
	}
	in.advance(&s.R[RSI], step)
	in.advance(&s.R[RDI], step)
	return true
}

func stos(in *Inst, s *arch.Regs, m arch.Memory, step uint64) bool {
	if !m.Store(in.at(s, RDI), int(in.size), s.R[RAX]&in.mask) {
		return false
	}
	in.advance(&s.R[RDI], step)
	return true
}

func lods(in *Inst, s *arch.Regs, m arch.Memory, step uint64) bool {
	v, ok := m.Load(in.at(s, RSI), int(in.size))
	if !ok {
		return false
	}
	merge(&s.R[RAX], in.size, v)
	in.advance(&s.R[RSI], step)
	return true
}

// cmps reads what RDI points to first, as AMD's processors do; it matters only
// if both reads fault.
func cmps(in *Inst, s *arch.Regs, m arch.Memory, step uint64) bool {
	b, ok := plain(m).Load(in.at(s, RDI), int(in.size))
	if !ok {
		return false
	}
	a, ok := m.Load(in.at(s, RSI), int(in.size))
	if !ok {
		return false
	}
	_, s.Flags = alu(opCmp, a, b, s.Flags, in.mask, in.sign)
	in.advance(&s.R[RSI], step)
	in.advance(&s.R[RDI], step)
	return true
}

func scas(in *Inst, s *arch.Regs, m arch.Memory, step uint64) bool {
	b, ok := m.Load(in.at(s, RDI), int(in.size))
	if !ok {
		return false
	}
	_, s.Flags = alu(opCmp, s.R[RAX]&in.mask, b, s.Flags, in.mask, in.sign)
	in.advance(&s.R[RDI], step)
	return true
}
