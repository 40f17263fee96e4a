package x86

// choose0F is for the opcodes after 0f (SDM vol. 2, table A-3), in their order.
func (in *Inst) choose0F(l *layout) {
	switch op := l.op; {
	case op == 0x00:
		in.chooseGroup6(l)
	case op == 0x01:
		in.choose0F01(l)
	case op == 0x06:
		in.fn = execClts
	case op == 0x08:
		in.fn = execSerialize // invd: there are no caches
	case op == 0x09: // wbinvd; wbnoinvd isn't said to serialise
		in.fn = either(l.rep == 0xf3, execNop, execSerialize)
	case op >= 0x20 && op <= 0x23:
		in.chooseSystemReg(l)
	case op >= 0x30 && op <= 0x33:
		in.op = 0
		in.fn = [...]exec{execWrmsr, execTSC, execRdmsr, execProtected}[op&3]
	case op == 0x0b, op == 0xb9, op == 0xff:
		in.fn = execUndefined
	case op == 0x0d, op >= 0x18 && op <= 0x1f:
		in.fn = execNop // prefetches and hints; endbr, rdssp too on a processor without CET
	case op&0xf0 == 0x40:
		in.formGE(l, l.opSize())
		in.chooseCond(l, execCmov)
	case op&0xf0 == 0x80:
		in.chooseCond(l, in.near(l, execJcc))
	case op&0xf0 == 0x90:
		in.formE(l, 1)
		in.chooseCond(l, execSetcc)
	case op&0xf6 == 0xa0: // fs and gs
		in.setSize(l.stackSize())
		in.op, in.fn = FS+op>>3&1, either(op&1 == 0, execPushSeg, execPopSeg)
	case op == 0xa2:
		in.fn = execCpuid
	case op == 0xaa:
		in.fn = execUndefined // rsm outside of system management mode
	case op == 0xa3, op == 0xab, op == 0xb3, op == 0xbb:
		in.formEG(l, l.opSize())
		in.op, in.fn = op>>3&3, execBit
	case op == 0xba:
		if l.reg() >= 4 {
			in.formE(l, l.opSize())
			in.op, in.fn = l.reg()&3, execBit
		}
	case op == 0xa4, op == 0xa5, op == 0xac, op == 0xad:
		in.formE(l, l.opSize())
		in.bReg, in.bMask = l.g(), in.mask
		in.op, in.cond = op>>3&1, uint32(op&1)
		in.fn = execDouble
	case op == 0xae:
		in.chooseAE(l)
	case op == 0xaf:
		in.formGE(l, l.opSize())
		in.op, in.fn = 0, execImul2
	case op == 0xb0, op == 0xb1:
		in.formEG(l, l.byteOr())
		in.fn = execCmpxchg
	case op == 0xb2, op == 0xb4, op == 0xb5: // lss, lfs, lgs
		in.formGE(l, l.opSize())
		in.op = op & 7
		in.fn = either(in.mem && in.size != 8, execLoadFar, nil)
	case op == 0xb6, op == 0xb7:
		in.formGEsized(l, l.opSize(), 1+op&1)
		switch {
		case in.mem:
			in.fn = movRM
		case in.size >= 4 && in.bShift == 0:
			in.fn = movWide
		default:
			in.fn = movRX
		}
	case op == 0xbe, op == 0xbf:
		in.formGEsized(l, l.opSize(), 1+op&1)
		in.fn = execMovsx
	case op == 0xb8, op == 0xbc, op == 0xbd:
		in.chooseScan(l)
	case op == 0xc0, op == 0xc1:
		in.formEG(l, l.byteOr())
		in.fn = execXadd
	case op == 0xc3: // movnti
		if in.mem && !l.opsize && l.rep == 0 {
			in.formEG(l, l.opSize())
			in.fn = movMX
		}
	case op == 0xc7:
		in.chooseGroup9(l)
	case op >= 0xc8 && op <= 0xcf:
		in.setSize(l.opSize())
		in.regA(l, l.plus())
		in.fn = execBswap
	}
}

func (in *Inst) chooseScan(l *layout) {
	in.formGE(l, l.opSize())
	f3 := l.rep == 0xf3
	switch {
	case l.op == 0xb8 && f3:
		in.op = opPopcnt
	case l.op == 0xb8:
		return
	case l.op == 0xbc && f3:
		in.op = opTzcnt
	case l.op == 0xbc:
		in.op = opBsf
	case f3:
		in.op = opLzcnt
	default:
		in.op = opBsr
	}
	in.fn = execScan
}

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

// The groups of system instructions after 0f.

// chooseGroup6: 0f 00.
func (in *Inst) chooseGroup6(l *layout) {
	in.op = l.reg()
	switch l.reg() {
	case 0, 1:
		in.formE(l, l.opSize())
		in.fn = execStoreTask
	case 2, 3:
		in.formE(l, 2)
		in.fn = execLoadTask
	case 4, 5:
		in.formE(l, 2)
		in.fn = execVerify
	}
}

// choose0F01 is for group 7 and its register forms, each an instruction of its
// own.
func (in *Inst) choose0F01(l *layout) {
	switch {
	case in.mem && l.reg() < 4:
		in.setSize(8 >> l.mode)
		in.op = l.reg() & 1
		in.imm = in.mask
		if l.opsize && l.mode == Mode32 {
			in.imm = 1<<24 - 1
		}
		in.fn = either(l.reg() < 2, execStoreTable, execLoadTable)
	case l.reg() == 4:
		in.formE(l, l.opSize())
		in.fn = execSmsw
	case l.reg() == 6:
		in.formE(l, 2)
		in.fn = execLmsw
	case in.mem && l.reg() == 7: // invlpg
		in.fn = execSerialize
	case in.mem, l.opsize, l.rep != 0:
		return // other instructions
	}
	if in.fn != nil {
		return
	}
	switch l.modrm {
	case 0xca: // clac
		in.bMask, in.fn = ac, execFlagBits
	case 0xcb: // stac
		in.imm, in.fn = ac, execFlagBits
	case 0xd0:
		in.fn = execXgetbv
	case 0xe8: // serialize
		in.fn = execSerialize
	case 0xf8:
		in.fn = execSwapgs
	case 0xf9:
		in.op, in.fn = 1, execTSC
	}
}

// chooseSystemReg: 0f 20 to 23. The register is of the mode's size.
func (in *Inst) chooseSystemReg(l *layout) {
	in.setSize(8 >> l.mode)
	in.regA(l, l.e())
	in.op = l.g()
	exists := in.op < 8
	if l.op&1 == 0 {
		exists = in.op == 0 || in.op >= 2 && in.op <= 4 || in.op == 8
	}
	in.fn = execUndefined
	if exists {
		in.fn = [...]exec{execReadCR, execReadDR, execWriteCR, execWriteDR}[l.op&3]
	}
}

// chooseAE: 0f ae.
func (in *Inst) chooseAE(l *layout) {
	in.op = l.reg()
	switch {
	case in.mem:
		if l.rep == 0 && (l.reg() == 7 || l.reg() == 6 && l.opsize) {
			in.fn = execFlush // clflush, clflushopt; clwb
		}
	case l.rep == 0xf3 && l.reg() < 4:
		in.formE(l, l.wideSize())
		in.fn = execBase
	case l.reg() >= 5 && !l.opsize && l.rep == 0:
		in.fn = execNop // lfence, mfence, sfence: memory is in order here
	}
}

// wideSize is the operand size of an instruction that 66 doesn't change.
func (l *layout) wideSize() uint8 {
	if l.rex&rexW != 0 && l.mode == Mode64 {
		return 8
	}
	return 4
}

// chooseGroup9: 0f c7.
func (in *Inst) chooseGroup9(l *layout) {
	switch {
	case in.mem && l.reg() == 1:
		in.setSize(l.wideSize())
		in.fn = either(in.size == 8, execCmpxchg16b, execCmpxchg8b)
	case in.mem:
	case l.reg() == 7 && l.rep == 0xf3:
		in.formE(l, 8>>l.mode)
		in.fn = execRdpid
	case l.reg() >= 6 && l.rep == 0:
		in.formE(l, l.opSize())
		in.fn = execRandom
	}
}

// choose0F38: movbe, crc32, adcx, adox, movdiri.
func (in *Inst) choose0F38(l *layout) {
	switch op := l.op; {
	case op&^1 == 0xf0 && l.rep == 0xf2:
		in.formGEsized(l, l.wideSize(), l.byteOr())
		in.fn = execCrc32
	case op&^1 == 0xf0 && l.rep == 0 && in.mem:
		in.formEG(l, l.opSize())
		if op == 0xf0 {
			in.formGE(l, l.opSize())
		}
		in.op, in.fn = op&1, execMovbe
	case op == 0xf6 && (l.rep == 0xf3 || l.rep == 0 && l.opsize):
		in.formGE(l, l.wideSize())
		in.cond, in.fn = uint32(CF), execAddCarry
		if l.rep == 0xf3 {
			in.cond = uint32(OF)
		}
	case op == 0xf9 && l.rep == 0 && !l.opsize && in.mem:
		in.formEG(l, l.opSize())
		in.fn = movMX
	}
}

// chooseVex is for BMI: VEX with general registers. With L set, or a register in
// vvvv that isn't used, there is no such instruction.
func (in *Inst) chooseVex(l *layout) {
	if l.space != map0F38 && l.space != map0F3A {
		return
	}
	in.cReg = l.vvvv
	if l.mode == Mode32 {
		in.cReg &= 7
	}
	imm := in.imm
	in.formGE(l, l.wideSize())
	switch op := l.op; {
	case l.space == map0F3A:
		if op == 0xf0 && l.pp == 3 {
			in.op, in.fn = uint8(imm), execRorx
			in.imm = 0
		}
	case op == 0xf2 && l.pp == 0:
		in.op, in.fn = opAndn, execBMI
	case op == 0xf3 && l.pp == 0 && l.reg() >= 1 && l.reg() <= 3:
		in.regA(l, in.cReg)
		in.op, in.fn = opAndn+l.reg(), execBMI
	case op == 0xf5 && l.pp != 1:
		in.op, in.fn = [...]uint8{0: opBzhi, 2: opPext, 3: opPdep}[l.pp], execBMI
	case op == 0xf6 && l.pp == 3:
		in.fn = execMulx
	case op == 0xf7:
		in.op, in.fn = [...]uint8{opBextr, opShlx, opSarx, opShrx}[l.pp], execBMI
	}
}
