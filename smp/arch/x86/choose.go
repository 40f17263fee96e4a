package x86

import (
	"kpsim/smp/arch"
)

// A chooser finds what executes an instruction, and its operands, from where its parts lie.
type chooser struct {
	*Inst
	l *layout
}

// choose finds what executes the instruction and gives it its operands. What
// isn't chosen here is refused.
func (c *chooser) choose() {
	c.linearMask = sizeMask(8 >> c.l.mode) // 32 bits in Mode32
	c.next &= arch.Addr(c.linearMask)
	c.flow = c.l.flow()
	if c.flow == arch.FlowJump || c.flow == arch.FlowCond || c.flow == arch.FlowLoop || c.flow == arch.FlowCall {
		c.imm = (c.imm + uint64(c.next)) & c.linearMask // the target, whether executed or not
		if c.l.opsize && c.l.mode == Mode32 {
			c.imm &= 0xffff
		}
	}
	switch {
	case c.l.encoding == vex:
		c.chooseVex()
	case c.l.encoding != legacy:
	case c.l.space == map1:
		c.choose1()
		c.writesIF = c.l.op == 0x9d || c.l.op == 0xcf || c.l.op == 0xfa || c.l.op == 0xfb
	case c.l.space == map0F:
		c.choose0F()
	case c.l.space == map0F38:
		c.choose0F38()
	}
	if c.segment = c.override(); c.segment != 0 && c.exec != nil && c.usesSegment() {
		c.inner, c.exec = c.exec, execOverride
	}
	if c.l.lock && !(c.mem && c.l.lockable()) {
		c.exec = execUndefined
	}
	if c.exec == nil {
		c.exec, c.refused = execUnsupported, true
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
func (c *chooser) chooseAlu(op uint8) {
	c.op = op
	switch {
	case c.mem:
		c.exec = aluMX
	case c.size >= 4:
		c.exec = aluFns[op]
	default:
		c.exec = aluRX
	}
}

// chooseMov is for forms EG and EI, and for a register and an immediate.
func (c *chooser) chooseMov() {
	switch {
	case c.mem:
		c.exec = movMX
	case c.size >= 4:
		c.exec = movWide
	default:
		c.exec = movRX
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
func (c *chooser) chooseCond(fn exec) {
	c.cond = conditions[c.l.op&15]
	c.exec = fn
}

// choose1 is for the one-byte opcodes (SDM vol. 2, table A-2), in their order.
func (c *chooser) choose1() {
	if c.l.mode == Mode32 && c.choose32() {
		return
	}
	switch op := c.l.op; {
	case op < 0x40:
		c.chooseArith()
	case op < 0x50: // REX
	case op < 0x58:
		c.setSize(c.l.stackSize())
		c.regB(c.l.plus())
		c.exec = either(c.size == 8, execPush64, execPush)
	case op < 0x60:
		c.setSize(c.l.stackSize())
		c.regA(c.l.plus())
		c.exec = either(c.size == 8, execPop64, execPop)
	case op < 0x70:
		c.choose6x()
	case op < 0x80:
		c.chooseCond(c.near(execJcc))
	case op < 0xa0:
		c.choose8x9x()
	case op < 0xb0:
		c.chooseAx()
	case op < 0xc0:
		size := uint8(1)
		if op >= 0xb8 {
			size = c.l.opSize()
		}
		c.formRI(size, c.l.plus())
		c.chooseMov()
	case op < 0xe0:
		c.chooseCxDx()
	default:
		c.chooseExFx()
	}
}

// near returns what executes a near branch: nothing in 64-bit mode with a 66
// that counts, which Intel's processors ignore and AMD's don't.
func (c *chooser) near(fn exec) exec {
	return either(c.l.opsize && c.l.rex&rexW == 0 && c.l.mode == Mode64, nil, fn)
}

func (c *chooser) choose6x() {
	switch c.l.op {
	case 0x63: // in 64-bit mode; without REX.W it is mov, of 16 bits as many as the vendor likes
		c.formGEsized(c.l.opSize(), 4)
		c.exec = either(c.size == 2, nil, execMovsx)
	case 0x68, 0x6a:
		c.setSize(c.l.stackSize())
		c.imm &= c.mask
		c.exec = either(c.size == 8, execPush64, execPush)
	case 0x69, 0x6b:
		c.setSize(c.l.opSize())
		c.regA(c.l.g())
		if !c.mem {
			c.bReg = c.l.e()
		}
		c.op, c.exec = 1, execImul2
	}
}

// chooseArith: 00 to 3f.
func (c *chooser) chooseArith() {
	op := c.l.op >> 3 & 7
	switch c.l.op & 7 {
	case 0, 1:
		c.formEG(c.l.byteOr())
		c.chooseAlu(op)
	case 2, 3:
		c.formGE(c.l.byteOr())
		c.chooseAlu(op)
		if c.mem {
			c.exec = aluRM
		}
	case 4, 5:
		c.formRI(c.l.byteOr(), byte(RAX))
		c.chooseAlu(op)
	}
}

func (c *chooser) choose8x9x() {
	switch op := c.l.op; op {
	case 0x80, 0x81, 0x82, 0x83:
		c.formEI(c.l.byteOr())
		c.chooseAlu(c.l.reg())
	case 0x84, 0x85:
		c.formEG(c.l.byteOr())
		c.chooseAlu(opTest)
	case 0x86, 0x87:
		c.formEG(c.l.byteOr())
		c.exec = execXchg
	case 0x88, 0x89:
		c.formEG(c.l.byteOr())
		c.chooseMov()
	case 0x8a, 0x8b:
		c.formGE(c.l.byteOr())
		c.chooseMov()
		if c.mem {
			c.exec = either(c.size >= 4, movWideM, movRM)
		}
	case 0x8d:
		c.formGE(c.l.opSize())
		c.exec = execLea
	case 0x8c:
		c.formE(c.l.opSize())
		c.op, c.exec = c.l.reg(), execStoreSeg
	case 0x8e:
		c.formE(2)
		c.op, c.exec = c.l.reg(), either(c.l.reg() != CS, execLoadSeg, execUndefined)
	case 0x8f:
		c.formE(c.l.stackSize())
		c.exec = execPop
	case 0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97:
		if c.l.plus() == 0 {
			c.exec = either(c.l.rep == 0xf3, execPause, execNop) // xchg %eax, %eax (87 c0) clears the upper half
			break
		}
		c.setSize(c.l.opSize())
		c.regA(c.l.plus())
		c.regB(byte(RAX))
		c.exec = execXchg
	case 0x98:
		c.setSize(c.l.opSize())
		c.exec = execExtend
	case 0x99:
		c.setSize(c.l.opSize())
		c.exec = execSpread
	case 0x9c:
		c.setSize(c.l.stackSize())
		c.exec = execPushf
	case 0x9d:
		c.setSize(c.l.stackSize())
		c.exec = execPopf
	case 0x9e:
		c.exec = execSahf
	case 0x9f:
		c.exec = execLahf
	}
}

// chooseAx: moves with an absolute address, test, string instructions.
func (c *chooser) chooseAx() {
	c.setSize(c.l.byteOr())
	switch c.l.op &^ 1 {
	case 0xa0, 0xa2:
		at := c.imm & c.addrMask
		c.imm = 0
		c.mem, c.disp = true, at
		if c.l.op < 0xa2 {
			c.regA(byte(RAX))
			c.exec = movRM
		} else {
			c.regB(byte(RAX))
			c.exec = movMX
		}
		return
	case 0xa8:
		c.formRI(c.size, byte(RAX))
		c.chooseAlu(opTest)
		return
	}
	switch c.l.rep {
	case 0xf3:
		c.rep = rep
	case 0xf2:
		c.rep = repne
	}
	switch c.l.op &^ 1 {
	case 0xa4:
		c.exec = execMovs
	case 0xa6:
		c.exec, c.cond = execCmps, 1
	case 0xaa:
		c.exec = execStos
	case 0xac:
		c.exec = execLods
	case 0xae:
		c.exec, c.cond = execScas, 1
	}
}

// choose32 is for the one-byte opcodes that 64-bit mode lacks or has another use
// for. It reports whether the opcode is one.
func (c *chooser) choose32() bool {
	switch op := c.l.op; op {
	case 0x06, 0x0e, 0x16, 0x1e:
		c.setSize(c.l.stackSize())
		c.op, c.exec = op>>3, execPushSeg
	case 0x07, 0x17, 0x1f:
		c.setSize(c.l.stackSize())
		c.op, c.exec = op>>3, execPopSeg
	case 0x27:
		c.exec = execDaa
	case 0x2f:
		c.exec = execDas
	case 0x37:
		c.op, c.exec = 0, execAaa
	case 0x3f:
		c.op, c.exec = 1, execAaa
	case 0x60:
		c.setSize(c.l.stackSize())
		c.exec = execPusha
	case 0x61:
		c.setSize(c.l.stackSize())
		c.exec = execPopa
	case 0x62:
		c.formGE(c.l.opSize())
		c.exec = execBound
	case 0x63:
		c.formEG(2)
		c.exec = execArpl
	case 0x9a, 0xea:
		c.setSize(c.l.opSize())
		c.op, c.exec = uint8(bit(op == 0x9a)), execFar
	case 0xc4, 0xc5: // les, lds
		c.formGE(c.l.opSize())
		c.op, c.exec = uint8(DS*bit(op == 0xc5)), execLoadFar
	case 0xce:
		c.exec = execInto
	case 0xd4:
		c.exec = execAam
	case 0xd5:
		c.exec = execAad
	case 0xd6:
		c.exec = execSalc
	default:
		if op&0xf0 != 0x40 {
			return false
		}
		c.setSize(c.l.opSize())
		c.regA(c.l.plus())
		switch {
		case op < 0x48:
			c.exec = either(c.size == 4, incWide, execInc)
		default:
			c.exec = either(c.size == 4, decWide, execDec)
		}
	}
	return true
}
