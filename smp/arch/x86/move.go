package x86

import "math/bits"

func execNop(in *Inst, s *Regs, m Memory) Outcome {
	s.IP = in.next
	return Next
}

// movWide: a register of 32 or 64 bits gets a register or an immediate.
func movWide(in *Inst, s *Regs, m Memory) Outcome {
	s.R[in.aReg&15] = s.R[in.bReg&15]&in.bMask + in.imm
	s.IP = in.next
	return Next
}

// movRX: any size.
func movRX(in *Inst, s *Regs, m Memory) Outcome {
	in.setA(s, in.getB(s))
	s.IP = in.next
	return Next
}

func movWideM(in *Inst, s *Regs, m Memory) Outcome {
	v, ok := m.Load(in.address(s), int(in.size))
	if !ok {
		return PageFault
	}
	s.R[in.aReg&15] = v
	s.IP = in.next
	return Next
}

// movRM loads; bSize may be less than size, which is movzx.
func movRM(in *Inst, s *Regs, m Memory) Outcome {
	v, ok := m.Load(in.address(s), int(in.bSize))
	if !ok {
		return PageFault
	}
	in.setA(s, v)
	s.IP = in.next
	return Next
}

func movMX(in *Inst, s *Regs, m Memory) Outcome {
	if !m.Store(in.address(s), int(in.size), in.getB(s)) {
		return PageFault
	}
	s.IP = in.next
	return Next
}

// execMovsx is movsx and movsxd.
func execMovsx(in *Inst, s *Regs, m Memory) Outcome {
	v, ok := in.loadB(s, m)
	if !ok {
		return PageFault
	}
	in.setA(s, signExtend(v, in.bSize)&in.mask)
	s.IP = in.next
	return Next
}

func execLea(in *Inst, s *Regs, m Memory) Outcome {
	in.setA(s, uint64(in.address(s))&in.mask)
	s.IP = in.next
	return Next
}

// execCmov loads and, with 32 bits, clears the upper half even if the
// condition doesn't hold.
func execCmov(in *Inst, s *Regs, m Memory) Outcome {
	v, ok := in.loadB(s, m)
	if !ok {
		return PageFault
	}
	if !holds(in.cond, s.Flags) {
		v = in.getA(s)
	}
	in.setA(s, v)
	s.IP = in.next
	return Next
}

func execSetcc(in *Inst, s *Regs, m Memory) Outcome {
	var v uint64
	if holds(in.cond, s.Flags) {
		v = 1
	}
	if !in.storeA(s, m, v) {
		return PageFault
	}
	s.IP = in.next
	return Next
}

// setB writes register b, for the few instructions that have two results.
func (in *Inst) setB(s *Regs, v uint64) {
	r := &s.R[in.bReg&15]
	if in.size < 4 {
		v = *r&^(in.mask<<(in.bShift&63)) | v<<(in.bShift&63)
	}
	*r = v
}

func execXchg(in *Inst, s *Regs, m Memory) Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return PageFault
	}
	b := in.getB(s)
	if !in.storeA(s, m, b) {
		return PageFault
	}
	in.setB(s, a)
	s.IP = in.next
	return Next
}

// execBswap. Of 16 bits it is undefined: here, as on processors, zero.
func execBswap(in *Inst, s *Regs, m Memory) Outcome {
	v := bits.ReverseBytes64(in.getA(s))
	switch in.size {
	case 4:
		v >>= 32
	case 2:
		v = 0
	}
	in.setA(s, v)
	s.IP = in.next
	return Next
}

// execExtend: cbw, cwde, cdqe.
func execExtend(in *Inst, s *Regs, m Memory) Outcome {
	merge(&s.R[RAX], in.size, signExtend(s.R[RAX], in.size/2))
	s.IP = in.next
	return Next
}

// execSpread: cwd, cdq, cqo.
func execSpread(in *Inst, s *Regs, m Memory) Outcome {
	merge(&s.R[RDX], in.size, uint64(int64(signExtend(s.R[RAX], in.size))>>63))
	s.IP = in.next
	return Next
}

// execMovbe moves between a register and memory, bytes reversed; op 1 stores.
func execMovbe(in *Inst, s *Regs, m Memory) Outcome {
	at, drop := in.address(s), 64-8*in.size
	if in.op == 1 {
		if !m.Store(at, int(in.size), bits.ReverseBytes64(in.getB(s))>>drop) {
			return PageFault
		}
		s.IP = in.next
		return Next
	}
	v, ok := m.Load(at, int(in.size))
	if !ok {
		return PageFault
	}
	in.setA(s, bits.ReverseBytes64(v)>>drop)
	s.IP = in.next
	return Next
}

// execXlat: AL indexes the table at RBX.
func execXlat(in *Inst, s *Regs, m Memory) Outcome {
	v, ok := m.Load(Addr((s.R[RBX]+s.R[RAX]&0xff)&in.addrMask), 1)
	if !ok {
		return PageFault
	}
	merge(&s.R[RAX], 1, v)
	s.IP = in.next
	return Next
}
