package ppc64

import (
	"math"
	"math/bits"

	"kpsim/smp/arch"
)

// arithForms are the arithmetic instructions (Book I, "Fixed-Point Arithmetic Instructions").
var arithForms = []form{
	{name: "addi", pattern: d(14), layout: layTZI, run: execAdd},
	{name: "addis", pattern: d(15), layout: layTZH, run: execAdd},
	{name: "addpcis", pattern: d(opCR).with(0x3e, 2<<1), layout: layNext, run: execAdd},
	{name: "addic", pattern: d(12), layout: layTAI, run: execAddCarrying},
	{name: "addic.", pattern: d(13), layout: layTAI, run: execAddCarrying, records: always},
	{name: "subfic", pattern: d(8), layout: laySubtractI, run: execAddCarrying},
	{name: "mulli", pattern: d(7), layout: layTAI, run: execMultiply},

	{name: "add", pattern: x(266), layout: layTAB, run: execAdd, records: byBit, over: execOverflow},
	{name: "subf", pattern: x(40), layout: laySubtract, run: execSubtract, records: byBit, over: execOverflow},
	{name: "neg", pattern: x(104).zero(fieldB), layout: layNegate, run: execSubtract, records: byBit,
		over: execOverflow},
	{name: "addc", pattern: x(10), layout: layTAB, run: execAddCarrying, records: byBit, over: execOverflow},
	{name: "subfc", pattern: x(8), layout: laySubtract, run: execAddCarrying, records: byBit, over: execOverflow},
	{name: "adde", pattern: x(138), layout: layTAB, run: execAddExtended, records: byBit, over: execOverflow},
	{name: "subfe", pattern: x(136), layout: laySubtractE, run: execAddExtended, records: byBit,
		over: execOverflow},
	{name: "addme", pattern: x(234).zero(fieldB), layout: layAddM, run: execAddExtended, records: byBit,
		over: execOverflow},
	{name: "subfme", pattern: x(232).zero(fieldB), layout: laySubtractM, run: execAddExtended, records: byBit,
		over: execOverflow},
	{name: "addze", pattern: x(202).zero(fieldB), layout: layTA, run: execAddExtended, records: byBit,
		over: execOverflow},
	{name: "subfze", pattern: x(200).zero(fieldB), layout: laySubtractZ, run: execAddExtended, records: byBit,
		over: execOverflow},

	{name: "mulld", pattern: x(233), layout: layTAB, run: execMultiply, records: byBit, over: execUnfit,
		fits: productFits},
	{name: "mullw", pattern: x(235), layout: layTAB, run: execMultiplyWord, records: byBit, over: execUnfit,
		fits: productFitsWord},
	{name: "mulhd", pattern: x(73), layout: layTAB, run: execMultiplyHigh, records: byBit},
	{name: "mulhdu", pattern: x(9), layout: layTAB, run: execMultiplyHighU, records: byBit},
	{name: "mulhw", pattern: x(75), layout: layTAB, run: execMultiplyHighWord, records: byBit},
	{name: "mulhwu", pattern: x(11), layout: layTAB, run: execMultiplyHighWordU, records: byBit},
	{name: "maddhd", pattern: va(48), layout: layTABC, run: execMultiplyAddHigh},
	{name: "maddhdu", pattern: va(49), layout: layTABC, run: execMultiplyAddHighU},
	{name: "maddld", pattern: va(51), layout: layTABC, run: execMultiplyAdd},

	divides("divd", 489, quotient),
	divides("divdu", 457, quotientU),
	divides("divde", 425, quotientExtended),
	divides("divdeu", 393, quotientExtendedU),
	divides("divw", 491, quotientWord),
	divides("divwu", 459, quotientWordU),
	divides("divwe", 427, quotientExtendedWord),
	divides("divweu", 395, quotientExtendedWordU),
	{name: "modsd", pattern: x(777), layout: layTAB, run: execModulo},
	{name: "modud", pattern: x(265), layout: layTAB, run: execModuloU},
	{name: "modsw", pattern: x(779), layout: layTAB, run: execModuloWord},
	{name: "moduw", pattern: x(267), layout: layTAB, run: execModuloWordU},
}

// layNext is of addpcis: it adds to the address of the next instruction. The immediate has its bits in
// three fields.
var layNext = by("t,n", func(in *Inst) {
	in.d, in.aMask = in.word.fieldT(), 0
	in.imm = uint64(in.next) + in.word.farImmediate()
})

// farImmediate is of the DX form: d0, d1 and d2 are bits 16 to 25, 11 to 15 and 31.
func (w word) farImmediate() uint64 {
	return uint64(int64(int16(w&0xffc0|w>>16&31<<1|w&1))) << 16
}

func execAdd(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.sum(r))
}

func execSubtract(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.second(r)-in.first(r))
}

func execAddCarrying(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.carrying(r, in.carry)
}

func execAddExtended(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.carrying(r, r.Flags>>shiftCA&1)
}

// carrying sets CA, and CA32 by the carry out of the lower 32 bits.
func (in *Inst) carrying(r *arch.Regs, carry uint64) arch.Outcome {
	a, b := in.first(r)^in.flip, in.second(r)
	v, out := bits.Add64(a, b, carry)
	r.Flags = r.Flags&^(flagCA|flagCA32) | out<<shiftCA | (a^b^v)>>32&1<<18
	return in.put(r, v)
}

// execRecord sets CR0 by the result of what the instruction does without Rc: 64 bits of it, compared
// with zero. Such instructions don't fault.
func execRecord(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	out := in.inner(op, r, m)
	v := int64(r.R[in.d])
	setField(r, shiftCR0, condition(r, v < 0, v > 0))
	return out
}

// execOverflow sets OV and SO if a sum of signed numbers has too many bits, and OV32 likewise for the
// lower half.
func execOverflow(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	a, b := in.first(r)^in.flip, in.second(r)
	out := in.core(op, r, m)
	v := r.R[in.d]
	over := (a ^ v) & (b ^ v)
	setOverflow(r, over>>63 != 0, over>>31&1 != 0)
	return out
}

// execUnfit sets OV, OV32 and SO if a product or quotient has too many bits.
func execUnfit(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	ok := in.form.fits(r.R[in.a], r.R[in.b])
	out := in.core(op, r, m)
	setOverflow(r, !ok, !ok)
	return out
}

func setOverflow(r *arch.Regs, over, over32 bool) {
	r.Flags &^= flagOV | flagOV32
	if over {
		r.Flags |= flagOV | flagSO
	}
	if over32 {
		r.Flags |= flagOV32
	}
}

func execMultiply(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.first(r)*in.second(r))
}

func execMultiplyWord(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, productWord(r.R[in.a], r.R[in.b]))
}

func productWord(a, b uint64) uint64 { return uint64(int64(int32(a)) * int64(int32(b))) }

func productFitsWord(a, b uint64) bool {
	v := int64(productWord(a, b))
	return v == int64(int32(v))
}

func productFits(a, b uint64) bool { return productHigh(a, b) == uint64(int64(a*b)>>63) }

// productHigh returns the upper half of the product of signed numbers.
func productHigh(a, b uint64) uint64 {
	hi, _ := bits.Mul64(a, b)
	return hi - b&signOf(a) - a&signOf(b)
}

// signOf returns all ones if a number is negative, or 0.
func signOf(v uint64) uint64 { return uint64(int64(v) >> 63) }

func execMultiplyHigh(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, productHigh(r.R[in.a], r.R[in.b]))
}

func execMultiplyHighU(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	hi, _ := bits.Mul64(r.R[in.a], r.R[in.b])
	return in.put(r, hi)
}

// The upper half of the result of an instruction on words is undefined unless the manual says more.
// Here it is zero, or the sign of divwe.

func execMultiplyHighWord(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, productWord(r.R[in.a], r.R[in.b])>>32)
}

func execMultiplyHighWordU(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(uint32(r.R[in.a]))*uint64(uint32(r.R[in.b]))>>32)
}

func execMultiplyAdd(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, r.R[in.a]*r.R[in.b]+r.R[in.c])
}

func execMultiplyAddHigh(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	a, b, c := r.R[in.a], r.R[in.b], r.R[in.c]
	_, carry := bits.Add64(a*b, c, 0)
	return in.put(r, productHigh(a, b)+signOf(c)+carry)
}

func execMultiplyAddHighU(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	hi, lo := bits.Mul64(r.R[in.a], r.R[in.b])
	_, carry := bits.Add64(lo, r.R[in.c], 0)
	return in.put(r, hi+carry)
}

// A quotient divides. ok false: it divides by zero or the quotient has too many bits. The result is
// undefined then, and nothing traps: here it is zero.
type divide func(a, b uint64) (q uint64, ok bool)

// divides makes the form of a division.
func divides(name string, xo word, q divide) form {
	return form{name: name, pattern: x(xo), layout: layTAB, records: byBit, over: execUnfit,
		run: func(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
			in := of(op)
			v, _ := q(r.R[in.a], r.R[in.b])
			return in.put(r, v)
		},
		fits: func(a, b uint64) bool { _, ok := q(a, b); return ok }}
}

func quotient(a, b uint64) (uint64, bool) {
	if b == 0 || int64(a) == math.MinInt64 && b == ^uint64(0) {
		return 0, false
	}
	return uint64(int64(a) / int64(b)), true
}

func quotientU(a, b uint64) (uint64, bool) {
	if b == 0 {
		return 0, false
	}
	return a / b, true
}

// quotientExtended divides a number whose lower half is zero.
func quotientExtended(a, b uint64) (uint64, bool) {
	q, ok := quotientExtendedU(magnitude(a), magnitude(b))
	most := uint64(math.MaxInt64)
	if signOf(a) != signOf(b) {
		most++
	}
	switch {
	case !ok || q > most:
		return 0, false
	case signOf(a) != signOf(b):
		q = -q
	}
	return q, true
}

func magnitude(v uint64) uint64 { return v ^ signOf(v) - signOf(v) }

func quotientExtendedU(a, b uint64) (uint64, bool) {
	if a >= b {
		return 0, false
	}
	q, _ := bits.Div64(a, 0, b)
	return q, true
}

func quotientWord(a, b uint64) (uint64, bool) {
	if uint32(b) == 0 || int32(a) == math.MinInt32 && int32(b) == -1 {
		return 0, false
	}
	return uint64(uint32(int32(a) / int32(b))), true
}

func quotientWordU(a, b uint64) (uint64, bool) {
	if uint32(b) == 0 {
		return 0, false
	}
	return uint64(uint32(a) / uint32(b)), true
}

func quotientExtendedWord(a, b uint64) (uint64, bool) {
	q, ok := quotient(uint64(int64(int32(a)))<<32, uint64(int64(int32(b))))
	if !ok || int64(q) != int64(int32(q)) {
		return 0, false
	}
	return q, true
}

func quotientExtendedWordU(a, b uint64) (uint64, bool) {
	if uint32(a) >= uint32(b) {
		return 0, false
	}
	return a << 32 / uint64(uint32(b)), true
}

// A remainder without a quotient is undefined, too.

func execModulo(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	a, b := r.R[in.a], r.R[in.b]
	if _, ok := quotient(a, b); !ok {
		return in.put(r, 0)
	}
	return in.put(r, uint64(int64(a)%int64(b)))
}

func execModuloU(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	a, b := r.R[in.a], r.R[in.b]
	if b == 0 {
		return in.put(r, 0)
	}
	return in.put(r, a%b)
}

func execModuloWord(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	a, b := r.R[in.a], r.R[in.b]
	if _, ok := quotientWord(a, b); !ok {
		return in.put(r, 0)
	}
	return in.put(r, uint64(int64(int32(a)%int32(b))))
}

func execModuloWordU(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	a, b := uint32(r.R[in.a]), uint32(r.R[in.b])
	if b == 0 {
		return in.put(r, 0)
	}
	return in.put(r, uint64(a%b))
}
