package x86

// Which opcodes exist. An opcode that doesn't is #UD on every processor and has
// no length: Decode refuses it. VEX.W, VEX.L and vvvv of vector instructions
// aren't checked, although some values of them are #UD as well; those
// instructions aren't executed.

// opcodeTables are the maps after an escape.
var opcodeTables = [...][11]*opcodeTable{
	legacy: {1: &table0F, 2: &table0F38, 3: &table0F3A},
	vex:    {1: &vex0F, 2: &vex0F38, 3: &vex0F3A, 7: &vex7},
	evex:   {1: &evex0F, 2: &evex0F38, 3: &evex0F3A, 5: &evex5, 6: &evex6},
	xop:    {8: &xop8, 9: &xop9, 10: &xopA},
}

// exists reports whether there is such an instruction in this mode.
func (l *layout) exists() bool {
	if l.encoding == legacy && l.space == map1 {
		return l.exists1()
	}
	if l.illegal || int(l.space) >= len(opcodeTables[0]) {
		return false
	}
	t := opcodeTables[l.encoding][l.space]
	return t != nil && l.has(t[l.op]) && l.existsGroup()
}

// has looks up ModRM's form and the prefix.
func (l *layout) has(forms uint8) bool {
	if !l.isMem() {
		forms >>= 4
	}
	return forms>>l.pp&1 != 0
}

// only32 are the one-byte opcodes that don't exist in 64-bit mode (SDM vol. 2,
// table A-2, "i64"). c4, c5 and 62 are prefixes there. d5 is one only on a
// processor with APX (REX2), which isn't known here.
var only32 = bitmap256{
	0x40c0, 0xc0c0, 0x8080, 0x8080, 0, 0, 0x0007, 0,
	0x0004, 0x0400, 0, 0, 0x4030, 0x0070, 0x0400, 0,
}

// exists1 is for the one-byte opcodes: tables.
func (l *layout) exists1() bool {
	if l.mode == Mode64 && only32.has(l.op) {
		return false
	}
	switch op := l.op; op {
	case 0x62, 0x8d, 0xc4, 0xc5: // bound, lea, les, lds
		return l.isMem()
	case 0x8c, 0x8e: // six segment registers; to write cs is #UD, and executed as that
		return l.reg() < 6
	case 0x8f:
		return l.reg() == 0
	case 0xc6, 0xc7:
		return l.reg() == 0 || l.modrm == 0xf8 // xabort, xbegin
	case 0xfe:
		return l.reg() < 2
	case 0xff:
		return l.reg() < 7 && (l.isMem() || l.reg() != 3 && l.reg() != 5)
	case 0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf:
		return l.existsFPU()
	}
	return true
}

// fpu are the x87 instructions without a memory operand, by the low six bits
// of ModRM (SDM vol. 2, tables ). Those without a page of their own
// that every processor takes are in: feni, fdisi, fsetpm, ffreep, and the
// second encodings of fcom, fcomp, fxch and fstp.
var fpu = [8]uint64{
	^uint64(0),            // d8
	0xffff_7f33_ff01_ffff, // d9: not d1-d7, e2, e3, e6, e7, ef
	0x0000_0200_ffff_ffff, // da: fcmov, fucompp
	0x00ff_ff1f_ffff_ffff, // db
	^uint64(0),            // dc
	0x0000_ffff_ffff_ffff, // dd
	0xffff_ffff_02ff_ffff, // de: fcompp
	0x00ff_ff01_ffff_ffff, // df: fnstsw
}

func (l *layout) existsFPU() bool {
	n := l.op & 7
	if !l.isMem() {
		return fpu[n]>>(l.modrm&63)&1 != 0
	}
	switch reg := l.reg(); n {
	case 1:
		return reg != 1
	case 3:
		return reg != 4 && reg != 6
	case 5:
		return reg != 5
	}
	return true
}

// existsGroup looks at what the tables of the maps don't tell: ModRM's reg
// field, and the mode.
func (l *layout) existsGroup() bool {
	switch l.encoding {
	case legacy:
		switch l.space {
		case map0F:
			return l.exists0F()
		case map0F38:
			return l.exists0F38()
		}
		return l.op != 0xf0 || l.modrm == 0xc0 // hreset
	case xop:
		return l.existsXOP()
	}
	return l.existsVEX()
}

// exists0F is for the groups after 0f: SDM vol. 2, table A-6.
func (l *layout) exists0F() bool {
	reg, mem := l.reg(), l.isMem()
	switch op := l.op; op {
	case 0x00:
		return reg < 6 || reg == 6 && l.pp == 3 && l.mode == Mode64 // lkgs
	case 0x01:
		return l.exists0F01()
	case 0x0f:
		return threeDNow.has(l.suffix)
	case 0x71, 0x72:
		return reg == 2 || reg == 4 || reg == 6
	case 0x73:
		return reg == 2 || reg == 6 || l.pp == 1 && (reg == 3 || reg == 7)
	case 0x78:
		return l.pp != 1 || reg == 0 // extrq
	case 0xa6:
		return l.rm() == 0 && reg < 3 // VIA's montmul, xsha1, xsha256
	case 0xa7:
		return l.rm() == 0 && reg < 6 // VIA's xstore, xcrypt
	case 0xae:
		return l.has(group15[l.mode][reg])
	case 0xba:
		return reg >= 4
	case 0xc7:
		return mem && reg == 1 || l.has(group9[l.mode][reg])
	}
	return true
}

// Groups whose members depend on the prefix, by ModRM's reg field, as the
// tables of the maps write it; SDM vol. 2, table A-6. In 32-bit mode the bases
// of fs and gs have no instructions, and interrupts of user mode don't exist.
var (
	group9 = [2][8]uint8{
		Mode64: {1: 0x0f, 3: 0x01, 4: 0x01, 5: 0x01, 6: 0x77, 7: 0x71},
		Mode32: {1: 0x0f, 3: 0x01, 4: 0x01, 5: 0x01, 6: 0x37, 7: 0x71},
	}
	group15 = [2][8]uint8{
		Mode64: {0x41, 0x41, 0x41, 0x41, 0x45, 0x51, 0xf7, 0x13},
		Mode32: {0x01, 0x01, 0x01, 0x01, 0x45, 0x51, 0xf7, 0x13},
	}
)

// threeDNow are the opcodes after the operands of 0f 0f: AMD64 APM vol. 3,
// table A-13.
var threeDNow = bitmap256{
	0x3000, 0x3000, 0, 0, 0, 0, 0, 0,
	0x4400, 0x44d1, 0x44d1, 0x88d1, 0, 0, 0, 0,
}

// forms0F01 are those of 0f 01 without a memory operand, by the low six bits of
// ModRM and as in an opcodeTable, whose left digit is here for both modes and
// the right one for 64-bit mode only.
var forms0F01 = [64]uint8{
	0x10, 0xf0, 0xf0, 0xf0, 0xf0, 0x10, 0x1c, 0x01, // enclv, vm*, pconfig; wrmsrns, wrmsrlist, rdmsrlist; pbndkb
	0xf0, 0xf0, 0x1c, 0x10, 0x02, 0x02, 0x02, 0x12, // monitor, mwait; clac, erets, eretu; stac; TDX; encls
	0x10, 0x10, 0, 0, 0x10, 0x10, 0x10, 0x10, // xgetbv, xsetbv; vmfunc, xend, xtest, enclu
	0xf0, 0xd0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, // SVM
	0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, // smsw
	0xd0, 0x80, 0x40, 0, 0x04, 0x04, 0x14, 0x14, // serialize, TSX, CET; UINTR, PKU
	0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, // lmsw
	0x0f, 0xf0, 0x50, 0x10, 0x10, 0x1c, 0x1c, 0x94, // swapgs, rdtscp, monitorx, mwaitx, clzero, rdpru, SNP
}

func (l *layout) exists0F01() bool {
	if l.isMem() {
		return l.reg() != 5 || l.pp == 2 // rstorssp
	}
	forms := forms0F01[l.modrm&63]
	if l.mode == Mode64 {
		return (forms|forms>>4)>>l.pp&1 != 0
	}
	return forms>>4>>l.pp&1 != 0
}

func (l *layout) exists0F38() bool {
	switch op := l.op; op {
	case 0xd8:
		return l.reg() < 4 // aesencwide and its like
	case 0xf8:
		return l.isMem() || l.mode == Mode64 // urdmsr, uwrmsr
	}
	return true
}

// existsVEX is for VEX and EVEX.
func (l *layout) existsVEX() bool {
	reg := l.reg()
	switch l.space {
	case map0F:
		switch l.op {
		case 0x71:
			return reg == 2 || reg == 4 || reg == 6
		case 0x72:
			return reg == 2 || reg == 4 || reg == 6 || l.encoding == evex && reg < 2
		case 0x73:
			return reg == 2 || reg == 3 || reg == 6 || reg == 7
		case 0xae:
			return reg == 2 || reg == 3
		}
	case map0F38:
		return l.existsVEX38()
	case map0F3A:
		if l.encoding == vex && l.op == 0xf0 { // rorx
			return l.vlen == 0 && l.vvvv == 0
		}
	case map7:
		return reg == 0 && l.mode == Mode64
	}
	return true
}

func (l *layout) existsVEX38() bool {
	switch op := l.op; {
	case op >= 0x90 && op <= 0x93, l.encoding == evex && op >= 0xa0 && op <= 0xa3: // gather, scatter
		return l.rm() == 4
	case l.encoding == evex && (op == 0xc6 || op == 0xc7): // their prefetches
		return l.rm() == 4 && (l.reg() == 1 || l.reg() == 2 || l.reg() == 5 || l.reg() == 6)
	case l.encoding == evex:
		return true
	case op == 0x49, op == 0x4b, op == 0x5c, op == 0x5e, op == 0x6c, op&0xf0 == 0xe0: // AMX, cmpccxadd
		return l.mode == Mode64 && l.existsAMX()
	case op == 0xf3: // blsr, blsmsk, blsi
		return l.vlen == 0 && l.reg() >= 1 && l.reg() <= 3
	case op >= 0xf2 && op <= 0xf7: // other general registers
		return l.vlen == 0
	}
	return true
}

func (l *layout) existsAMX() bool {
	switch {
	case l.op == 0x4b: // loads and stores of tiles need a SIB byte
		return l.rm() == 4
	case l.op != 0x49:
		return true
	case l.isMem(): // ldtilecfg, sttilecfg
		return l.reg() == 0
	case l.pp == 0: // tilerelease
		return l.modrm == 0xc0
	}
	return l.rm() == 0 // tilezero
}

// existsXOP: AMD64 APM vol. 3, table A-16 and on.
func (l *layout) existsXOP() bool {
	reg := l.reg()
	switch {
	case l.space == mapXOP8:
		return true
	case l.op == 0x01:
		return reg != 0
	case l.op == 0x02:
		return reg == 1 || reg == 6
	case l.op == 0x12: // lightweight profiling
		return reg < 2
	}
	return true
}
