package x86

import "kpsim/smp/arch"

// address computes where the memory operand lies.
func (in *Inst) address(s *arch.Regs) arch.Addr {
	return arch.Addr((s.R[in.baseReg&15]&in.baseMask + s.R[in.indexReg&15]*in.indexMul + in.disp) & in.addrMask)
}

// getA reads register a.
func (in *Inst) getA(s *arch.Regs) uint64 { return s.R[in.aReg&15] >> (in.aShift & 63) & in.mask }

// setA writes register a. A write of 32 bits clears the upper half; a shorter
// one leaves the rest.
func (in *Inst) setA(s *arch.Regs, v uint64) {
	r := &s.R[in.aReg&15]
	*r = *r&in.keep | v<<(in.aShift&63)
}

// getB reads register b or the immediate.
func (in *Inst) getB(s *arch.Regs) uint64 { return s.R[in.bReg&15]>>(in.bShift&63)&in.bMask + in.imm }

// loadA reads operand a, where it may be memory.
func (in *Inst) loadA(s *arch.Regs, m arch.Memory) (v uint64, ok bool) {
	if in.mem {
		return m.Load(in.address(s), int(in.size))
	}
	return in.getA(s), true
}

// storeA writes operand a, where it may be memory.
func (in *Inst) storeA(s *arch.Regs, m arch.Memory, v uint64) (ok bool) {
	if in.mem {
		return m.Store(in.address(s), int(in.size), v)
	}
	in.setA(s, v)
	return true
}

// loadB reads operand b, where it may be memory.
func (in *Inst) loadB(s *arch.Regs, m arch.Memory) (v uint64, ok bool) {
	if in.mem {
		return m.Load(in.address(s), int(in.bSize))
	}
	return in.getB(s), true
}

// update reads operand a, gives it to f with operand b and the flags, and writes
// what f returns: nothing at all if memory faults.
func (in *Inst) update(s *arch.Regs, m arch.Memory, f func(in *Inst, a, b, flags uint64) (r, newFlags uint64)) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	r, flags := f(in, a, in.getB(s), s.Flags)
	if !in.storeA(s, m, r) {
		return arch.PageFault
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// merge writes v to the low size bytes of an implicit register.
func merge(r *uint64, size uint8, v uint64) {
	switch size {
	case 8:
		*r = v
	case 4:
		*r = v & 0xffff_ffff
	case 2:
		*r = *r&^0xffff | v&0xffff
	case 1:
		*r = *r&^0xff | v&0xff
	}
}
