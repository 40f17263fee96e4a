package x86

import (
	"math/bits"

	"kpsim/smp/arch"
)

func execNop(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.IP = in.next
	return arch.Next
}

// execPause is a nop to the processor, and says that it is in a loop that waits.
func execPause(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.IP = in.next
	return arch.Relaxed
}

// movWide: a register of 32 or 64 bits gets a register or an immediate.
func movWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.R[in.aReg&15] = s.R[in.bReg&15]&in.bMask + in.imm
	s.IP = in.next
	return arch.Next
}

// movRX: any size.
func movRX(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	in.setA(s, in.getB(s))
	s.IP = in.next
	return arch.Next
}

func movWideM(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := m.Load(in.address(s), int(in.size))
	if !ok {
		return arch.PageFault
	}
	s.R[in.aReg&15] = v
	s.IP = in.next
	return arch.Next
}

// movRM loads; bSize may be less than size, which is movzx.
func movRM(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := m.Load(in.address(s), int(in.bSize))
	if !ok {
		return arch.PageFault
	}
	in.setA(s, v)
	s.IP = in.next
	return arch.Next
}

func movMX(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	if !m.Store(in.address(s), int(in.size), in.getB(s)) {
		return arch.PageFault
	}
	s.IP = in.next
	return arch.Next
}

// execMovsx is movsx and movsxd.
func execMovsx(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.loadB(s, m)
	if !ok {
		return arch.PageFault
	}
	in.setA(s, signExtend(v, in.bSize)&in.mask)
	s.IP = in.next
	return arch.Next
}

func execLea(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	in.setA(s, uint64(in.address(s))&in.mask)
	s.IP = in.next
	return arch.Next
}

// execCmov loads and, with 32 bits, clears the upper half even if the
// condition doesn't hold.
func execCmov(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.loadB(s, m)
	if !ok {
		return arch.PageFault
	}
	if !holds(in.cond, s.Flags) {
		v = in.getA(s)
	}
	in.setA(s, v)
	s.IP = in.next
	return arch.Next
}

func execSetcc(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	var v uint64
	if holds(in.cond, s.Flags) {
		v = 1
	}
	if !in.storeA(s, m, v) {
		return arch.PageFault
	}
	s.IP = in.next
	return arch.Next
}

// setB writes register b, for the few instructions that have two results.
func (o *operands) setB(s *arch.Regs, v uint64) {
	r := &s.R[o.bReg&15]
	if o.size < 4 {
		v = *r&^(o.mask<<(o.bShift&63)) | v<<(o.bShift&63)
	}
	*r = v
}

func execXchg(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	b := in.getB(s)
	if !in.storeA(s, m, b) {
		return arch.PageFault
	}
	in.setB(s, a)
	s.IP = in.next
	return arch.Next
}

// execBswap. Of 16 bits it is undefined: here, as on processors, zero.
func execBswap(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v := bits.ReverseBytes64(in.getA(s))
	switch in.size {
	case 4:
		v >>= 32
	case 2:
		v = 0
	}
	in.setA(s, v)
	s.IP = in.next
	return arch.Next
}

// execExtend: cbw, cwde, cdqe.
func execExtend(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	merge(&s.R[RAX], in.size, signExtend(s.R[RAX], in.size/2))
	s.IP = in.next
	return arch.Next
}

// execSpread: cwd, cdq, cqo.
func execSpread(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	merge(&s.R[RDX], in.size, uint64(int64(signExtend(s.R[RAX], in.size))>>63))
	s.IP = in.next
	return arch.Next
}

// execMovbe moves between a register and memory, bytes reversed; op 1 stores.
func execMovbe(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	at, drop := in.address(s), 64-8*in.size
	if in.op == 1 {
		if !m.Store(at, int(in.size), bits.ReverseBytes64(in.getB(s))>>drop) {
			return arch.PageFault
		}
		s.IP = in.next
		return arch.Next
	}
	v, ok := m.Load(at, int(in.size))
	if !ok {
		return arch.PageFault
	}
	in.setA(s, bits.ReverseBytes64(v)>>drop)
	s.IP = in.next
	return arch.Next
}

// execXlat: AL indexes the table at RBX.
func execXlat(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := m.Load(arch.Addr((s.R[RBX]+s.R[RAX]&0xff)&in.addrMask), 1)
	if !ok {
		return arch.PageFault
	}
	merge(&s.R[RAX], 1, v)
	s.IP = in.next
	return arch.Next
}
