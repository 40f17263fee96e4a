package ppc64

import (
	"math/bits"

	"kpsim/smp/arch"
)

// rotateForms are rotates and shifts (Book I, "Fixed-Point Rotate and Shift Instructions").
var rotateForms = []form{
	{name: "rlwinm", pattern: d(21), layout: layRotateWord, run: execRotateWord, records: byBit},
	{name: "rlwnm", pattern: d(23), layout: layRotateWordBy, run: execRotateWordBy, records: byBit},
	{name: "rlwimi", pattern: d(20), layout: layRotateWord, run: execInsertWord, records: byBit},
	{name: "rldicl", pattern: md(0), layout: layRotateLeft, run: execRotate, records: byBit},
	{name: "rldicr", pattern: md(1), layout: layRotateRight, run: execRotate, records: byBit},
	{name: "rldic", pattern: md(2), layout: layRotateField, run: execRotate, records: byBit},
	{name: "rldimi", pattern: md(3), layout: layRotateField, run: execInsert, records: byBit},
	{name: "rldcl", pattern: mds(8), layout: layRotateLeftBy, run: execRotateBy, records: byBit},
	{name: "rldcr", pattern: mds(9), layout: layRotateRightBy, run: execRotateBy, records: byBit},

	{name: "slw", pattern: x(24), layout: layASB, run: execShiftLeftWord, records: byBit},
	{name: "srw", pattern: x(536), layout: layASB, run: execShiftRightWord, records: byBit},
	{name: "sraw", pattern: x(792), layout: layASB, run: execShiftAlgebraicWord, records: byBit},
	{name: "srawi", pattern: x(824), layout: layShiftWord, run: execShiftAlgebraicWord, records: byBit},
	{name: "sld", pattern: x(27), layout: layASB, run: execShiftLeft, records: byBit},
	{name: "srd", pattern: x(539), layout: layASB, run: execShiftRight, records: byBit},
	{name: "srad", pattern: x(794), layout: layASB, run: execShiftAlgebraic, records: byBit},
	{name: "sradi", pattern: xs(413), layout: layShift, run: execShiftAlgebraic, records: byBit},
	{name: "extswsli", pattern: xs(445), layout: layShift, run: execExtendShift, records: byBit},
}

// shiftWord and shift64 return the immediate SH of 5 bits, and of 6, whose upper one lies apart. edge is
// the field of 6 bits that says where a mask begins or ends.
func (w word) shiftWord() uint8 { return w.fieldB() }
func (w word) shift64() uint8   { return w.fieldB() | uint8(w<<4&32) }
func (w word) edge() uint8      { return uint8(w>>6&31 | w&32) }

// maskOf returns ones from a bit to another one, which the manual counts from the left. It goes around
// if the first is after the last.
func maskOf(from, to uint8) uint64 {
	left, right := ^uint64(0)>>(from&63), ^uint64(0)<<(63-to&63)
	if from > to {
		return left | right
	}
	return left & right
}

var (
	layRotateWord = by("a,t,w,M,E", func(in *Inst) {
		in.setLogic()
		in.shift = in.word.shiftWord()
		in.maskWord()
	})
	layRotateWordBy = by("a,t,b,M,E", func(in *Inst) {
		in.setLogic()
		in.setB()
		in.maskWord()
	})
	layRotateLeft    = layRotateTo("a,t,s,m", func(in *Inst) uint64 { return maskOf(in.word.edge(), 63) })
	layRotateRight   = layRotateTo("a,t,s,m", func(in *Inst) uint64 { return maskOf(0, in.word.edge()) })
	layRotateField   = layRotateTo("a,t,s,m", func(in *Inst) uint64 { return maskOf(in.word.edge(), 63-in.shift) })
	layRotateLeftBy  = layRotateTo("a,t,b,m", func(in *Inst) uint64 { return maskOf(in.word.edge(), 63) })
	layRotateRightBy = layRotateTo("a,t,b,m", func(in *Inst) uint64 { return maskOf(0, in.word.edge()) })

	layShiftWord = by("a,t,w", func(in *Inst) { in.setLogic(); in.imm = uint64(in.word.shiftWord()) })
	layShift     = by("a,t,s", func(in *Inst) { in.setLogic(); in.imm = uint64(in.word.shift64()) })
)

func layRotateTo(syntax string, mask func(in *Inst) uint64) layout {
	return by(syntax, func(in *Inst) {
		in.setLogic()
		in.b, in.shift = in.word.fieldB(), in.word.shift64()
		in.mask = mask(in)
	})
}

// maskWord reads MB and ME: bits of the lower half.
func (in *Inst) maskWord() { in.mask = maskOf(uint8(in.word>>6&31)+32, uint8(in.word>>1&31)+32) }

// twice returns a word in both halves: what a rotate of a word rotates.
func twice(v uint64) uint64 { return v<<32 | uint64(uint32(v)) }

func execRotateWord(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, bits.RotateLeft64(twice(r.R[in.a]), int(in.shift))&in.mask)
}

func execRotateWordBy(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, bits.RotateLeft64(twice(r.R[in.a]), int(r.R[in.b]&31))&in.mask)
}

func execInsertWord(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	v := bits.RotateLeft64(twice(r.R[in.a]), int(in.shift))
	return in.put(r, v&in.mask|r.R[in.d]&^in.mask)
}

func execRotate(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, bits.RotateLeft64(r.R[in.a], int(in.shift))&in.mask)
}

func execRotateBy(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, bits.RotateLeft64(r.R[in.a], int(r.R[in.b]&63))&in.mask)
}

func execInsert(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	v := bits.RotateLeft64(r.R[in.a], int(in.shift))
	return in.put(r, v&in.mask|r.R[in.d]&^in.mask)
}

// A shift of a word has six bits of distance, one of a doubleword seven. Go's shifts by more than there
// is give zero, or the sign.

func execShiftLeftWord(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(uint32(r.R[in.a])<<(r.R[in.b]&63)))
}

func execShiftRightWord(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(uint32(r.R[in.a])>>(r.R[in.b]&63)))
}

func execShiftLeft(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, r.R[in.a]<<(r.R[in.b]&127))
}

func execShiftRight(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, r.R[in.a]>>(r.R[in.b]&127))
}

func execShiftAlgebraicWord(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.algebraic(r, int64(int32(r.R[in.a])), in.second(r)&63)
}

func execShiftAlgebraic(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.algebraic(r, int64(r.R[in.a]), in.second(r)&127)
}

// algebraic shifts a signed number right. It carries if the number is negative and ones are shifted out.
func (in *Inst) algebraic(r *arch.Regs, v int64, n uint64) arch.Outcome {
	q := v >> n
	r.Flags &^= flagCA | flagCA32
	if v < 0 && q<<n != v {
		r.Flags |= flagCA | flagCA32
	}
	return in.put(r, uint64(q))
}

func execExtendShift(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(int64(int32(r.R[in.a])))<<in.imm)
}
