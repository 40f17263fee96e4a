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
