package ppc64

import (
	"math/bits"

	"kpsim/smp/arch"
)

// compareForms are comparisons, what moves between CR and general registers, and logic of the bits of
// CR (Book I, "Fixed-Point Compare Instructions", "Condition Register Instructions", "Move To/From
// System Register Instructions").
var compareForms = []form{
	{name: "cmpi", pattern: d(11).with(3<<21, 0), layout: layCompareI, run: execCompareWord},
	{name: "cmpi", pattern: d(11).with(3<<21, 1<<21), layout: layCompareI, run: execCompare},
	{name: "cmpli", pattern: d(10).with(3<<21, 0), layout: layCompareU, run: execCompareWordU},
	{name: "cmpli", pattern: d(10).with(3<<21, 1<<21), layout: layCompareU, run: execCompareU},
	{name: "cmp", pattern: x(0).with(3<<21, 0), layout: layCompare, run: execCompareWord},
	{name: "cmp", pattern: x(0).with(3<<21, 1<<21), layout: layCompare, run: execCompare},
	{name: "cmpl", pattern: x(32).with(3<<21, 0), layout: layCompare, run: execCompareWordU},
	{name: "cmpl", pattern: x(32).with(3<<21, 1<<21), layout: layCompare, run: execCompareU},
	{name: "cmprb", pattern: x(192).with(1<<22, 0), layout: layCompare, run: execCompareRange},
	{name: "cmpeqb", pattern: x(224).zero(3 << 21), layout: layCompareByte, run: execCompareEqualByte},

	{name: "isel", pattern: a(15), layout: laySelect, run: execSelect},
	{name: "setb", pattern: x(128).zero(3<<16 | fieldB), layout: laySetB, run: execSetB},
	{name: "setbc", pattern: x(384).zero(fieldB), layout: laySetBC(1, 0), run: execSetBC},
	{name: "setbcr", pattern: x(416).zero(fieldB), layout: laySetBC(0, 1), run: execSetBC},
	{name: "setnbc", pattern: x(448).zero(fieldB), layout: laySetBC(^uint64(0), 0), run: execSetBC},
	{name: "setnbcr", pattern: x(480).zero(fieldB), layout: laySetBC(0, ^uint64(0)), run: execSetBC},

	{name: "mfcr", pattern: x(19).zero(0x3ff << 11), layout: layFromCR, run: execFromCR},
	{name: "mfocrf", pattern: x(19).with(1<<20|1<<11, 1<<20), layout: layFromField, run: execFromCR},
	{name: "mtcrf", pattern: x(144).with(1<<20|1<<11, 0), layout: layToCR, run: execToCR},
	{name: "mtocrf", pattern: x(144).with(1<<20|1<<11, 1<<20), layout: layToField, run: execToCR},
	{name: "mcrxrx", pattern: x(576).zero(3<<21 | fieldA | fieldB), layout: layField, run: execOverflowToField},
	{name: "mcrf", pattern: xl(0).zero(3<<21 | 3<<16 | fieldB), layout: layFields, run: execMoveField},

	crLogic("crand", 257, func(a, b bool) bool { return a && b }),
	crLogic("crandc", 129, func(a, b bool) bool { return a && !b }),
	crLogic("creqv", 289, func(a, b bool) bool { return a == b }),
	crLogic("crnand", 225, func(a, b bool) bool { return !(a && b) }),
	crLogic("crnor", 33, func(a, b bool) bool { return !(a || b) }),
	crLogic("cror", 449, func(a, b bool) bool { return a || b }),
	crLogic("crorc", 417, func(a, b bool) bool { return a || !b }),
	crLogic("crxor", 193, func(a, b bool) bool { return a != b }),
}

// fieldShift returns where in Flags the field of CR lies whose number is at a bit of the word.
func (w word) fieldShift(lo uint) uint8 { return shiftCR0 - 4*uint8(w>>lo&7) }

// crBit returns where in Flags a bit of CR lies, by its number from the left.
func crBit(n uint8) uint8 { return 63 - n&31 }

var (
	layCompareI    = by("f,L,a,i", func(in *Inst) { in.setCompare(); in.imm = in.word.signed() })
	layCompareU    = by("f,L,a,u", func(in *Inst) { in.setCompare(); in.imm = in.word.unsigned() })
	layCompare     = by("f,L,a,b", func(in *Inst) { in.setCompare(); in.setB() })
	layCompareByte = by("f,a,b", func(in *Inst) { in.setCompare(); in.setB() })

	laySelect = by("t,z,b,C", func(in *Inst) {
		in.d = in.word.fieldT()
		in.setBase()
		in.setB()
		in.mask = 1 << crBit(in.word.fieldC())
	})
	laySetB      = by("t,g", func(in *Inst) { in.d, in.shift = in.word.fieldT(), in.word.fieldShift(18) })
	layFromCR    = by("t,-", func(in *Inst) { in.d, in.mask = in.word.fieldT(), flagsCR })
	layToCR      = by("k,t", func(in *Inst) { in.a, in.mask = in.word.fieldT(), in.word.fieldMask() })
	layFromField = oneField("t,k", func(in *Inst) { in.d = in.word.fieldT() })
	layToField   = oneField("k,t", func(in *Inst) { in.a = in.word.fieldT() })
	layField     = by("f", func(in *Inst) { in.shift = in.word.fieldShift(23) })
	layFields    = by("f,g", func(in *Inst) { in.shift, in.c = in.word.fieldShift(23), in.word.fieldShift(18) })
)

func (in *Inst) setCompare() { in.a, in.shift = in.word.fieldA(), in.word.fieldShift(23) }

// fieldMask returns the fields of CR that FXM selects, in Flags.
func (w word) fieldMask() (mask uint64) {
	for i := range 8 {
		if w>>(12+i)&1 != 0 {
			mask |= 15 << (32 + 4*i)
		}
	}
	return mask
}

// oneField is for FXM of one bit. With another number of bits the result is undefined.
func oneField(syntax string, read func(in *Inst)) layout {
	return layout{func(in *Inst) error {
		read(in)
		in.mask = in.word.fieldMask()
		if bits.OnesCount64(in.mask) != 4 {
			return ErrInvalid
		}
		return nil
	}, syntax}
}

func (in *Inst) compare(r *arch.Regs, less, greater bool) arch.Outcome {
	setField(r, in.shift, condition(r, less, greater))
	r.IP = in.next
	return arch.Next
}

func execCompare(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	a, b := int64(r.R[in.a]), int64(in.second(r))
	return in.compare(r, a < b, a > b)
}

func execCompareU(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	a, b := r.R[in.a], in.second(r)
	return in.compare(r, a < b, a > b)
}

func execCompareWord(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	a, b := int32(r.R[in.a]), int32(in.second(r))
	return in.compare(r, a < b, a > b)
}

func execCompareWordU(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	a, b := uint32(r.R[in.a]), uint32(in.second(r))
	return in.compare(r, a < b, a > b)
}

// found sets a field to GT or to nothing.
func (in *Inst) found(r *arch.Regs, ok bool) arch.Outcome {
	v := uint64(0)
	if ok {
		v = crGT
	}
	setField(r, in.shift, v)
	r.IP = in.next
	return arch.Next
}

// execCompareRange asks whether a byte is in a range, or in one of two.
func execCompareRange(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	v, ranges := byte(r.R[in.a]), r.R[in.b]
	ok := byte(ranges) <= v && v <= byte(ranges>>8)
	if in.word>>21&1 != 0 {
		ok = ok || byte(ranges>>16) <= v && v <= byte(ranges>>24)
	}
	return in.found(r, ok)
}

// execCompareEqualByte asks whether a byte is among eight.
func execCompareEqualByte(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	ok := false
	for i := 0; i < 64; i += 8 {
		ok = ok || byte(r.R[in.b]>>i) == byte(r.R[in.a])
	}
	return in.found(r, ok)
}

func execSelect(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	if r.Flags&in.mask != 0 {
		return in.put(r, in.first(r))
	}
	return in.put(r, r.R[in.b])
}

// execSetB is -1 for LT, 1 for GT and 0 for anything else.
func execSetB(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	switch c := r.Flags >> (in.shift & 63); {
	case c&crLT != 0:
		return in.put(r, ^uint64(0))
	case c&crGT != 0:
		return in.put(r, 1)
	}
	return in.put(r, 0)
}

// laySetBC is for a result by a bit of CR.
func laySetBC(set, clear uint64) layout {
	return by("t,B", func(in *Inst) {
		in.d, in.mask = in.word.fieldT(), 1<<crBit(in.word.fieldA())
		in.imm, in.carry = set, clear
	})
}

func execSetBC(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	if r.Flags&in.mask != 0 {
		return in.put(r, in.imm)
	}
	return in.put(r, in.carry)
}

// execFromCR reads CR, or one field. The other fields are undefined then: here they are zero.
func execFromCR(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, r.Flags&in.mask>>32)
}

func execToCR(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	r.Flags = r.Flags&^in.mask | r.R[in.a]<<32&in.mask
	r.IP = in.next
	return arch.Next
}

// execOverflowToField moves OV, OV32, CA and CA32.
func execOverflowToField(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	f := r.Flags
	setField(r, in.shift, f>>30&1<<3|f>>19&1<<2|f>>29&1<<1|f>>18&1)
	r.IP = in.next
	return arch.Next
}

func execMoveField(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	setField(r, in.shift, r.Flags>>(in.c&63)&15)
	r.IP = in.next
	return arch.Next
}

// crLogic makes the form of an operation on two bits of CR.
func crLogic(name string, xo word, f func(a, b bool) bool) form {
	return form{name: name, pattern: xl(xo), layout: layBits,
		run: func(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
			in := of(op)
			v := f(r.Flags>>(in.a&63)&1 != 0, r.Flags>>(in.b&63)&1 != 0)
			r.Flags &^= in.mask
			if v {
				r.Flags |= in.mask
			}
			r.IP = in.next
			return arch.Next
		}}
}

// layBits has places in Flags for registers.
var layBits = by("D,A,G", func(in *Inst) {
	in.a, in.b = crBit(in.word.fieldA()), crBit(in.word.fieldB())
	in.mask = 1 << crBit(in.word.fieldT())
})
