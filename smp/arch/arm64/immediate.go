package arm64

// immediateForms are the data-processing instructions with an immediate (ARM ARM C4.1, "Data
// Processing -- Immediate").
var immediateForms = []form{
	{"0.. 10000 ................... .....", "adr", makeADR, nil},
	{"1.. 10000 ................... .....", "adrp", makeADR, nil},
	{"... 100010 . ............ ..... .....", "add or sub, immediate", makeAddImmediate, nil},
	{"... 100100 . ...... ...... ..... .....", "logical, immediate", makeLogicalImmediate, nil},
	{".00 100101 .. ................ .....", "movn", makeMoveWide, nil},
	{".10 100101 .. ................ .....", "movz", makeMoveWide, nil},
	{".11 100101 .. ................ .....", "movk", makeMoveWide, nil},
	{".00 100110 . ...... ...... ..... .....", "sbfm", makeBitfield, nil},
	{".01 100110 . ...... ...... ..... .....", "bfm", makeBitfield, nil},
	{".10 100110 . ...... ...... ..... .....", "ubfm", makeBitfield, nil},
	{".00 100111 .0 ..... ...... ..... .....", "extr", makeExtract, nil},
}

// makeADR is adr and adrp: an address relative to the instruction, or to its page of 4 KiB.
func makeADR(in *Inst, w word) error {
	in.mask = ^uint64(0)
	offset := signExtend(w.field(5, 19)<<2|w.field(29, 2), 64-21)
	in.imm = uint64(in.Addr) + offset
	if w.bit(31) {
		in.imm = uint64(in.Addr)&^0xfff + offset<<12
	}
	in.d, in.literal, in.Run = w.reg(0), true, execMoveConstant
	return nil
}

func makeAddImmediate(in *Inst, w word) error {
	in.constant(w.field(10, 12) << (12 * w.field(22, 1)))
	in.n = w.regSP(5)
	in.makeAdd(w)
	if w.bit(29) {
		in.imm ^= in.flip
		in.Run = execAddConstantFlags
		return nil
	}
	in.d = w.regSP(0)
	if w.bit(30) {
		in.imm = -in.imm
	}
	in.Run = execAddConstant
	return nil
}

// makeAdd fills in what all forms of add and sub have in common: the width, which of the two it is,
// whether it sets flags, and the destination if it isn't the stack pointer.
func (in *Inst) makeAdd(w word) {
	in.setWidth(w.bit(31))
	in.d, in.Run = w.reg(0), execAdd
	if w.bit(30) {
		in.flip, in.carry = ^uint64(0), 1
	}
	if w.bit(29) {
		in.Run = execAddFlags
	}
}

func makeLogicalImmediate(in *Inst, w word) error {
	in.setWidth(w.bit(31))
	v, ok := bitMasks(w.field(22, 1), w.field(10, 6), w.field(16, 6), in.width())
	if !ok {
		return ErrUnknown
	}
	in.constant(v)
	in.n, in.d = w.reg(5), w.regSP(0)
	op := w.field(29, 2)
	if op == 3 {
		in.d = w.reg(0)
	}
	in.Run = logicals[op]
	if op == 1 && in.n == uint8(ZR) {
		in.Run = execMoveConstant
	}
	return nil
}

// logicals are the logical operations by the field opc.
var logicals = [4]run{execAnd, execOr, execXor, execAndFlags}

// makeMoveWide is movz, movn and movk: sixteen bits at one of the places for them.
func makeMoveWide(in *Inst, w word) error {
	in.setWidth(w.bit(31))
	lsl := 16 * w.field(21, 2)
	if lsl >= uint64(in.width()) {
		return ErrUnknown
	}
	in.imm, in.d = w.field(5, 16)<<lsl, w.reg(0)
	switch w.field(29, 2) {
	case 0:
		in.imm = ^in.imm & in.mask
		in.Run = execMoveConstant
	case 2:
		in.Run = execMoveConstant
	default:
		in.bMask = in.mask &^ (0xffff << lsl)
		in.Run = execMoveKeep
	}
	return nil
}

// makeBitfield is sbfm, bfm and ubfm. Those of imms >= immr move a field down to bit 0, the others
// move one from bit 0 up (ARM ARM C6.2, "UBFM").
func makeBitfield(in *Inst, w word) error {
	in.setWidth(w.bit(31))
	immr, imms := w.field(16, 6), w.field(10, 6)
	if w.bit(22) != w.bit(31) || immr >= uint64(in.width()) || imms >= uint64(in.width()) {
		return ErrUnknown
	}
	in.d, in.n = w.reg(0), w.reg(5)
	length := imms + 1
	if imms >= immr {
		in.down, length = uint8(immr), imms-immr+1
	} else {
		in.lsl = uint8(uint64(in.width()) - immr)
	}
	in.bMask, in.up = ^uint64(0)>>(64-length), uint8(64-length)
	in.Run = bitfields[w.field(29, 2)]
	return nil
}

// bitfields are the operations on bit fields by the field opc.
var bitfields = [3]run{execSignedField, execInsertField, execField}

func makeExtract(in *Inst, w word) error {
	in.setWidth(w.bit(31))
	lsb := w.field(10, 6)
	if w.bit(22) != w.bit(31) || lsb >= uint64(in.width()) {
		return ErrUnknown
	}
	in.d, in.n, in.m, in.lsl = w.reg(0), w.reg(5), w.reg(16), uint8(lsb)
	in.Run = execExtract
	return nil
}
