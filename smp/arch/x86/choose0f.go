package x86

// choose0F is for the opcodes after 0f (SDM vol. 2, table A-3), in their order.
func (c *chooser) choose0F() {
	switch op := c.l.op; {
	case op == 0x00:
		c.chooseGroup6()
	case op == 0x01:
		c.choose0F01()
	case op == 0x06:
		c.exec = execClts
	case op == 0x08:
		c.exec = execSerialize // invd: there are no caches
	case op == 0x09: // wbinvd; wbnoinvd isn't said to serialise
		c.exec = either(c.l.rep == 0xf3, execNop, execSerialize)
	case op >= 0x20 && op <= 0x23:
		c.chooseSystemReg()
	case op >= 0x30 && op <= 0x33:
		c.op = 0
		c.exec = [...]exec{execWrmsr, execTSC, execRdmsr, execProtected}[op&3]
	case op == 0x0b, op == 0xb9, op == 0xff:
		c.exec = execUndefined
	case op == 0x0d, op >= 0x18 && op <= 0x1f:
		c.exec = execNop // prefetches and hints; endbr, rdssp too on a processor without CET
	case op&0xf0 == 0x40:
		c.formGE(c.l.opSize())
		c.chooseCond(execCmov)
	case op&0xf0 == 0x80:
		c.chooseCond(c.near(execJcc))
	case op&0xf0 == 0x90:
		c.formE(1)
		c.chooseCond(execSetcc)
	case op&0xf6 == 0xa0: // fs and gs
		c.setSize(c.l.stackSize())
		c.op, c.exec = FS+op>>3&1, either(op&1 == 0, execPushSeg, execPopSeg)
	case op == 0xa2:
		c.exec = execCpuid
	case op == 0xaa:
		c.exec = execUndefined // rsm outside of system management mode
	case op == 0xa3, op == 0xab, op == 0xb3, op == 0xbb:
		c.formEG(c.l.opSize())
		c.op, c.exec = op>>3&3, execBit
	case op == 0xba:
		if c.l.reg() >= 4 {
			c.formE(c.l.opSize())
			c.op, c.exec = c.l.reg()&3, execBit
		}
	case op == 0xa4, op == 0xa5, op == 0xac, op == 0xad:
		c.formE(c.l.opSize())
		c.bReg, c.bMask = c.l.g(), c.mask
		c.op, c.cond = op>>3&1, uint32(op&1)
		c.exec = execDouble
	case op == 0xae:
		c.chooseAE()
	case op == 0xaf:
		c.formGE(c.l.opSize())
		c.op, c.exec = 0, execImul2
	case op == 0xb0, op == 0xb1:
		c.formEG(c.l.byteOr())
		c.exec = execCmpxchg
	case op == 0xb2, op == 0xb4, op == 0xb5: // lss, lfs, lgs
		c.formGE(c.l.opSize())
		c.op = op & 7
		c.exec = either(c.mem && c.size != 8, execLoadFar, nil)
	case op == 0xb6, op == 0xb7:
		c.formGEsized(c.l.opSize(), 1+op&1)
		switch {
		case c.mem:
			c.exec = movRM
		case c.size >= 4 && c.bShift == 0:
			c.exec = movWide
		default:
			c.exec = movRX
		}
	case op == 0xbe, op == 0xbf:
		c.formGEsized(c.l.opSize(), 1+op&1)
		c.exec = execMovsx
	case op == 0xb8, op == 0xbc, op == 0xbd:
		c.chooseScan()
	case op == 0xc0, op == 0xc1:
		c.formEG(c.l.byteOr())
		c.exec = execXadd
	case op == 0xc3: // movnti
		if c.mem && !c.l.opsize && c.l.rep == 0 {
			c.formEG(c.l.opSize())
			c.exec = movMX
		}
	case op == 0xc7:
		c.chooseGroup9()
	case op >= 0xc8 && op <= 0xcf:
		c.setSize(c.l.opSize())
		c.regA(c.l.plus())
		c.exec = execBswap
	}
}

func (c *chooser) chooseScan() {
	c.formGE(c.l.opSize())
	f3 := c.l.rep == 0xf3
	switch {
	case c.l.op == 0xb8 && f3:
		c.op = opPopcnt
	case c.l.op == 0xb8:
		return
	case c.l.op == 0xbc && f3:
		c.op = opTzcnt
	case c.l.op == 0xbc:
		c.op = opBsf
	case f3:
		c.op = opLzcnt
	default:
		c.op = opBsr
	}
	c.exec = execScan
}

// The one-byte opcodes from c0 on.

func (c *chooser) chooseCxDx() {
	switch op := c.l.op; op {
	case 0xc0, 0xc1, 0xd0, 0xd1:
		c.formE(c.l.byteOr())
		c.op, c.exec = c.l.reg(), either(!c.mem && c.size >= 4, shiftWide, execShift)
		if op >= 0xd0 {
			c.imm = 1
		}
	case 0xd2, 0xd3:
		c.formE(c.l.byteOr())
		c.op, c.exec = c.l.reg(), execShiftCL
	case 0xc2, 0xc3:
		c.imm &= 0xffff
		c.setSize(c.l.nearSize())
		c.exec = c.near(either(c.size == 8, execRet, execRetNear))
	case 0xc6, 0xc7:
		if c.l.reg() == 0 { // /7 is xabort, xbegin
			c.formEI(c.l.byteOr())
			c.chooseMov()
		}
	case 0xc8:
		c.setSize(c.l.stackSize())
		c.exec = execEnter
	case 0xc9:
		c.setSize(c.l.stackSize())
		c.exec = execLeave
	case 0xca, 0xcb:
		c.imm &= 0xffff
		c.setSize(c.l.opSize())
		c.exec = execRetFar
	case 0xcc:
		c.exec = execInt3
	case 0xcd:
		c.exec = execInt
	case 0xcf:
		c.setSize(c.l.opSize())
		c.exec = execIret
	case 0xd7:
		c.exec = execXlat
	}
}

func (c *chooser) chooseExFx() {
	switch op := c.l.op; op {
	case 0xe0, 0xe1, 0xe2: // loopne and loope with f2 or f3 are others on AMD's processors: measured on Zen 4
		c.op = op & 3
		c.exec = either(c.l.rep != 0 && op != 0xe2, nil, c.near(execLoop))
	case 0xe3:
		c.exec = c.near(execJrcxz)
	case 0xe8:
		c.setSize(c.l.nearSize())
		c.exec = c.near(either(c.size == 8, execCall, execCallNear))
	case 0xe9, 0xeb:
		c.exec = c.near(execJmp)
	case 0xf1:
		c.exec = execInt1
	case 0xf4:
		c.exec = execHlt
	case 0xf5:
		c.op, c.exec = 1, execFlagBits
	case 0xf6, 0xf7:
		c.chooseGroup3()
	case 0xf8:
		c.bMask, c.exec = CF, execFlagBits
	case 0xf9:
		c.imm, c.exec = CF, execFlagBits
	case 0xfa:
		c.exec = execCli
	case 0xfb:
		c.exec = execSti
	case 0xfc:
		c.bMask, c.exec = DF, execFlagBits
	case 0xfd:
		c.imm, c.exec = DF, execFlagBits
	case 0xfe, 0xff:
		c.chooseGroup5()
	}
}

// chooseGroup3: f6 and f7.
func (c *chooser) chooseGroup3() {
	c.formEI(c.l.byteOr())
	switch c.l.reg() {
	case 0, 1:
		c.chooseAlu(opTest)
	case 2:
		c.exec = execNot
	case 3:
		c.exec = execNeg
	case 4:
		c.exec = execMul
	case 5:
		c.exec = execImul
	case 6:
		c.exec = execDiv
	case 7:
		c.exec = execIdiv
	}
}

// chooseGroup5: fe and ff.
func (c *chooser) chooseGroup5() {
	switch c.l.reg() {
	case 0:
		c.formE(c.l.byteOr())
		c.exec = either(!c.mem && c.size >= 4, incWide, execInc)
		return
	case 1:
		c.formE(c.l.byteOr())
		c.exec = either(!c.mem && c.size >= 4, decWide, execDec)
		return
	}
	if c.l.op == 0xfe {
		return
	}
	switch c.l.reg() {
	case 2:
		c.formE(c.l.nearSize())
		c.exec = c.near(execCallIndirect)
	case 3, 5:
		c.setSize(c.l.opSize())
		c.op = c.l.reg() >> 1 & 1 // 1: call
		c.exec = either(c.mem && c.size != 8, execFar, nil)
	case 4:
		c.formE(c.l.nearSize())
		c.exec = c.near(execJmpIndirect)
	case 6:
		c.setSize(c.l.stackSize())
		if !c.mem {
			c.regB(c.l.e())
		}
		c.exec = execPush
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
func (c *chooser) chooseGroup6() {
	c.op = c.l.reg()
	switch c.l.reg() {
	case 0, 1:
		c.formE(c.l.opSize())
		c.exec = execStoreTask
	case 2, 3:
		c.formE(2)
		c.exec = execLoadTask
	case 4, 5:
		c.formE(2)
		c.exec = execVerify
	}
}

// choose0F01 is for group 7 and its register forms, each an instruction of its
// own.
func (c *chooser) choose0F01() {
	switch {
	case c.mem && c.l.reg() < 4:
		c.setSize(8 >> c.l.mode)
		c.op = c.l.reg() & 1
		c.imm = c.mask
		if c.l.opsize && c.l.mode == Mode32 {
			c.imm = 1<<24 - 1
		}
		c.exec = either(c.l.reg() < 2, execStoreTable, execLoadTable)
	case c.l.reg() == 4:
		c.formE(c.l.opSize())
		c.exec = execSmsw
	case c.l.reg() == 6:
		c.formE(2)
		c.exec = execLmsw
	case c.mem && c.l.reg() == 7: // invlpg
		c.exec = execSerialize
	case c.mem, c.l.opsize, c.l.rep != 0:
		return // other instructions
	}
	if c.exec != nil {
		return
	}
	switch c.l.modrm {
	case 0xca: // clac
		c.bMask, c.exec = ac, execFlagBits
	case 0xcb: // stac
		c.imm, c.exec = ac, execFlagBits
	case 0xd0:
		c.exec = execXgetbv
	case 0xe8: // serialize
		c.exec = execSerialize
	case 0xf8:
		c.exec = execSwapgs
	case 0xf9:
		c.op, c.exec = 1, execTSC
	}
}

// chooseSystemReg: 0f 20 to 23. The register is of the mode's size.
func (c *chooser) chooseSystemReg() {
	c.setSize(8 >> c.l.mode)
	c.regA(c.l.e())
	c.op = c.l.g()
	exists := c.op < 8
	if c.l.op&1 == 0 {
		exists = c.op == 0 || c.op >= 2 && c.op <= 4 || c.op == 8
	}
	c.exec = execUndefined
	if exists {
		c.exec = [...]exec{execReadCR, execReadDR, execWriteCR, execWriteDR}[c.l.op&3]
	}
}

// chooseAE: 0f ae.
func (c *chooser) chooseAE() {
	c.op = c.l.reg()
	switch {
	case c.mem:
		if c.l.rep == 0 && (c.l.reg() == 7 || c.l.reg() == 6 && c.l.opsize) {
			c.exec = execFlush // clflush, clflushopt; clwb
		}
	case c.l.rep == 0xf3 && c.l.reg() < 4:
		c.formE(c.l.wideSize())
		c.exec = execBase
	case c.l.reg() >= 5 && !c.l.opsize && c.l.rep == 0:
		c.exec = execNop // lfence, mfence, sfence: memory is in order here
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
func (c *chooser) chooseGroup9() {
	switch {
	case c.mem && c.l.reg() == 1:
		c.setSize(c.l.wideSize())
		c.exec = either(c.size == 8, execCmpxchg16b, execCmpxchg8b)
	case c.mem:
	case c.l.reg() == 7 && c.l.rep == 0xf3:
		c.formE(8 >> c.l.mode)
		c.exec = execRdpid
	case c.l.reg() >= 6 && c.l.rep == 0:
		c.formE(c.l.opSize())
		c.exec = execRandom
	}
}

// choose0F38: movbe, crc32, adcx, adox, movdiri.
func (c *chooser) choose0F38() {
	switch op := c.l.op; {
	case op&^1 == 0xf0 && c.l.rep == 0xf2:
		c.formGEsized(c.l.wideSize(), c.l.byteOr())
		c.exec = execCrc32
	case op&^1 == 0xf0 && c.l.rep == 0 && c.mem:
		c.formEG(c.l.opSize())
		if op == 0xf0 {
			c.formGE(c.l.opSize())
		}
		c.op, c.exec = op&1, execMovbe
	case op == 0xf6 && (c.l.rep == 0xf3 || c.l.rep == 0 && c.l.opsize):
		c.formGE(c.l.wideSize())
		c.cond, c.exec = uint32(CF), execAddCarry
		if c.l.rep == 0xf3 {
			c.cond = uint32(OF)
		}
	case op == 0xf9 && c.l.rep == 0 && !c.l.opsize && c.mem:
		c.formEG(c.l.opSize())
		c.exec = movMX
	}
}

// chooseVex is for BMI: VEX with general registers. With L set, or a register in
// vvvv that isn't used, there is no such instruction.
func (c *chooser) chooseVex() {
	if c.l.space != map0F38 && c.l.space != map0F3A {
		return
	}
	c.cReg = c.l.vvvv
	if c.l.mode == Mode32 {
		c.cReg &= 7
	}
	imm := c.imm
	c.formGE(c.l.wideSize())
	switch op := c.l.op; {
	case c.l.space == map0F3A:
		if op == 0xf0 && c.l.pp == 3 {
			c.op, c.exec = uint8(imm), execRorx
			c.imm = 0
		}
	case op == 0xf2 && c.l.pp == 0:
		c.op, c.exec = opAndn, execBMI
	case op == 0xf3 && c.l.pp == 0 && c.l.reg() >= 1 && c.l.reg() <= 3:
		c.regA(c.cReg)
		c.op, c.exec = opAndn+c.l.reg(), execBMI
	case op == 0xf5 && c.l.pp != 1:
		c.op, c.exec = [...]uint8{0: opBzhi, 2: opPext, 3: opPdep}[c.l.pp], execBMI
	case op == 0xf6 && c.l.pp == 3:
		c.exec = execMulx
	case op == 0xf7:
		c.op, c.exec = [...]uint8{opBextr, opShlx, opSarx, opShrx}[c.l.pp], execBMI
	}
}
