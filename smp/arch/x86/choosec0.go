package x86

// The one-byte opcodes from c0 on.

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
		in.setSize(l.nearSize())
		in.fn = in.near(l, either(in.size == 8, execRet, execRetNear))
	case 0xc6, 0xc7:
		if l.reg() == 0 { // /7 is xabort, xbegin
			in.formEI(l, l.byteOr())
			in.chooseMov()
		}
	case 0xc8:
		in.setSize(l.stackSize())
		in.fn = execEnter
	case 0xc9:
		in.setSize(l.stackSize())
		in.fn = execLeave
	case 0xca, 0xcb:
		in.imm &= 0xffff
		in.setSize(l.opSize())
		in.fn = execRetFar
	case 0xcc:
		in.fn = execInt3
	case 0xcd:
		in.fn = execInt
	case 0xcf:
		in.setSize(l.opSize())
		in.fn = execIret
	case 0xd7:
		in.fn = execXlat
	}
}

func (in *Inst) chooseExFx(l *layout) {
	switch op := l.op; op {
	case 0xe0, 0xe1, 0xe2: // loopne and loope with f2 or f3 are others on AMD's processors: measured on Zen 4
		in.op = op & 3
		in.fn = either(l.rep != 0 && op != 0xe2, nil, in.near(l, execLoop))
	case 0xe3:
		in.fn = in.near(l, execJrcxz)
	case 0xe8:
		in.setSize(l.nearSize())
		in.fn = in.near(l, either(in.size == 8, execCall, execCallNear))
	case 0xe9, 0xeb:
		in.fn = in.near(l, execJmp)
	case 0xf1:
		in.fn = execInt1
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
	if l.op == 0xfe {
		return
	}
	switch l.reg() {
	case 2:
		in.formE(l, l.nearSize())
		in.fn = in.near(l, execCallIndirect)
	case 3, 5:
		in.setSize(l.opSize())
		in.op = l.reg() >> 1 & 1 // 1: call
		in.fn = either(in.mem && in.size != 8, execFar, nil)
	case 4:
		in.formE(l, l.nearSize())
		in.fn = in.near(l, execJmpIndirect)
	case 6:
		in.setSize(l.stackSize())
		if !in.mem {
			in.regB(l, l.e())
		}
		in.fn = execPush
	}
}

// nearSize is the operand size of a near branch: in 64-bit mode always 8.
func (l *layout) nearSize() uint8 {
	if l.mode == Mode64 {
		return 8
	}
	return l.opSize()
}
