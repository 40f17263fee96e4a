package x86

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
