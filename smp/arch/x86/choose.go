package x86

import (
	"kpsim/smp/arch"
)

// choose finds what executes the instruction and gives it its operands. What
// isn't chosen here is refused.
func (in *Inst) choose(l *layout) {
	in.linear = sizeMask(8 >> l.mode) // 32 bits in Mode32
	in.next &= arch.Addr(in.linear)
	in.flow = l.flow()
	if in.flow == arch.FlowJump || in.flow == arch.FlowCond || in.flow == arch.FlowLoop || in.flow == arch.FlowCall {
		in.imm = (in.imm + uint64(in.next)) & in.linear // the target, whether executed or not
		if l.opsize && l.mode == Mode32 {
			in.imm &= 0xffff
		}
	}
	switch {
	case l.encoding == vex:
		in.chooseVex(l)
	case l.encoding != legacy:
	case l.space == map1:
		in.choose1(l)
		in.writesIF = l.op == 0x9d || l.op == 0xcf || l.op == 0xfa || l.op == 0xfb
	case l.space == map0F:
		in.choose0F(l)
	case l.space == map0F38:
		in.choose0F38(l)
	}
	if in.segment = in.override(l); in.segment != 0 && in.fn != nil && in.usesSegment(l) {
		in.inner, in.fn = in.fn, execOverride
	}
	if l.lock && !(in.mem && l.lockable()) {
		in.fn = execUndefined
	}
	if in.fn == nil {
		in.fn, in.refused = execUnsupported, true
	}
}

// lockable reports whether a memory operand may be locked (SDM vol. 2, LOCK);
// with any other instruction the prefix is undefined.
func (l *layout) lockable() bool {
	switch op := l.op; l.space {
	case map1:
		switch {
		case op < 0x38:
			return op&7 < 2 // op E, G
		case op >= 0x80 && op <= 0x83:
			return l.reg() != 7
		case op == 0x86, op == 0x87:
			return true
		case op == 0xf6, op == 0xf7:
			return l.reg() == 2 || l.reg() == 3
		case op == 0xfe, op == 0xff:
			return l.reg() < 2
		}
	case map0F:
		switch op {
		case 0xab, 0xb3, 0xbb, 0xb0, 0xb1, 0xc0, 0xc1:
			return true
		case 0xba:
			return l.reg() > 4
		case 0xc7:
			return l.reg() == 1
		}
	}
	return false
}

// elsewhere0F01 are the instructions of 0f 01 after which something else may
// be executed, by the low six bits of ModRM; a bit each for the prefixes none,
// 66, f3, f2: of virtual machines and enclaves, and returns from events.
var elsewhere0F01 = [64]uint8{
	0x01: 15, 0x02: 15, 0x03: 15, 0x04: 15, // vmcall, vmlaunch, vmresume, vmxoff
	0x0a: 12, 0x2c: 4, // eretu, erets; uiret
	0x0c: 2, 0x0d: 2, 0x0e: 2, 0x0f: 2, // tdcall, seamret, seamops, seamcall
	0x17: 1,                      // enclu
	0x18: 15, 0x19: 15, 0x1e: 15, // vmrun, vmmcall, vmgexit, skinit
}

func (l *layout) flow() arch.Flow {
	if l.encoding != legacy {
		return arch.FlowNext
	}
	switch op := l.op; l.space {
	case map1:
		switch {
		case op&0xf0 == 0x70:
			return arch.FlowCond
		case op >= 0xe0 && op <= 0xe3:
			return arch.FlowLoop
		case op == 0xe8:
			return arch.FlowCall
		case op == 0xe9, op == 0xeb:
			return arch.FlowJump
		case op == 0xc2, op == 0xc3:
			return arch.FlowRet
		case op == 0xcc:
			return arch.FlowBreakpoint
		case op == 0xcf:
			return arch.FlowTrapReturn
		case op == 0xf4:
			return arch.FlowHalt
		case op == 0xff && l.reg() == 2:
			return arch.FlowIndirectCall
		case op == 0xff && l.reg() == 4:
			return arch.FlowIndirectJump
		case op == 0xca, op == 0xcb, op == 0x9a, op == 0xea, op == 0xff && (l.reg() == 3 || l.reg() == 5), // far
			op == 0xcd, op == 0xce, op == 0xf1, // int, into, int1
			(op == 0xc6 || op == 0xc7) && l.modrm == 0xf8: // xabort, xbegin
			return arch.FlowOther
		}
	case map0F:
		switch {
		case op&0xf0 == 0x80:
			return arch.FlowCond
		case op == 0x0b, op == 0xb9, op == 0xff:
			return arch.FlowUndefined
		case op == 0x05, op == 0x07, op == 0x34, op == 0x35, op == 0xaa: // system calls, rsm
			return arch.FlowOther
		case op == 0x01 && l.modrm >= 0xc0 && elsewhere0F01[l.modrm&63]>>l.pp&1 != 0:
			return arch.FlowOther
		}
	}
	return arch.FlowNext
}

// aluFns are the operations with a version for 32 and 64 bits.
var aluFns = [...]exec{
	opAdd: addWide, opOr: orWide, opAdc: aluRX, opSbb: aluRX, opAnd: andWide, opSub: subWide, opXor: xorWide,
	opCmp: cmpWide, opTest: testWide,
}

// chooseAlu is for forms EG, EI and those with the accumulator.
func (in *Inst) chooseAlu(op uint8) {
	in.op = op
	switch {
	case in.mem:
		in.fn = aluMX
	case in.size >= 4:
		in.fn = aluFns[op]
	default:
		in.fn = aluRX
	}
}

// chooseMov is for forms EG and EI, and for a register and an immediate.
func (in *Inst) chooseMov() {
	switch {
	case in.mem:
		in.fn = movMX
	case in.size >= 4:
		in.fn = movWide
	default:
		in.fn = movRX
	}
}

// either returns one or the other.
func either(first bool, a, b exec) exec {
	if first {
		return a
	}
	return b
}

// chooseCond is for jcc, setcc and cmov.
func (in *Inst) chooseCond(l *layout, fn exec) {
	in.cond = conditions[l.op&15]
	in.fn = fn
}

// choose1 is for the one-byte opcodes (SDM vol. 2, table A-2), in their order.
func (in *Inst) choose1(l *layout) {
	if l.mode == Mode32 && in.choose32(l) {
		return
	}
	switch op := l.op; {
	case op < 0x40:
		in.chooseArith(l)
	case op < 0x50: // REX
	case op < 0x58:
		in.setSize(l.stackSize())
		in.regB(l, l.plus())
		in.fn = either(in.size == 8, execPush64, execPush)
	case op < 0x60:
		in.setSize(l.stackSize())
		in.regA(l, l.plus())
		in.fn = either(in.size == 8, execPop64, execPop)
	case op < 0x70:
		in.choose6x(l)
	case op < 0x80:
		in.chooseCond(l, in.near(l, execJcc))
	case op < 0xa0:
		in.choose8x9x(l)
	case op < 0xb0:
		in.chooseAx(l)
	case op < 0xc0:
		size := uint8(1)
		if op >= 0xb8 {
			size = l.opSize()
		}
		in.formRI(l, size, l.plus())
		in.chooseMov()
	case op < 0xe0:
		in.chooseCxDx(l)
	default:
		in.chooseExFx(l)
	}
}

// near returns what executes a near branch: nothing in 64-bit mode with a 66
// that counts, which Intel's processors ignore and AMD's don't.
func (in *Inst) near(l *layout, fn exec) exec {
	return either(l.opsize && l.rex&rexW == 0 && l.mode == Mode64, nil, fn)
}

func (in *Inst) choose6x(l *layout) {
	switch l.op {
	case 0x63: // in 64-bit mode; without REX.W it is mov, of 16 bits as many as the vendor likes
		in.formGEsized(l, l.opSize(), 4)
		in.fn = either(in.size == 2, nil, execMovsx)
	case 0x68, 0x6a:
		in.setSize(l.stackSize())
		in.imm &= in.mask
		in.fn = either(in.size == 8, execPush64, execPush)
	case 0x69, 0x6b:
		in.setSize(l.opSize())
		in.regA(l, l.g())
		if !in.mem {
			in.bReg = l.e()
		}
		in.op, in.fn = 1, execImul2
	}
}

// chooseArith: 00 to 3f.
func (in *Inst) chooseArith(l *layout) {
	op := l.op >> 3 & 7
	switch l.op & 7 {
	case 0, 1:
		in.formEG(l, l.byteOr())
		in.chooseAlu(op)
	case 2, 3:
		in.formGE(l, l.byteOr())
		in.chooseAlu(op)
		if in.mem {
			in.fn = aluRM
		}
	case 4, 5:
		in.formRI(l, l.byteOr(), byte(RAX))
		in.chooseAlu(op)
	}
}

func (in *Inst) choose8x9x(l *layout) {
	switch op := l.op; op {
	case 0x80, 0x81, 0x82, 0x83:
		in.formEI(l, l.byteOr())
		in.chooseAlu(l.reg())
	case 0x84, 0x85:
		in.formEG(l, l.byteOr())
		in.chooseAlu(opTest)
	case 0x86, 0x87:
		in.formEG(l, l.byteOr())
		in.fn = execXchg
	case 0x88, 0x89:
		in.formEG(l, l.byteOr())
		in.chooseMov()
	case 0x8a, 0x8b:
		in.formGE(l, l.byteOr())
		in.chooseMov()
		if in.mem {
			in.fn = either(in.size >= 4, movWideM, movRM)
		}
	case 0x8d:
		in.formGE(l, l.opSize())
		in.fn = execLea
	case 0x8c:
		in.formE(l, l.opSize())
		in.op, in.fn = l.reg(), execStoreSeg
	case 0x8e:
		in.formE(l, 2)
		in.op, in.fn = l.reg(), either(l.reg() != CS, execLoadSeg, execUndefined)
	case 0x8f:
		in.formE(l, l.stackSize())
		in.fn = execPop
	case 0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97:
		if l.plus() == 0 {
			in.fn = either(l.rep == 0xf3, execPause, execNop) // xchg %eax, %eax (87 c0) clears the upper half
			break
		}
		in.setSize(l.opSize())
		in.regA(l, l.plus())
		in.regB(l, byte(RAX))
		in.fn = execXchg
	case 0x98:
		in.setSize(l.opSize())
		in.fn = execExtend
	case 0x99:
		in.setSize(l.opSize())
		in.fn = execSpread
	case 0x9c:
		in.setSize(l.stackSize())
		in.fn = execPushf
	case 0x9d:
		in.setSize(l.stackSize())
		in.fn = execPopf
	case 0x9e:
		in.fn = execSahf
	case 0x9f:
		in.fn = execLahf
	}
}

// chooseAx: moves with an absolute address, test, string instructions.
func (in *Inst) chooseAx(l *layout) {
	in.setSize(l.byteOr())
	switch l.op &^ 1 {
	case 0xa0, 0xa2:
		at := in.imm & in.addrMask
		in.imm = 0
		in.mem, in.disp = true, at
		if l.op < 0xa2 {
			in.regA(l, byte(RAX))
			in.fn = movRM
		} else {
			in.regB(l, byte(RAX))
			in.fn = movMX
		}
		return
	case 0xa8:
		in.formRI(l, in.size, byte(RAX))
		in.chooseAlu(opTest)
		return
	}
	switch l.rep {
	case 0xf3:
		in.rep = rep
	case 0xf2:
		in.rep = repne
	}
	switch l.op &^ 1 {
	case 0xa4:
		in.fn = execMovs
	case 0xa6:
		in.fn, in.cond = execCmps, 1
	case 0xaa:
		in.fn = execStos
	case 0xac:
		in.fn = execLods
	case 0xae:
		in.fn, in.cond = execScas, 1
	}
}

// choose32 is for the one-byte opcodes that 64-bit mode lacks or has another use
// for. It reports whether the opcode is one.
func (in *Inst) choose32(l *layout) bool {
	switch op := l.op; op {
	case 0x06, 0x0e, 0x16, 0x1e:
		in.setSize(l.stackSize())
		in.op, in.fn = op>>3, execPushSeg
	case 0x07, 0x17, 0x1f:
		in.setSize(l.stackSize())
		in.op, in.fn = op>>3, execPopSeg
	case 0x27:
		in.fn = execDaa
	case 0x2f:
		in.fn = execDas
	case 0x37:
		in.op, in.fn = 0, execAaa
	case 0x3f:
		in.op, in.fn = 1, execAaa
	case 0x60:
		in.setSize(l.stackSize())
		in.fn = execPusha
	case 0x61:
		in.setSize(l.stackSize())
		in.fn = execPopa
	case 0x62:
		in.formGE(l, l.opSize())
		in.fn = execBound
	case 0x63:
		in.formEG(l, 2)
		in.fn = execArpl
	case 0x9a, 0xea:
		in.setSize(l.opSize())
		in.op, in.fn = uint8(bit(op == 0x9a)), execFar
	case 0xc4, 0xc5: // les, lds
		in.formGE(l, l.opSize())
		in.op, in.fn = uint8(DS*bit(op == 0xc5)), execLoadFar
	case 0xce:
		in.fn = execInto
	case 0xd4:
		in.fn = execAam
	case 0xd5:
		in.fn = execAad
	case 0xd6:
		in.fn = execSalc
	default:
		if op&0xf0 != 0x40 {
			return false
		}
		in.setSize(l.opSize())
		in.regA(l, l.plus())
		switch {
		case op < 0x48:
			in.fn = either(in.size == 4, incWide, execInc)
		default:
			in.fn = either(in.size == 4, decWide, execDec)
		}
	}
	return true
}
