package rules

// kprobes judges an instruction by its opcode alone, and in some groups by ModRM. After
// VEX, EVEX and REX2 the opcode is one byte, which is taken for the old instruction
// with that byte: vpsubb is treated as a call.

// A set is a set of bytes, one bit each, sixteen a row; bit 0 is the column x0.
type set [16]uint16

func (s *set) has(b byte) bool { return s[b>>4]>>(b&15)&1 != 0 }

// movable1 are the one-byte opcodes that can run at another address without a fix-up,
// according to the kernels' answers; groups are handled separately. Iret and far jumps
// are included. Not included are bound (EVEX), jcc, far call, shifts, int, into, the
// undefined d6, x87, loops, jrcxz, call, jmp, lock, rep, int1, hlt and the groups f6,
// f7, fe, ff.
var movable1 = set{
	0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xfffb, 0x0000,
	0xffff, 0xfbff, 0xffff, 0xffff, 0x8ffc, 0x00b0, 0xf4f0, 0x3f20,
}

// movable2 are the two-byte opcodes, by the second byte, according to the kernels'
// answers.
var movable2 = set{
	0x034c, 0x8000, 0x000f, 0x0002, 0xffff, 0x0000, 0xcfff, 0xc0f0,
	0x0000, 0xffff, 0xbb3b, 0xf8ff, 0xff03, 0xbb2e, 0xbb26, 0x772e,
}

// movable reports whether an instruction can run at another address with no fix-up
// except that of its RIP-relative operand. The exception table is checked elsewhere.
func (k *Kernel) movable(in *insn) bool {
	op, reg := in.op[0], in.modrm>>3&7
	switch {
	case in.opcodes == 2:
		return movable2.has(in.op[1])
	case in.opcodes == 3:
		return false
	case in.cs || in.addr32: // kernels 4.12 to 5.12 looked for them in the wrong place (6dd3b8c9f588)
		return false
	}
	switch op {
	case 0xff: // jmp through a register or memory
		return reg == 4 && k.Edition >= Edition514 || reg <= 1 && k.Edition >= Edition69
	case 0xc0, 0xc1, 0xd0, 0xd1, 0xd2, 0xd3: // shifts; /6 is reserved
		return reg != 6 && k.Edition >= Edition69
	case 0xf6, 0xf7: // /1 is reserved
		return reg != 1 && k.Edition >= Edition69
	case 0xfe:
		return reg <= 1 && k.Edition >= Edition69
	}
	return movable1.has(op)
}

// isTrap reports whether it is int3, int n, into, int1 or ud0 to ud2.
func (in *insn) isTrap() bool {
	switch in.op[0] {
	case 0xcc, 0xcd, 0xce, 0xf1:
		return true
	case 0x0f:
		return in.op[1] == 0xff || in.op[1] == 0xb9 || in.op[1] == 0x0b
	}
	return false
}

// masksTraps reports whether it is mov to ss or pop ds (1f, which the kernel mistakes
// for pop ss, 17).
func (in *insn) masksTraps() bool {
	return in.op[0] == 0x1f || in.op[0] == 0x8e && in.modrm>>3&7 == 2
}

// emulation says what kernels since 5.13 do instead of stepping a copy: they emulate
// the instruction, because it changes the instruction pointer or the interrupt flag, or
// they refuse it.
func (in *insn) emulation() (emulated, refused bool) {
	switch op := in.op[0]; op {
	case 0x9c, 0x9d, 0xfa, 0xfb, // pushf, popf, cli, sti
		0xc2, 0xc3, 0xca, 0xcb, // ret and lret
		0xe0, 0xe1, 0xe2, 0xe3, 0xe8, 0xe9, 0xeb: // loops, jrcxz, call, jmp
		return true, false
	case 0xcf, 0x9a, 0xea: // iret, far call and jmp
		return false, true
	case 0x0f:
		vm := in.op[1] == 0x01 && in.modrm&0xf8 == 0xc0 // vmcall and the like
		return in.op[1]&0xf0 == 0x80, vm
	case 0xff:
		switch in.modrm >> 3 & 7 {
		case 2, 4: // through a whole register
			whole := in.modrm >= 0xc0 && !in.addr32
			return whole, !whole
		case 3, 5: // far
			return false, true
		}
	default:
		return op&0xf0 == 0x70, false // jcc
	}
	return false, false
}

// jumpsAnywhere reports whether it is a jump, near or far, through a register or
// memory, or to an absolute far address.
func (in *insn) jumpsAnywhere() bool {
	return in.op[0] == 0xea || in.op[0] == 0xff && in.modrm>>3&6 == 4
}

// jumps reports whether it is a jump with a known target: jmp, jcc, loop or jrcxz.
// Calls and xbegin don't count.
func (in *insn) jumps() bool {
	switch op := in.op[0]; op {
	case 0xe0, 0xe1, 0xe2, 0xe3, 0xe9, 0xeb:
		return true
	case 0x0f:
		return in.op[1]&0xf0 == 0x80
	default:
		return op&0xf0 == 0x70
	}
}

// calls reports whether it is a call, direct or not.
func (in *insn) calls() bool {
	switch in.op[0] {
	case 0xe8, 0x9a:
		return true
	case 0xff:
		return in.modrm>>3&6 == 2
	}
	return false
}
