package x86

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
			in.fn = execNop // pause too; xchg %eax, %eax (87 c0) clears the upper half
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
