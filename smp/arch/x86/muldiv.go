package x86

import (
	"math/bits"

	"kpsim/smp/arch"
)

// execMul and execImul multiply the accumulator by a, to a result twice as
// wide. CF and OF say that the upper half holds something.

func execMul(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	hi, lo := bits.Mul64(s.R[RAX]&in.mask, a)
	if in.size < 8 {
		hi = lo >> (8 * in.size)
	}
	in.setProduct(s, hi, lo, hi != 0)
	return arch.Next
}

func execImul(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	hi, lo := mulSigned(signExtend(s.R[RAX], in.size), signExtend(a, in.size))
	low := signExtend(lo, in.size)
	over := low != lo || hi != uint64(int64(lo)>>63)
	if in.size < 8 {
		hi = lo >> (8 * in.size)
	}
	in.setProduct(s, hi, lo, over)
	return arch.Next
}

func (in *Inst) setProduct(s *arch.Regs, hi, lo uint64, over bool) {
	if in.size == 1 {
		merge(&s.R[RAX], 2, lo)
	} else {
		merge(&s.R[RAX], in.size, lo)
		merge(&s.R[RDX], in.size, hi)
	}
	in.endMul(s, over)
}

func (in *Inst) endMul(s *arch.Regs, over bool) {
	s.Flags &^= arith
	if over {
		s.Flags |= CF | OF
	}
	s.IP = in.next
}

// mulSigned returns the 128 bits of a product of signed numbers.
func mulSigned(a, b uint64) (hi, lo uint64) {
	hi, lo = bits.Mul64(a, b)
	return hi - b&uint64(int64(a)>>63) - a&uint64(int64(b)>>63), lo
}

// execImul2 is imul with a register result cut to size: of registers a and b,
// or, op 1, of b and the immediate.
func execImul2(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	var b uint64
	if in.mem {
		v, ok := m.Load(in.address(s), int(in.size))
		if !ok {
			return arch.PageFault
		}
		b = v
	} else {
		b = s.R[in.bReg&15] & in.mask
	}
	a := in.imm
	if in.op == 0 {
		a = in.getA(s)
	}
	hi, lo := mulSigned(signExtend(a, in.size), signExtend(b, in.size))
	in.setA(s, lo&in.mask)
	in.endMul(s, signExtend(lo, in.size) != lo || hi != uint64(int64(lo)>>63))
	return arch.Next
}

// dividend returns the accumulator of twice the operand size, zero-extended.
func (in *Inst) dividend(s *arch.Regs) (hi, lo uint64) {
	switch in.size {
	case 1:
		return 0, s.R[RAX] & 0xffff
	case 8:
		return s.R[RDX], s.R[RAX]
	}
	return 0, s.R[RDX]&in.mask<<(8*in.size) | s.R[RAX]&in.mask
}

func execDiv(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	hi, lo := in.dividend(s)
	if d <= hi {
		return arch.DivideError // zero too
	}
	q, r := bits.Div64(hi, lo, d)
	if q > in.mask {
		return arch.DivideError
	}
	in.setQuotient(s, q, r)
	return arch.Next
}

// execIdiv divides magnitudes: the quotient is cut towards zero, and the
// remainder has the sign of the dividend.
func execIdiv(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	hi, lo := in.dividend(s)
	if in.size < 8 {
		lo = signExtend(lo, 2*in.size)
		hi = uint64(int64(lo) >> 63)
	}
	negative := int64(hi) < 0
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi = -hi - borrow
	}
	d := signExtend(a, in.size)
	negativeQ := negative != (int64(d) < 0)
	if int64(d) < 0 {
		d = -d
	}
	if d <= hi {
		return arch.DivideError
	}
	q, r := bits.Div64(hi, lo, d)
	limit := in.mask >> 1
	if negativeQ {
		limit++
	}
	if q > limit {
		return arch.DivideError
	}
	if negativeQ {
		q = -q
	}
	if negative {
		r = -r
	}
	in.setQuotient(s, q&in.mask, r&in.mask)
	return arch.Next
}

func (in *Inst) setQuotient(s *arch.Regs, q, r uint64) {
	if in.size == 1 {
		merge(&s.R[RAX], 2, r<<8|q)
	} else {
		merge(&s.R[RAX], in.size, q)
		merge(&s.R[RDX], in.size, r)
	}
	s.Flags &^= arith
	s.IP = in.next
}
