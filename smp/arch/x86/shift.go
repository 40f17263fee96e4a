package x86

import "kpsim/smp/arch"

// The shifts and rotates, numbered as in ModRM's reg field.
const (
	opRol uint8 = iota
	opRor
	opRcl
	opRcr
	opShl
	opShr
	opSal // the same as shl
	opSar
)

// count is the number of places: an immediate, or CL. Only its low five bits
// count, or six of a 64-bit operand.
func (in *Inst) count(b uint64) uint64 {
	if in.size == 8 {
		return b & 63
	}
	return b & 31
}

// shift is the family's work for update. A count of zero changes no flag; OF is
// defined only for a count of one.
func shift(in *Inst, a, b, flags uint64) (r, newFlags uint64) {
	n := in.count(b)
	if n == 0 {
		return a, flags
	}
	if in.op < opShl {
		return rotate(in, a, n, flags)
	}
	var carry, overflow uint64
	width := uint64(in.sign) + 1
	switch in.op {
	case opShr:
		r = a >> n
		carry = a >> (n - 1) & 1
		overflow = a >> in.sign
	case opSar:
		x := signExtend(a, in.size)
		r = uint64(int64(x)>>n) & in.mask
		carry = uint64(int64(x)>>(n-1)) & 1
	default:
		r = a << n & in.mask
		if n <= width {
			carry = a >> (width - n) & 1
		}
		overflow = r>>in.sign ^ carry
	}
	if n >= width && in.op != opSar {
		carry = 0 // undefined
	}
	if n != 1 {
		overflow = 0 // undefined
	}
	return r, flags&^arith | resultFlags(r, in.sign) | carry | overflow<<11
}

// rotate leaves all flags but CF and OF.
func rotate(in *Inst, a, n, flags uint64) (r, newFlags uint64) {
	width := uint64(in.sign) + 1
	carry := flags & CF
	switch in.op {
	case opRol:
		k := n % width
		r = (a<<k | a>>(width-k)) & in.mask
		carry = r & 1
	case opRor:
		k := n % width
		r = (a>>k | a<<(width-k)) & in.mask
		carry = r >> in.sign
	case opRcl: // a ring of width + 1 bits
		r = a
		for range n % (width + 1) {
			out := r >> in.sign
			r = (r<<1 | carry) & in.mask
			carry = out
		}
	case opRcr:
		r = a
		for range n % (width + 1) {
			out := r & 1
			r = r>>1 | carry<<in.sign
			carry = out
		}
	}
	var overflow uint64
	if n == 1 {
		if in.op == opRol || in.op == opRcl {
			overflow = r>>in.sign ^ carry
		} else {
			overflow = (r>>in.sign ^ r>>(in.sign-1)) & 1
		}
	}
	return r, flags&^(CF|OF) | carry | overflow<<11
}

// execShift shifts by an immediate, or by 1.
func execShift(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.shiftBy(s, m, in.imm) }

// shiftWide is execShift for a register of 32 or 64 bits.
func shiftWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d := &s.R[in.aReg&15]
	*d, s.Flags = shift(in, *d&in.mask, in.imm, s.Flags)
	s.IP = in.next
	return arch.Next
}

// execShiftCL shifts by CL.
func execShiftCL(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	return in.shiftBy(s, m, s.R[RCX])
}

func (in *Inst) shiftBy(s *arch.Regs, m arch.Memory, n uint64) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	r, flags := shift(in, a, n, s.Flags)
	if !in.storeA(s, m, r) {
		return arch.PageFault
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// execDouble is shld (op 0) and shrd (op 1). cond 1: the count is CL. A 16-bit
// operand shifted by more than 16 is undefined: here zeroes, and no CF.
func execDouble(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	n := in.count(in.imm)
	if in.cond != 0 {
		n = in.count(s.R[RCX])
	}
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	b := s.R[in.bReg&15] & in.bMask
	flags, r := s.Flags, a
	if n != 0 {
		width := uint64(in.sign) + 1
		var carry, overflow uint64
		switch {
		case n > width:
			r = 0
		case in.op == 0:
			r = (a<<n | b>>(width-n)) & in.mask
			carry = a >> (width - n) & 1
		default:
			r = (a>>n | b<<(width-n)) & in.mask
			carry = a >> (n - 1) & 1
		}
		if n == 1 {
			overflow = (a ^ r) >> in.sign
		}
		flags = flags&^arith | resultFlags(r, in.sign) | carry | overflow<<11
	}
	if !in.storeA(s, m, r) {
		return arch.PageFault
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}
