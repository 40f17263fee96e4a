package x86

import (
	"math/bits"

	"kpsim/smp/arch"
)

// The instructions of BMI1, BMI2 and ADX, and crc32. Their three operands are
// a (ModRM's reg, or vvvv where the group is in reg), b (ModRM's rm) and c.

// The operations of execBMI.
const (
	opAndn uint8 = iota
	opBlsr
	opBlsmsk
	opBlsi
	opBzhi
	opBextr
	opPdep
	opPext
	opShlx
	opSarx
	opShrx
)

// execBMI is all that computes one register of b and register c.
func execBMI(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	b, ok := in.loadB(s, m)
	if !ok {
		return arch.PageFault
	}
	c := s.R[in.cReg&15] & in.mask
	r, carry := bmi(in.op, b, c, in.mask, in.sign)
	in.setA(s, r)
	if in.op < opPdep {
		s.Flags = s.Flags&^arith | resultFlags(r, in.sign)&(ZF|SF) | carry
		if in.op == opBextr {
			s.Flags &^= SF // undefined
		}
	}
	s.IP = in.next
	return arch.Next
}

// bmi computes; carry is CF.
func bmi(op uint8, b, c, mask uint64, sign uint8) (r, carry uint64) {
	switch op {
	case opAndn:
		return b &^ c, 0
	case opBlsr:
		return b & (b - 1), bit(b == 0)
	case opBlsmsk:
		return (b ^ (b - 1)) & mask, bit(b == 0)
	case opBlsi:
		return b & -b, bit(b != 0)
	case opBzhi:
		n := c & 0xff
		return b & (1<<n - 1), bit(n > uint64(sign))
	case opBextr:
		return b >> (c & 0xff) & (1<<(c>>8&0xff) - 1), 0
	case opPdep:
		return deposit(c, b), 0
	case opPext:
		return extract(c, b), 0
	}
	n := c & uint64(sign)
	switch op {
	case opShlx:
		return b << n & mask, 0
	case opSarx:
		return uint64(int64(signExtend(b, (sign+1)/8))>>n) & mask, 0
	}
	return b >> n, 0
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// deposit puts the low bits of v where mask has ones.
func deposit(v, mask uint64) (r uint64) {
	for ; mask != 0; mask &= mask - 1 {
		if v&1 != 0 {
			r |= mask & -mask
		}
		v >>= 1
	}
	return r
}

// extract is the reverse.
func extract(v, mask uint64) (r uint64) {
	for n := 0; mask != 0; mask &= mask - 1 {
		r |= v >> bits.TrailingZeros64(mask) & 1 << n
		n++
	}
	return r
}

// execMulx multiplies RDX by b: the low half goes to c, then the high one to a.
func execMulx(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	b, ok := in.loadB(s, m)
	if !ok {
		return arch.PageFault
	}
	hi, lo := bits.Mul64(s.R[RDX]&in.mask, b)
	if in.size == 4 {
		hi, lo = lo>>32, lo&in.mask
	}
	s.R[in.cReg&15] = lo
	in.setA(s, hi)
	s.IP = in.next
	return arch.Next
}

// execRorx rotates b by imm; no flag changes. op holds the count, for imm is part
// of b.
func execRorx(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	b, ok := in.loadB(s, m)
	if !ok {
		return arch.PageFault
	}
	n := in.op & in.sign
	in.setA(s, (b>>n|b<<(in.sign+1-n))&in.mask)
	s.IP = in.next
	return arch.Next
}

// execAddCarry: adcx adds with CF and changes nothing else; adox, whose flag
// cond names, with OF.
func execAddCarry(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	b, ok := in.loadB(s, m)
	if !ok {
		return arch.PageFault
	}
	flag := uint64(in.cond)
	a := in.getA(s)
	r := (a + b + bit(s.Flags&flag != 0)) & in.mask
	s.Flags &^= flag
	if (a&b|(a|b)&^r)>>in.sign != 0 {
		s.Flags |= flag
	}
	in.setA(s, r)
	s.IP = in.next
	return arch.Next
}

// castagnoli is the polynomial of crc32, its bits reflected (SDM vol. 2, CRC32).
const castagnoli = 0x82f6_3b78

// execCrc32 goes on with the 32 bits of a over the bytes of b.
func execCrc32(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	b, ok := in.loadB(s, m)
	if !ok {
		return arch.PageFault
	}
	crc := in.getA(s) & 0xffff_ffff
	for range in.bSize {
		crc ^= b & 0xff
		b >>= 8
		for range 8 {
			crc = crc>>1 ^ crc&1*castagnoli
		}
	}
	in.setA(s, crc)
	s.IP = in.next
	return arch.Next
}

// execCmpxchg8b compares EDX:EAX with memory. As on the processor memory is
// written even if they differ.
func execCmpxchg8b(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	at := in.address(s)
	v, ok := m.Load(at, 8)
	if !ok {
		return arch.PageFault
	}
	equal := v == s.R[RDX]<<32|s.R[RAX]&in.mask
	r := v
	if equal {
		r = s.R[RCX]<<32 | s.R[RBX]&in.mask
	}
	if !m.Store(at, 8, r) {
		return arch.PageFault
	}
	return in.endPair(s, equal, v&in.mask, v>>32)
}

// execCmpxchg16b compares RDX:RAX, and faults unless memory is aligned: so it
// lies in one page, and the second store succeeds if the first does.
func execCmpxchg16b(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	at := in.address(s)
	if linear(m, at)%16 != 0 {
		return arch.Protection
	}
	lo, ok := m.Load(at, 8)
	if !ok {
		return arch.PageFault
	}
	hi, ok := m.Load(at+8, 8)
	if !ok {
		return arch.PageFault
	}
	equal := lo == s.R[RAX] && hi == s.R[RDX]
	newLo, newHi := lo, hi
	if equal {
		newLo, newHi = s.R[RBX], s.R[RCX]
	}
	if !m.Store(at, 8, newLo) || !m.Store(at+8, 8, newHi) {
		return arch.PageFault
	}
	return in.endPair(s, equal, lo, hi)
}

func (in *Inst) endPair(s *arch.Regs, equal bool, lo, hi uint64) arch.Outcome {
	s.Flags |= ZF
	if !equal {
		s.Flags &^= ZF
		s.R[RAX], s.R[RDX] = lo, hi
	}
	s.IP = in.next
	return arch.Next
}

// execRandom: rdrand and rdseed have never a number to give, which CF 0 says:
// callers must cope, and a run stays the same.
func execRandom(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	in.setA(s, 0)
	s.Flags &^= arith
	s.IP = in.next
	return arch.Next
}

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
