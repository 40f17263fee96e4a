package x86

import "kpsim/smp/arch"

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
