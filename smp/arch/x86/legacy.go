package x86

import "kpsim/smp/arch"

// What only 32-bit mode has.

// execDaa and execDas adjust AL to two decimal digits. OF is undefined.

func execDaa(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	al, flags := s.R[RAX]&0xff, uint64(0)
	r := al
	if al&15 > 9 || s.Flags&AF != 0 {
		r += 6
		flags = AF
	}
	if al > 0x99 || s.Flags&CF != 0 {
		r += 0x60
		flags |= CF
	}
	return in.endDecimal(s, r, flags)
}

func execDas(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	al, flags := s.R[RAX]&0xff, uint64(0)
	r := al
	if al&15 > 9 || s.Flags&AF != 0 {
		r -= 6
		flags = AF | s.Flags&CF | bit(al < 6)
	}
	if al > 0x99 || s.Flags&CF != 0 {
		r -= 0x60
		flags |= CF
	}
	return in.endDecimal(s, r, flags)
}

func (in *Inst) endDecimal(s *arch.Regs, al, flags uint64) arch.Outcome {
	merge(&s.R[RAX], 1, al)
	s.Flags = s.Flags&^arith | resultFlags(al&0xff, 7) | flags
	s.IP = in.next
	return arch.Next
}

// execAaa and execAas (op 1) adjust AL to one digit, and AH by the carry. Only
// AF and CF are defined.
func execAaa(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	ax, flags := s.R[RAX]&0xffff, uint64(0)
	if ax&15 > 9 || s.Flags&AF != 0 {
		flags = AF | CF
		if in.op == 0 {
			ax += 0x106
		} else {
			ax -= 0x106
		}
	}
	merge(&s.R[RAX], 2, ax&0xff0f)
	s.Flags = s.Flags&^arith | flags
	s.IP = in.next
	return arch.Next
}

// execAam splits AL by the base imm; execAad joins AH and AL. SF, ZF and PF are
// AL's, the rest is undefined.
func execAam(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	base := in.imm & 0xff
	if base == 0 {
		return arch.DivideError
	}
	al := s.R[RAX] & 0xff
	merge(&s.R[RAX], 2, al/base<<8|al%base)
	return in.endDecimal(s, al%base, 0)
}

func execAad(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	al := (s.R[RAX]&0xff + s.R[RAX]>>8&0xff*(in.imm&0xff)) & 0xff
	merge(&s.R[RAX], 2, al)
	return in.endDecimal(s, al, 0)
}

// execSalc sets AL to CF (AMD64 manual, vol. 3, appendix A; the SDM is silent).
func execSalc(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	merge(&s.R[RAX], 1, -(s.Flags & CF))
	s.IP = in.next
	return arch.Next
}

// execBound compares a with the two signed numbers in memory.
func execBound(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	at := in.address(s)
	low, ok := m.Load(at, int(in.size))
	if !ok {
		return arch.PageFault
	}
	high, ok := m.Load(at+arch.Addr(in.size), int(in.size))
	if !ok {
		return arch.PageFault
	}
	v := int64(signExtend(in.getA(s), in.size))
	if v < int64(signExtend(low, in.size)) || v > int64(signExtend(high, in.size)) {
		return arch.Bound
	}
	s.IP = in.next
	return arch.Next
}

// execArpl raises the privilege level of selector a to that of b.
func execArpl(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	rpl := in.getB(s) & 3
	if a&3 >= rpl {
		s.Flags &^= ZF
		s.IP = in.next
		return arch.Next
	}
	if !in.storeA(s, m, a&^3|rpl) {
		return arch.PageFault
	}
	s.Flags |= ZF
	s.IP = in.next
	return arch.Next
}

// execInto traps if OF is set.
func execInto(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.IP = in.next
	if s.Flags&OF != 0 {
		return arch.Overflow
	}
	return arch.Next
}
