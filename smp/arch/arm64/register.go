package arm64

import "kpsim/smp/arch"

// registerForms are the data-processing instructions whose operands are registers (ARM ARM C4.1,
// "Data Processing -- Register").
var registerForms = []form{
	{"... 01010 .. . ..... ...... ..... .....", "logical, register", makeLogical, nil},
	{"... 01011 .. 0 ..... ...... ..... .....", "add or sub, register", makeAddShifted, nil},
	{"... 01011 00 1 ..... ... ... ..... .....", "add or sub, extended register", makeAddExtended, nil},
	{"... 11010000 ..... 000000 ..... .....", "adc or sbc", makeAddCarry, nil},
	{"101 11010000 ...... 00001 ..... 0 ....", "rmif", makeRotateIntoFlags, textRotateIntoFlags},
	{"001 11010000 000000 . 0010 ..... 01101", "setf8 or setf16", makeSetFlags, textSetFlags},
	{"..1 11010010 ..... .... .0 ..... 0 ....", "ccmp or ccmn", makeCompareIf, nil},
	{"..0 11010100 ..... .... 0. ..... .....", "csel and the like", makeSelect, nil},

	{".00 11010110 ..... 00001. ..... .....", "udiv or sdiv", makeTwo, nil},
	{".00 11010110 ..... 0010.. ..... .....", "lslv and the like", makeTwo, nil},
	{".00 11010110 ..... 010... ..... .....", "crc32", makeCRC, nil},
	{"100 11010110 ..... 001100 ..... .....", "pacga", refuse, textSignGeneric},

	{".10 11010110 00000 00000. ..... .....", "rbit or rev16", makeOne, nil},
	{".10 11010110 00000 00001. ..... .....", "rev", makeOne, nil},
	{".10 11010110 00000 00010. ..... .....", "clz or cls", makeOne, nil},
	{"110 11010110 00001 00.... ..... .....", "pac or aut", makeSign, textSign},
	{"110 11010110 00001 01000. 11111 .....", "xpac", makeSign, textSign},

	{".00 11011 000 ..... . ..... ..... .....", "madd or msub", makeMultiply, nil},
	{"100 11011 .01 ..... . ..... ..... .....", "smaddl and the like", makeMultiplyLong, nil},
	{"100 11011 .10 ..... 0 11111 ..... .....", "smulh or umulh", makeMultiplyHigh, nil},
}

func makeLogical(in *Inst, w word) error {
	in.setWidth(w.bit(31))
	if err := in.shifted(w); err != nil {
		return err
	}
	in.d, in.n = w.reg(0), w.reg(5)
	if w.bit(21) {
		in.flip = ^uint64(0)
	}
	op := w.field(29, 2)
	in.Run = logicals[op]
	if op == 1 && in.n == uint8(ZR) && in.flip == 0 && in.lsl == 0 {
		in.Run = execMoveRegister
	}
	return nil
}

func makeAddShifted(in *Inst, w word) error {
	in.makeAdd(w)
	in.n = w.reg(5)
	if w.field(22, 2) == 3 {
		return ErrUnknown // the second operand of add is never rotated
	}
	return in.shifted(w)
}

func makeAddExtended(in *Inst, w word) error {
	in.makeAdd(w)
	in.n = w.regSP(5)
	if !w.bit(29) {
		in.d = w.regSP(0)
	}
	lsl := w.field(10, 3)
	if lsl > 4 {
		return ErrUnknown
	}
	in.extend(w, lsl)
	return nil
}

func makeAddCarry(in *Inst, w word) error {
	in.makeAdd(w)
	in.n, in.m, in.bMask = w.reg(5), w.reg(16), ^uint64(0)
	in.Run = execAddCarry
	if w.bit(29) {
		in.Run = execAddCarryFlags
	}
	return nil
}

// makeRotateIntoFlags is rmif, of FEAT_FlagM: bits of a rotated register replace some of the flags.
func makeRotateIntoFlags(in *Inst, w word) error {
	in.n, in.lsl, in.bMask = w.reg(5), uint8(w.field(15, 6)), w.field(0, 4)<<28
	in.setWidth(true)
	in.Run = execRotateIntoFlags
	return nil
}

func execRotateIntoFlags(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	v := rotateRight(r.R[in.n], uint(in.lsl), 64) << 28
	r.Flags = r.Flags&^in.bMask | v&in.bMask
	r.IP += Len
	return arch.Next
}

// makeSetFlags is setf8 and setf16, of FEAT_FlagM: C stays.
func makeSetFlags(in *Inst, w word) error {
	in.n, in.sign = w.reg(5), 7
	if w.bit(14) {
		in.sign = 15
	}
	in.mask = 1<<(in.sign+1) - 1
	in.Run = execSetFlags
	return nil
}

func execSetFlags(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	v := r.R[in.n]
	overflow := (v>>(in.sign&63) ^ v>>(in.sign&63+1)) & 1
	r.Flags = r.Flags&^(FlagN|FlagZ|FlagV) | in.sizeFlags(v) | overflow<<28
	r.IP += Len
	return arch.Next
}

// makeCompareIf is ccmn and ccmp, with a register or an immediate.
func makeCompareIf(in *Inst, w word) error {
	in.makeAdd(w)
	in.n, in.cond, in.nzcv = w.reg(5), conditions[w.field(12, 4)], uint8(w.field(0, 4))
	in.Run = execCompareIf
	if w.bit(11) {
		in.constant(w.field(16, 5))
		return nil
	}
	in.m, in.bMask = w.reg(16), ^uint64(0)
	return nil
}

func execCompareIf(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	if in.holds(r.Flags) {
		in.addFlags(r, in.second(r), in.carry)
	} else {
		r.Flags = r.Flags&^flagsNZCV | uint64(in.nzcv)<<28
	}
	r.IP += Len
	return arch.Next
}

// makeSelect is csel, csinc, csinv and csneg. The register that is taken if the condition doesn't
// hold may be inverted, incremented, or both, which negates it.
func makeSelect(in *Inst, w word) error {
	in.setWidth(w.bit(31))
	in.d, in.n, in.m, in.cond = w.reg(0), w.reg(5), w.reg(16), conditions[w.field(12, 4)]
	if w.bit(30) {
		in.flip = ^uint64(0)
	}
	in.carry = w.field(10, 1)
	in.Run = execSelect
	return nil
}

func execSelect(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	if in.holds(r.Flags) {
		return in.set(r, r.R[in.n])
	}
	return in.set(r, r.R[in.m]^in.flip+in.carry)
}

// makeTwo has two sources: the field opcode says which.
func makeTwo(in *Inst, w word) error {
	in.setWidth(w.bit(31))
	in.d, in.n, in.m = w.reg(0), w.reg(5), w.reg(16)
	in.Run = [...]run{
		2: execDivide, 3: execDivideSigned,
		8: execShiftLeft, 9: execShiftRight, 10: execShiftSigned, 11: execRotate,
	}[w.field(10, 6)]
	return nil
}

// makeCRC is crc32b to crc32x, and crc32cb to crc32cx. Only those of 64 bits are written with sf set.
func makeCRC(in *Inst, w word) error {
	if w.bit(31) != (w.field(10, 2) == 3) {
		return ErrUnknown
	}
	in.setWidth(false)
	in.d, in.n, in.m, in.size = w.reg(0), w.reg(5), w.reg(16), 1<<w.field(10, 2)
	in.Run = execCRC
	if w.bit(12) {
		in.Run = execCRCC
	}
	return nil
}

// makeOne has one source: the field opcode says which. rev of 64 bits isn't there for 32.
func makeOne(in *Inst, w word) error {
	in.setWidth(w.bit(31))
	in.d, in.n = w.reg(0), w.reg(5)
	in.Run = [...]run{
		execReverseBits, execReverse16, execReverse32, execReverse64, execCountZeros, execCountSigns,
	}[w.field(10, 6)]
	if w.field(10, 6) == 3 && !w.bit(31) {
		return ErrUnknown
	}
	return nil
}

// makeSign is for the instructions that sign, authenticate and strip pointers. No key is enabled
// (SCTLR_EL1.EnIA and so on are 0), so nothing is ever signed, and the pointer stays as it is (ARM ARM
// D8, "Pointer authentication"). Forms with Z have no modifier: its field is 31.
func makeSign(in *Inst, w word) error {
	op := w.field(10, 6)
	if op >= 8 && op < 16 && w.field(5, 5) != 31 {
		return ErrUnknown
	}
	in.setWidth(true)
	in.d, in.m = w.reg(0), w.reg(0)
	in.Run = execMoveRegister
	return nil
}

// makeMultiplyAdd fills in what madd, msub and the long forms have in common.
func (in *Inst) makeMultiplyAdd(w word) {
	in.setWidth(w.bit(31))
	in.d, in.n, in.a, in.m = w.reg(0), w.reg(5), w.reg(10), w.reg(16)
	if w.bit(15) {
		in.flip, in.carry = ^uint64(0), 1
	}
}

func makeMultiply(in *Inst, w word) error {
	in.makeMultiplyAdd(w)
	in.Run = execMultiplyAdd
	return nil
}

func makeMultiplyLong(in *Inst, w word) error {
	in.makeMultiplyAdd(w)
	in.Run = execMultiplyLong
	if !w.bit(23) {
		in.kind = extended
	}
	return nil
}

func makeMultiplyHigh(in *Inst, w word) error {
	in.setWidth(true)
	in.d, in.n, in.m = w.reg(0), w.reg(5), w.reg(16)
	in.Run = execMultiplyHighSigned
	if w.bit(23) {
		in.Run = execMultiplyHigh
	}
	return nil
}
