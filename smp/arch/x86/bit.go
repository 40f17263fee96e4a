package x86

import (
	"math/bits"

	"kpsim/smp/arch"
)

// The bit tests, numbered as in bits 3 and 4 of their opcodes.
const (
	opBt uint8 = iota
	opBts
	opBtr
	opBtc
)

// execBit: bt, bts, btr, btc. A register offset reaches beyond a memory
// operand: it is a signed number of bits from its start. ZF stays; CF is the
// bit, the rest is undefined.
func execBit(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	offset := in.getB(s)
	bit := offset & uint64(in.sign)
	var at arch.Addr
	var a uint64
	if in.mem {
		if in.bMask != 0 {
			units := int64(signExtend(offset, in.size)) >> bits.TrailingZeros8(in.sign+1)
			offset = uint64(units) * uint64(in.size)
		} else {
			offset = 0
		}
		at = arch.Addr((uint64(in.address(s)) + offset) & in.addrMask)
		v, ok := m.Load(at, int(in.size))
		if !ok {
			return arch.PageFault
		}
		a = v
	} else {
		a = in.getA(s)
	}
	r := a
	switch in.op {
	case opBts:
		r = a | 1<<bit
	case opBtr:
		r = a &^ (1 << bit)
	case opBtc:
		r = a ^ 1<<bit
	}
	if in.op != opBt {
		if !in.mem {
			in.setA(s, r)
		} else if !m.Store(at, int(in.size), r) {
			return arch.PageFault
		}
	}
	s.Flags = s.Flags&^(arith&^ZF) | a>>bit&1
	s.IP = in.next
	return arch.Next
}

// The bit scans and counts.
const (
	opBsf uint8 = iota
	opBsr
	opTzcnt
	opLzcnt
	opPopcnt
)

// execScan. bsf and bsr of zero leave the register as it is, as processors do;
// all of it: with 32 bits the upper half too.
func execScan(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	b, ok := in.loadB(s, m)
	if !ok {
		return arch.PageFault
	}
	width := uint64(in.sign) + 1
	var r, flags uint64
	switch in.op {
	case opBsf, opBsr:
		if b == 0 {
			s.Flags = s.Flags&^arith | ZF
			s.IP = in.next
			return arch.Next
		}
		r = uint64(bits.TrailingZeros64(b))
		if in.op == opBsr {
			r = uint64(63 - bits.LeadingZeros64(b))
		}
	case opTzcnt:
		r = min(uint64(bits.TrailingZeros64(b)), width)
		flags = countFlags(r, b)
	case opLzcnt:
		r = uint64(bits.LeadingZeros64(b)) - (64 - width)
		flags = countFlags(r, b)
	case opPopcnt:
		r = uint64(bits.OnesCount64(b))
		if b == 0 {
			flags = ZF
		}
	}
	in.setA(s, r)
	s.Flags = s.Flags&^arith | flags
	s.IP = in.next
	return arch.Next
}

// countFlags of tzcnt and lzcnt: CF says that there was no bit, ZF that the
// count is zero.
func countFlags(r, b uint64) (flags uint64) {
	if b == 0 {
		flags |= CF
	}
	if r == 0 {
		flags |= ZF
	}
	return flags
}
