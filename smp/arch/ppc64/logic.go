package ppc64

import (
	"math/bits"

	"kpsim/smp/arch"
)

// logicForms are the logical instructions, and those that count and permute bits (Book I,
// "Fixed-Point Logical Instructions").
var logicForms = []form{
	{name: "andi.", pattern: d(28), layout: layASU, run: execAnd, records: always},
	{name: "andis.", pattern: d(29), layout: layASUH, run: execAnd, records: always},
	{name: "ori", pattern: d(24), layout: layASU, run: execOr},
	{name: "oris", pattern: d(25), layout: layASUH, run: execOr},
	{name: "xori", pattern: d(26), layout: layASU, run: execXor},
	{name: "xoris", pattern: d(27), layout: layASUH, run: execXor},
	{name: "and", pattern: x(28), layout: layASB, run: execAnd, records: byBit},
	{name: "andc", pattern: x(60), layout: layASB, run: execAndc, records: byBit},
	{name: "or", pattern: x(444), layout: layOr, run: execOr, records: byBit},
	{name: "orc", pattern: x(412), layout: layASB, run: execOrc, records: byBit},
	{name: "xor", pattern: x(316), layout: layASB, run: execXor, records: byBit},
	{name: "nand", pattern: x(476), layout: layASB, run: execNand, records: byBit},
	{name: "nor", pattern: x(124), layout: layASB, run: execNor, records: byBit},
	{name: "eqv", pattern: x(284), layout: layASB, run: execEqv, records: byBit},

	unary("extsb", 954, byBit, func(v uint64) uint64 { return uint64(int64(int8(v))) }),
	unary("extsh", 922, byBit, func(v uint64) uint64 { return uint64(int64(int16(v))) }),
	unary("extsw", 986, byBit, func(v uint64) uint64 { return uint64(int64(int32(v))) }),
	unary("cntlzw", 26, byBit, func(v uint64) uint64 { return uint64(bits.LeadingZeros32(uint32(v))) }),
	unary("cntlzd", 58, byBit, func(v uint64) uint64 { return uint64(bits.LeadingZeros64(v)) }),
	unary("cnttzw", 538, byBit, func(v uint64) uint64 { return uint64(bits.TrailingZeros32(uint32(v))) }),
	unary("cnttzd", 570, byBit, func(v uint64) uint64 { return uint64(bits.TrailingZeros64(v)) }),
	unary("popcntb", 122, never, onesByByte),
	unary("popcntw", 378, never, func(v uint64) uint64 {
		return uint64(bits.OnesCount32(uint32(v>>32)))<<32 | uint64(bits.OnesCount32(uint32(v)))
	}),
	unary("popcntd", 506, never, func(v uint64) uint64 { return uint64(bits.OnesCount64(v)) }),
	// Parity is that of the lowest bits of all bytes.
	unary("prtyw", 154, never, func(v uint64) uint64 {
		v &= lowBits
		return uint64(bits.OnesCount32(uint32(v>>32))&1)<<32 | uint64(bits.OnesCount32(uint32(v))&1)
	}),
	unary("prtyd", 186, never, func(v uint64) uint64 { return uint64(bits.OnesCount64(v&lowBits) & 1) }),
	unary("brh", 219, never, func(v uint64) uint64 { return v>>8&lowBytes | v&lowBytes<<8 }),
	unary("brw", 155, never, func(v uint64) uint64 { return bits.RotateLeft64(bits.ReverseBytes64(v), 32) }),
	unary("brd", 187, never, bits.ReverseBytes64),

	{name: "cmpb", pattern: x(508), layout: layASB, run: execCompareBytes},
	{name: "bpermd", pattern: x(252), layout: layASB, run: execPermute},
}

const (
	lowBits  = 0x0101010101010101
	lowBytes = 0x00ff00ff00ff00ff
)

// unary makes a form of one operand.
func unary(name string, xo word, rc record, f func(v uint64) uint64) form {
	return form{name: name, pattern: x(xo).zero(fieldB), layout: layAS, records: rc,
		run: func(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
			in := of(op)
			return in.put(r, f(r.R[in.a]))
		}}
}

// layOr is of or. With all three registers the same it changes nothing and says which priority the
// thread wants of its core (Book II, "Program Priority Registers"). 31, 1 and 27 ask for very low and
// low priority and yield: a loop has them that waits for another CPU.
var layOr = by("a,t,b", func(in *Inst) {
	in.setLogic()
	in.setB()
	if in.d != in.a || in.a != in.b || in.word&bitRc != 0 {
		return
	}
	switch in.d {
	case 1, 27, 31:
		in.Run = execRelax
	}
})

func execAnd(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, r.R[in.a]&in.second(r))
}

func execAndc(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, r.R[in.a]&^in.second(r))
}

func execOr(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, r.R[in.a]|in.second(r))
}

func execOrc(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, r.R[in.a]|^in.second(r))
}

func execXor(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, r.R[in.a]^in.second(r))
}

func execNand(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, ^(r.R[in.a] & in.second(r)))
}

func execNor(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, ^(r.R[in.a] | in.second(r)))
}

func execEqv(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, ^(r.R[in.a] ^ in.second(r)))
}

// onesByByte counts the ones of each byte.
func onesByByte(v uint64) (n uint64) {
	for i := range 8 {
		n |= uint64(bits.OnesCount8(byte(v>>(8*i)))) << (8 * i)
	}
	return n
}

// execCompareBytes leaves ones in the bytes that are the same.
func execCompareBytes(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	differ, v := r.R[in.a]^r.R[in.b], uint64(0)
	for i := 0; i < 64; i += 8 {
		if byte(differ>>i) == 0 {
			v |= 0xff << i
		}
	}
	return in.put(r, v)
}

// execPermute picks eight bits by their numbers, which the manual counts from the left. There are no
// bits from 64 on.
func execPermute(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	from, v := r.R[in.b], uint64(0)
	for i := range 8 {
		if n := byte(r.R[in.a] >> (8 * i)); n < 64 {
			v |= from >> (63 - n) & 1 << i
		}
	}
	return in.put(r, v)
}
