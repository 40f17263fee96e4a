package x86

import "kpsim/smp/arch"

// What the SDM leaves undefined, and what is done here all the same.
//
// A flag that is undefined is cleared. bsf and bsr of zero leave the register
// as it is; shld and shrd of 16 bits by more than 16 leave zero; bswap of 16 bits
// leaves zero; rdrand and rdseed never succeed.

// An undefinedRow says which flags an instruction leaves undefined (SDM vol. 1,
// "EFLAGS Cross-Reference", and the instruction's page in vol. 2).
type undefinedRow struct {
	encoding    encoding
	space       opcodeMap
	first, last byte  // opcodes
	step        byte  // of which every step-th; 1: all
	regs        uint8 // ModRM's reg fields, a bit each; 0: any
	rep         byte  // the prefix it must have; 0: any
	flags       uint64
	rule        undefinedRule
}

// An undefinedRule says what the number of places has to do with it.
type undefinedRule uint8

const (
	always   undefinedRule = iota
	byShift                // flags unless it is 0; OF unless it is 1; CF of shl and shr if it isn't less than the size
	byRotate               // OF unless it is 0 or 1
	byDouble               // as byShift; all flags if it is more than the size
)

var undefinedRows = [...]undefinedRow{
	// and, or, xor, test
	{legacy, map1, 0x08, 0x0d, 1, 0, 0, AF, always},
	{legacy, map1, 0x20, 0x25, 1, 0, 0, AF, always},
	{legacy, map1, 0x30, 0x35, 1, 0, 0, AF, always},
	{legacy, map1, 0x80, 0x83, 1, 1<<1 | 1<<4 | 1<<6, 0, AF, always},
	{legacy, map1, 0x84, 0x85, 1, 0, 0, AF, always},
	{legacy, map1, 0xa8, 0xa9, 1, 0, 0, AF, always},
	{legacy, map1, 0xf6, 0xf7, 1, 1<<0 | 1<<1, 0, AF, always},
	// mul, imul
	{legacy, map1, 0x69, 0x6b, 2, 0, 0, PF | AF | ZF | SF, always},
	{legacy, map1, 0xf6, 0xf7, 1, 1<<4 | 1<<5, 0, PF | AF | ZF | SF, always},
	{legacy, map0F, 0xaf, 0xaf, 1, 0, 0, PF | AF | ZF | SF, always},
	// div, idiv
	{legacy, map1, 0xf6, 0xf7, 1, 1<<6 | 1<<7, 0, arith, always},
	// shl, shr, sal, sar
	{legacy, map1, 0xc0, 0xc1, 1, 0xf0, 0, AF, byShift},
	{legacy, map1, 0xd0, 0xd3, 1, 0xf0, 0, AF, byShift},
	// rol, ror, rcl, rcr
	{legacy, map1, 0xc0, 0xc1, 1, 0x0f, 0, OF, byRotate},
	{legacy, map1, 0xd0, 0xd3, 1, 0x0f, 0, OF, byRotate},
	// shld, shrd
	{legacy, map0F, 0xa4, 0xa5, 1, 0, 0, AF, byDouble},
	{legacy, map0F, 0xac, 0xad, 1, 0, 0, AF, byDouble},
	// bt, bts, btr, btc
	{legacy, map0F, 0xa3, 0xbb, 8, 0, 0, PF | AF | SF | OF, always},
	{legacy, map0F, 0xba, 0xba, 1, 0xf0, 0, PF | AF | SF | OF, always},
	// tzcnt, lzcnt; bsf, bsr
	{legacy, map0F, 0xbc, 0xbd, 1, 0, 0xf3, PF | AF | SF | OF, always},
	{legacy, map0F, 0xbc, 0xbd, 1, 0, 0, CF | PF | AF | SF | OF, always},
	// andn; blsr, blsmsk, blsi; bzhi; bextr
	{vex, map0F38, 0xf2, 0xf2, 1, 0, 0, PF | AF, always},
	{vex, map0F38, 0xf3, 0xf3, 1, 0, 0, PF | AF, always},
	{vex, map0F38, 0xf5, 0xf5, 1, 0, 0, PF | AF, always},
	{vex, map0F38, 0xf7, 0xf7, 1, 0, 0, PF | AF | SF, always},
	// aaa, aas; daa, das; aam, aad
	{legacy, map1, 0x37, 0x3f, 8, 0, 0, PF | ZF | SF | OF, always},
	{legacy, map1, 0x27, 0x2f, 8, 0, 0, OF, always},
	{legacy, map1, 0xd4, 0xd5, 1, 0, 0, CF | AF | OF, always},
}

// UndefinedRows is how many rows the table has: a test pins it.
const UndefinedRows = len(undefinedRows)

// UndefinedFlags returns the flags that the instruction, executed with these
// registers, leaves undefined: a comparison with a processor masks them.
func (in *Inst) UndefinedFlags(before *arch.Regs) uint64 {
	var w window
	copy(w[:], in.raw[:])
	l := parse(&w, in.mode)
	if l.encoding == vex && in.op >= opPdep {
		return 0 // pdep, pext; shlx, sarx, shrx: they leave all flags
	}
	for i := range undefinedRows {
		if r := &undefinedRows[i]; r.fits(&l) {
			return r.undefined(in, &l, before)
		}
	}
	return 0
}

func (r *undefinedRow) fits(l *layout) bool {
	return r.encoding == l.encoding && r.space == l.space && l.op >= r.first && l.op <= r.last &&
		(l.op-r.first)%r.step == 0 && (r.regs == 0 || r.regs>>l.reg()&1 != 0) && (r.rep == 0 || r.rep == l.rep)
}

func (r *undefinedRow) undefined(in *Inst, l *layout, before *arch.Regs) uint64 {
	if r.rule == always {
		return r.flags
	}
	n, width := in.places(l, before), uint64(in.sign)+1
	flags := r.flags
	switch {
	case n == 0:
		return 0
	case n == 1:
		flags &^= OF
	default:
		flags |= OF
	}
	switch {
	case r.rule == byDouble && n > width:
		return arith
	case r.rule == byShift && n >= width && l.reg() != 7: // sar always has a bit to carry
		flags |= CF
	}
	return flags
}

// places is the count of a shift.
func (in *Inst) places(l *layout, s *arch.Regs) uint64 {
	switch {
	case l.space == map1 && l.op >= 0xd2, l.space == map0F && l.op&1 != 0:
		return in.count(s.R[RCX])
	}
	return in.count(in.imm)
}

// UndefinedResult reports whether the instruction, executed with these
// registers, leaves its destination undefined: bswap of 16 bits, and shld and
// shrd of 16 bits by more than 16 (SDM vol. 2). bsf and bsr of zero aren't
// counted: all processors leave the register (AMD64 manual, vol. 3, BSF).
func (in *Inst) UndefinedResult(before *arch.Regs) bool {
	var w window
	copy(w[:], in.raw[:])
	l := parse(&w, in.mode)
	if l.encoding != legacy || l.space != map0F || in.size != 2 {
		return false
	}
	switch {
	case l.op >= 0xc8 && l.op <= 0xcf:
		return true
	case l.op&^9 == 0xa4:
		return in.places(&l, before) > 16
	}
	return false
}
