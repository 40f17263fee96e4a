package x86

// choose32 is for the one-byte opcodes that 64-bit mode lacks or has another use
// for. It reports whether the opcode is one.
func (in *Inst) choose32(l *layout) bool {
	switch op := l.op; op {
	case 0x06, 0x0e, 0x16, 0x1e:
		in.setSize(l.stackSize())
		in.op, in.fn = op>>3, execPushSeg
	case 0x07, 0x17, 0x1f:
		in.setSize(l.stackSize())
		in.op, in.fn = op>>3, execPopSeg
	case 0x27:
		in.fn = execDaa
	case 0x2f:
		in.fn = execDas
	case 0x37:
		in.op, in.fn = 0, execAaa
	case 0x3f:
		in.op, in.fn = 1, execAaa
	case 0x60:
		in.setSize(l.stackSize())
		in.fn = execPusha
	case 0x61:
		in.setSize(l.stackSize())
		in.fn = execPopa
	case 0x62:
		in.formGE(l, l.opSize())
		in.fn = execBound
	case 0x63:
		in.formEG(l, 2)
		in.fn = execArpl
	case 0x9a, 0xea:
		in.setSize(l.opSize())
		in.op, in.fn = uint8(bit(op == 0x9a)), execFar
	case 0xc4, 0xc5: // les, lds
		in.formGE(l, l.opSize())
		in.op, in.fn = uint8(DS*bit(op == 0xc5)), execLoadFar
	case 0xce:
		in.fn = execInto
	case 0xd4:
		in.fn = execAam
	case 0xd5:
		in.fn = execAad
	case 0xd6:
		in.fn = execSalc
	default:
		if op&0xf0 != 0x40 {
			return false
		}
		in.setSize(l.opSize())
		in.regA(l, l.plus())
		switch {
		case op < 0x48:
			in.fn = either(in.size == 4, incWide, execInc)
		default:
			in.fn = either(in.size == 4, decWide, execDec)
		}
	}
	return true
}
