package x86

import "kpsim/smp/arch"

// The two-operand operations, numbered as in bits 3 to 5 of their opcodes.
const (
	opAdd uint8 = iota
	opOr
	opAdc
	opSbb
	opAnd
	opSub
	opXor
	opCmp
	opTest // ours: and without a result
)

// alu computes a two-operand operation and the flags it leaves.
func alu(op uint8, a, b, flags, mask uint64, sign uint8) (r, newFlags uint64) {
	rest := flags &^ arith
	switch op {
	case opAdd:
		r = (a + b) & mask
		return r, rest | addFlags(a, b, r, sign)
	case opAdc:
		r = (a + b + flags&CF) & mask
		return r, rest | addFlags(a, b, r, sign)
	case opSub, opCmp:
		r = (a - b) & mask
		return r, rest | subFlags(a, b, r, sign)
	case opSbb:
		r = (a - b - flags&CF) & mask
		return r, rest | subFlags(a, b, r, sign)
	case opOr:
		r = a | b
	case opXor:
		r = a ^ b
	default:
		r = a & b
	}
	return r, rest | resultFlags(r, sign)
}

// aluRX: any operation; a register, and a register or an immediate; any size.
func aluRX(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	r, flags := alu(in.op, in.getA(s), in.getB(s), s.Flags, in.mask, in.sign)
	if in.op < opCmp {
		in.setA(s, r)
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// aluRM: a register, and memory.
func aluRM(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	b, ok := m.Load(in.address(s), int(in.size))
	if !ok {
		return arch.PageFault
	}
	r, flags := alu(in.op, in.getA(s), b, s.Flags, in.mask, in.sign)
	if in.op < opCmp {
		in.setA(s, r)
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// aluMX: memory, and a register or an immediate.
func aluMX(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	at := in.address(s)
	a, ok := m.Load(at, int(in.size))
	if !ok {
		return arch.PageFault
	}
	r, flags := alu(in.op, a, in.getB(s), s.Flags, in.mask, in.sign)
	if in.op < opCmp && !m.Store(at, int(in.size), r) {
		return arch.PageFault
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// The commonest of aluRX for 32 and 64 bits, where there is no shifting and
// nothing to keep.

func wide(in *Inst, s *arch.Regs) (a *uint64, b uint64) {
	return &s.R[in.aReg&15], s.R[in.bReg&15]&in.bMask + in.imm
}

func addWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	a := *d & in.mask
	r := (a + b) & in.mask
	*d = r
	s.Flags = s.Flags&^arith | addFlags(a, b, r, in.sign)
	s.IP = in.next
	return arch.Next
}

func subWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	a := *d & in.mask
	r := (a - b) & in.mask
	*d = r
	s.Flags = s.Flags&^arith | subFlags(a, b, r, in.sign)
	s.IP = in.next
	return arch.Next
}

func cmpWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	a := *d & in.mask
	s.Flags = s.Flags&^arith | subFlags(a, b, (a-b)&in.mask, in.sign)
	s.IP = in.next
	return arch.Next
}

func andWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	r := *d & b & in.mask
	*d = r
	s.Flags = s.Flags&^arith | resultFlags(r, in.sign)
	s.IP = in.next
	return arch.Next
}

func orWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	r := (*d | b) & in.mask
	*d = r
	s.Flags = s.Flags&^arith | resultFlags(r, in.sign)
	s.IP = in.next
	return arch.Next
}

func xorWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	r := (*d ^ b) & in.mask
	*d = r
	s.Flags = s.Flags&^arith | resultFlags(r, in.sign)
	s.IP = in.next
	return arch.Next
}

func testWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	s.Flags = s.Flags&^arith | resultFlags(*d&b&in.mask, in.sign)
	s.IP = in.next
	return arch.Next
}

// inc and dec are add and sub of 1 that leave CF alone.

func incWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d := &s.R[in.aReg&15]
	a := *d & in.mask
	r := (a + 1) & in.mask
	*d = r
	s.Flags = s.Flags&^(arith&^CF) | addFlags(a, 1, r, in.sign)&^CF
	s.IP = in.next
	return arch.Next
}

func decWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d := &s.R[in.aReg&15]
	a := *d & in.mask
	r := (a - 1) & in.mask
	*d = r
	s.Flags = s.Flags&^(arith&^CF) | subFlags(a, 1, r, in.sign)&^CF
	s.IP = in.next
	return arch.Next
}

func inc(in *Inst, a, b, flags uint64) (r, newFlags uint64) {
	r = (a + 1) & in.mask
	return r, flags&^(arith&^CF) | addFlags(a, 1, r, in.sign)&^CF
}

func dec(in *Inst, a, b, flags uint64) (r, newFlags uint64) {
	r = (a - 1) & in.mask
	return r, flags&^(arith&^CF) | subFlags(a, 1, r, in.sign)&^CF
}

func neg(in *Inst, a, b, flags uint64) (r, newFlags uint64) {
	return alu(opSub, 0, a, flags, in.mask, in.sign)
}

func not(in *Inst, a, b, flags uint64) (r, newFlags uint64) { return ^a & in.mask, flags }

func execInc(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.update(s, m, inc) }
func execDec(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.update(s, m, dec) }
func execNeg(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.update(s, m, neg) }
func execNot(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.update(s, m, not) }

// execXadd: the register gets what a was, a gets the sum. If both are the same
// register the sum wins.
func execXadd(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	r, flags := alu(opAdd, a, in.getB(s), s.Flags, in.mask, in.sign)
	if in.mem && !in.storeA(s, m, r) {
		return arch.PageFault
	}
	in.setB(s, a)
	if !in.mem {
		in.setA(s, r)
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// execCmpxchg compares the accumulator with a. As on the processor, a is
// written even if they differ, with what it held.
func execCmpxchg(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	acc := s.R[RAX] & in.mask
	_, flags := alu(opCmp, acc, a, s.Flags, in.mask, in.sign)
	r := a
	if acc == a {
		r = in.getB(s)
	}
	if in.mem || acc == a {
		if !in.storeA(s, m, r) {
			return arch.PageFault
		}
	}
	if acc != a {
		merge(&s.R[RAX], in.size, a)
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}
