package isa

// choose1 is for the one-byte opcodes (SDM vol. 2, table A-2), in their order.
func (in *Inst) choose1(l *layout) {
	switch op := l.op; {
	case op < 0x40:
		in.chooseArith(l)
	case op&0xf8 == 0x50:
		in.setSize(l.stackSize())
		in.regB(l, l.plus())
		in.fn = either(in.size == 8, execPush64, execPush)
	case op&0xf8 == 0x58:
		in.setSize(l.stackSize())
		in.regA(l, l.plus())
		in.fn = either(in.size == 8, execPop64, execPop)
	case op == 0x63:
		if l.rex&rexW != 0 {
			in.formGEsized(l, 8, 4)
			in.fn = execMovsx
		}
	case op == 0x68, op == 0x6a:
		in.setSize(l.stackSize())
		in.imm &= in.mask
		in.fn = either(in.size == 8, execPush64, execPush)
	case op == 0x69, op == 0x6b:
		in.setSize(l.opSize())
		in.regA(l, l.g())
		if !in.mem {
			in.bReg = l.e()
		}
		in.op, in.fn = 1, execImul2
	case op&0xf0 == 0x70:
		if !l.opsize {
			in.chooseCond(l, execJcc)
		}
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
	case 0x80, 0x81, 0x83:
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
	case 0x8f:
		in.formE(l, l.stackSize())
		in.fn = execPop
	case 0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97:
		if l.plus() == 0 {
			in.fn = execNop // pause too; xchg %eax, %eax would clear the upper half
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
	if l.addrsize {
		return // esi, edi, ecx
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

func (in *Inst) chooseCxDx(l *layout) {
	switch op := l.op; op {
	case 0xc0, 0xc1, 0xd0, 0xd1:
		in.formE(l, l.byteOr())
		in.op, in.fn = l.reg(), either(!in.mem && in.size >= 4, shiftWide, execShift)
		if op >= 0xd0 {
			in.imm = 1
		}
	case 0xd2, 0xd3:
		in.formE(l, l.byteOr())
		in.op, in.fn = l.reg(), execShiftCL
	case 0xc2, 0xc3:
		in.imm &= 0xffff
		if !l.opsize {
			in.fn = execRet
		}
	case 0xc6, 0xc7:
		if l.reg() == 0 { // /7 is xabort, xbegin
			in.formEI(l, l.byteOr())
			in.chooseMov()
		}
	case 0xc9:
		if !l.opsize {
			in.fn = execLeave
		}
	case 0xcc:
		in.fn = execInt3
	case 0xcf:
		if l.rex&rexW != 0 {
			in.fn = execIret
		}
	}
}

func (in *Inst) chooseExFx(l *layout) {
	switch op := l.op; op {
	case 0xe0, 0xe1, 0xe2:
		in.op = op & 3
		in.fn = either(l.opsize, nil, execLoop)
	case 0xe3:
		in.fn = either(l.opsize, nil, execJrcxz)
	case 0xe8:
		in.fn = either(l.opsize, nil, execCall)
	case 0xe9, 0xeb:
		in.fn = either(l.opsize, nil, execJmp)
	case 0xf4:
		in.fn = execHlt
	case 0xf5:
		in.op, in.fn = 1, execFlagBits
	case 0xf6, 0xf7:
		in.chooseGroup3(l)
	case 0xf8:
		in.bMask, in.fn = CF, execFlagBits
	case 0xf9:
		in.imm, in.fn = CF, execFlagBits
	case 0xfa:
		in.fn = execCli
	case 0xfb:
		in.fn = execSti
	case 0xfc:
		in.bMask, in.fn = DF, execFlagBits
	case 0xfd:
		in.imm, in.fn = DF, execFlagBits
	case 0xfe, 0xff:
		in.chooseGroup5(l)
	}
}

// chooseGroup3: f6 and f7.
func (in *Inst) chooseGroup3(l *layout) {
	in.formEI(l, l.byteOr())
	switch l.reg() {
	case 0, 1:
		in.chooseAlu(opTest)
	case 2:
		in.fn = execNot
	case 3:
		in.fn = execNeg
	case 4:
		in.fn = execMul
	case 5:
		in.fn = execImul
	case 6:
		in.fn = execDiv
	case 7:
		in.fn = execIdiv
	}
}

// chooseGroup5: fe and ff.
func (in *Inst) chooseGroup5(l *layout) {
	switch l.reg() {
	case 0:
		in.formE(l, l.byteOr())
		in.fn = either(!in.mem && in.size >= 4, incWide, execInc)
		return
	case 1:
		in.formE(l, l.byteOr())
		in.fn = either(!in.mem && in.size >= 4, decWide, execDec)
		return
	}
	if l.op == 0xfe || l.opsize && l.reg() != 6 {
		return
	}
	switch l.reg() {
	case 2:
		in.formE(l, 8)
		in.fn = execCallIndirect
	case 4:
		in.formE(l, 8)
		in.fn = execJmpIndirect
	case 6:
		in.setSize(l.stackSize())
		if !in.mem {
			in.regB(l, l.e())
		}
		in.fn = execPush
	}
}
