package isa

// choose finds what executes the instruction and gives it its operands. What
// isn't chosen here is refused.
func (in *Inst) choose(l *layout) {
	in.flow = l.flow()
	if in.flow == FlowJump || in.flow == FlowCond || in.flow == FlowLoop || in.flow == FlowCall {
		in.imm += uint64(in.next) // the target, whether executed or not
	}
	if l.encoding == legacy {
		switch l.space {
		case map1:
			in.choose1(l)
			in.writesIF = l.op == 0x9d || l.op == 0xcf || l.op == 0xfa || l.op == 0xfb
		case map0F:
			in.choose0F(l)
		}
	}
	if l.segment != 0 && in.touchesMemory(l) {
		in.fn = nil // the bases of fs and gs aren't modelled
	}
	if l.lock && in.fn != nil && !(in.mem && l.lockable()) {
		in.fn = execUndefined
	}
	if in.fn == nil {
		in.fn, in.refused = execUnsupported, true
	}
}

// touchesMemory reports whether a segment override matters: the operand is
// memory and isn't just an address, or it is implicit.
func (in *Inst) touchesMemory(l *layout) bool {
	switch l.space {
	case map1:
		return in.mem && l.op != 0x8d || l.op >= 0xa0 && l.op <= 0xaf && l.op&^1 != 0xa8
	case map0F:
		return in.mem && l.op != 0x0d && !(l.op >= 0x18 && l.op <= 0x1f)
	}
	return in.mem
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

func (l *layout) flow() Flow {
	if l.encoding != legacy {
		return FlowNext
	}
	switch op := l.op; l.space {
	case map1:
		switch {
		case op&0xf0 == 0x70:
			return FlowCond
		case op >= 0xe0 && op <= 0xe3:
			return FlowLoop
		case op == 0xe8:
			return FlowCall
		case op == 0xe9, op == 0xeb:
			return FlowJump
		case op == 0xc2, op == 0xc3:
			return FlowRet
		case op == 0xcc:
			return FlowInt3
		case op == 0xcf:
			return FlowIret
		case op == 0xf4:
			return FlowHalt
		case op == 0xff && l.reg() == 2:
			return FlowIndirectCall
		case op == 0xff && l.reg() == 4:
			return FlowIndirectJump
		case op == 0xca, op == 0xcb, op == 0xcd, op == 0xf1, op == 0xff && (l.reg() == 3 || l.reg() == 5),
			op == 0xc7 && l.modrm == 0xf8: // far, int, int1, xbegin
			return FlowOther
		}
	case map0F:
		switch {
		case op&0xf0 == 0x80:
			return FlowCond
		case op == 0x0b, op == 0xb9, op == 0xff:
			return FlowUndefined
		case op == 0x05, op == 0x07, op == 0x34, op == 0x35, op == 0xaa: // system calls, rsm
			return FlowOther
		case op == 0x01 && (l.modrm >= 0xc1 && l.modrm <= 0xc4 || l.modrm == 0xd9): // vmcall and its like
			return FlowOther
		}
	}
	return FlowNext
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
