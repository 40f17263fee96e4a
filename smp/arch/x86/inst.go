package x86

import (
	"unsafe"

	"kpsim/smp/arch"
)

// MaxLen is the longest an instruction may be.
const MaxLen = 15

// An exec carries out one instruction. It has the contract of Inst.Exec.
type exec func(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome

// op returns it as Op.Run. An Inst begins with its Op, so the address of the one is that of the
// other.
func (e exec) op() func(*arch.Op, *arch.Regs, arch.Memory) arch.Outcome {
	return *(*func(*arch.Op, *arch.Regs, arch.Memory) arch.Outcome)(unsafe.Pointer(&e))
}

// An Inst is a decoded instruction: its bytes, its address, and its operands resolved as far as
// they can be without registers. It is a plain value.
//
// Operand a is the first, operand b the second one (Intel's order). At most one of the two lies
// in memory. b is (register >> shift & bMask) + imm. An immediate has bMask 0, so code that reads
// b doesn't have to ask which it is.
type Inst struct {
	arch.Op
	exec exec // as Op.Run has it
	next arch.Addr
	operands
	memOperand
	linearMask uint64 // mask of linear addresses, IP and the stack pointer in this mode
	inner      exec   // what execOverride executes

	op         uint8 // which of the family
	rep        repeat
	cond       uint32
	flow       arch.Flow
	mode       Mode
	refused    bool
	emulated   bool
	writesIF   bool
	masksTraps bool
	modrmPos   uint8 // 0: there is none
	raw        [MaxLen]byte
}

// The operands are registers a and b, or an immediate in place of b. One of them may be in memory.
type operands struct {
	imm      uint64 // immediate operand, sign-extended and cut to size; or the target of a branch
	mask     uint64 // of the operand size
	bMask    uint64
	keepMask uint64 // mask of the bits of register a that a write preserves
	aReg     uint8
	bReg     uint8
	cReg     uint8 // the third register of a VEX instruction
	aShift   uint8 // 8: ah, ch, dh, bh
	bShift   uint8
	size     uint8 // of the operands in bytes
	bSize    uint8 // of operand b, where it differs: movzx, movsx
	sign     uint8 // the number of the sign bit: 8*size-1
}

// A memOperand is where a memory operand lies.
type memOperand struct {
	disp     uint64 // displacement; of a RIP-relative operand its address
	baseMask uint64 // 0: there is no base
	indexMul uint64 // 1, 2, 4, 8; 0: there is no index
	addrMask uint64 // of the address size
	baseReg  uint8
	indexReg uint8
	mem      bool  // there is one
	ripDisp  uint8 // where the displacement stands; 0: the operand isn't RIP-relative
	segment  uint8 // the prefix of the override, 0 if none matters
}

// Mode returns the mode it was decoded in.
func (in *Inst) Mode() Mode { return in.mode }

// Bytes returns the instruction's bytes, which the caller may keep.
func (in *Inst) Bytes() []byte { return append([]byte(nil), in.raw[:in.Len]...) }

// Raw returns the bytes padded with zeroes, without allocating.
func (in *Inst) Raw() (b [MaxLen]byte) { return in.raw }

// Next returns the address after the instruction.
func (in *Inst) Next() arch.Addr { return in.next }

// Flow says where control goes.
func (in *Inst) Flow() arch.Flow { return in.flow }

// Target returns where a direct jump, jcc, loop or call goes.
func (in *Inst) Target() (arch.Addr, bool) {
	switch in.flow {
	case arch.FlowJump, arch.FlowCond, arch.FlowLoop, arch.FlowCall:
		return arch.Addr(in.imm), true
	}
	return 0, false
}

// RIPRelative returns the position of the four displacement bytes of a
// RIP-relative memory operand.
func (in *Inst) RIPRelative() (pos int, ok bool) { return int(in.ripDisp), in.ripDisp != 0 }

// RIPOperand returns the address that a RIP-relative operand refers to.
// With an address size of 32 bits (67) it is cut to those.
func (in *Inst) RIPOperand() (arch.Addr, bool) {
	return arch.Addr(in.disp & in.addrMask), in.ripDisp != 0
}

// ModRM returns the position of the ModRM byte.
func (in *Inst) ModRM() (pos int, ok bool) { return int(in.modrmPos), in.modrmPos != 0 }

// WritesIF reports whether the interrupt flag may change: cli, sti, popf, iret.
func (in *Inst) WritesIF() bool { return in.writesIF }

// MasksTraps reports whether interrupts and debug exceptions are held off until
// the next instruction has completed: mov to ss, and in 32-bit mode pop ss (SDM
// vol. 3, 6.8.3). lss doesn't; sti reports arch.Shadowed instead.
func (in *Inst) MasksTraps() bool { return in.masksTraps }

// Vector returns the n of int n, for which the outcome is SoftInt.
func (in *Inst) Vector() uint8 { return uint8(in.imm) }

// Unsupported reports whether Exec always refuses: the instruction is decoded,
// and this simulator doesn't execute it. Exec may also refuse loads of selectors,
// debug registers or modes, depending on the value.
func (in *Inst) Unsupported() bool { return in.refused }

// Exec executes the instruction, which stands at s.IP. Either all of it happens, or nothing; the
// outcomes say what each requires.
func (in *Inst) Exec(s *arch.Regs, m arch.Memory) arch.Outcome { return in.Run(&in.Op, s, m) }

// Rarely used properties of an instruction. They are read from the bytes again,
// so that an Inst doesn't have to hold them.

// An Encoding is how opcode and prefixes are written.
type Encoding uint8

// The encodings.
const (
	Legacy Encoding = iota // with 0f, 0f 38 or 0f 3a, or none of them
	VEX                    // c4 and c5 (SDM vol. 2, 2.3)
	EVEX                   // 62 (SDM vol. 2, 2.7)
	XOP                    // 8f, of AMD (AMD64 APM vol. 3, 1.2.8)
)

// Prefixes is a set of the prefixes before the opcode. Of f2 and f3, and of fs and gs, only the
// last is included; REX only if it is right before the opcode.
type Prefixes uint16

// The prefixes.
const (
	PrefixOpSize   Prefixes = 1 << iota // 66
	PrefixAddrSize                      // 67
	PrefixCS                            // 2e: in 64-bit mode a branch hint at most
	PrefixLock                          // f0
	PrefixRepne                         // f2
	PrefixRep                           // f3
	PrefixFS                            // 64
	PrefixGS                            // 65
	PrefixREX                           // 40 to 4f, in 64-bit mode
	PrefixREXW                          // a REX with W
)

// parse reads the bytes again.
func (in *Inst) parse() layout {
	var w window
	copy(w[:], in.raw[:])
	return parse(&w, in.mode)
}

// DispAndImm returns where the displacement and the immediate lie, as positions
// [from, to) of the bytes. They are empty if there is none. For a branch, imm is
// the relative displacement.
func (in *Inst) DispAndImm() (disp, imm [2]int) {
	l := in.parse()
	return [2]int{int(l.dispPos), int(l.dispPos + l.dispLen)}, [2]int{int(l.immPos), int(l.immPos + l.immLen)}
}

// Encoding returns how it is written.
func (in *Inst) Encoding() Encoding {
	l := in.parse()
	return Encoding(l.encoding)
}

// Opcode returns the opcode with the bytes that lead to its map: 0xe8, 0x0f84,
// 0x0f38f0, 0x0f3a0f. With VEX, EVEX and XOP the prefix names the map: 1, 2 and 3
// are written as those bytes, another map m as m<<16 | opcode.
func (in *Inst) Opcode() int {
	l := in.parse()
	switch l.space {
	case map1:
		return int(l.op)
	case map0F:
		return 0x0f00 | int(l.op)
	case map0F38:
		return 0x0f3800 | int(l.op)
	case map0F3A:
		return 0x0f3a00 | int(l.op)
	}
	return int(l.space)<<16 | int(l.op)
}

// RegField returns ModRM's reg field, 0 to 7, which in a group of instructions
// (SDM vol. 2, table A-6) says which one it is; not ok without ModRM.
func (in *Inst) RegField() (reg int, ok bool) {
	if in.modrmPos == 0 {
		return 0, false
	}
	return int(in.raw[in.modrmPos] >> 3 & 7), true
}

// Prefixes returns the legacy prefixes and REX; VEX, EVEX and XOP aren't included.
func (in *Inst) Prefixes() Prefixes {
	l := in.parse()
	var p Prefixes
	for _, c := range [...]struct {
		is bool
		p  Prefixes
	}{
		{l.opsize, PrefixOpSize}, {l.addrsize, PrefixAddrSize}, {l.cs, PrefixCS}, {l.lock, PrefixLock},
		{l.rep == 0xf2, PrefixRepne}, {l.rep == 0xf3, PrefixRep}, {l.segment == 0x64, PrefixFS},
		{l.segment == 0x65, PrefixGS},
		{l.encoding == legacy && l.rex != 0, PrefixREX}, {l.encoding == legacy && l.rex&rexW != 0, PrefixREXW},
	} {
		if c.is {
			p |= c.p
		}
	}
	return p
}

// masksTraps is for Inst.MasksTraps.
func (l *layout) masksTraps() bool {
	if l.encoding != legacy || l.space != map1 {
		return false
	}
	return l.op == 0x8e && l.reg() == 2 || l.op == 0x17
}

// Emulated reports whether a probe must emulate the instruction, because
// stepping a copy would leave a wrong IP or a wrong interrupt flag: pushf,
// popf, cli, sti, ret, call, jmp, jcc, loop, jrcxz, and call and jmp through a
// register.
func (in *Inst) Emulated() bool { return in.emulated }

func (l *layout) emulated() bool {
	if l.encoding != legacy {
		return false
	}
	switch op := l.op; l.space {
	case map0F:
		return op&0xf0 == 0x80
	case map1:
		switch op {
		case 0x9c, 0x9d, 0xc2, 0xc3, 0xca, 0xcb, 0xe0, 0xe1, 0xe2, 0xe3, 0xe8, 0xe9, 0xeb, 0xfa, 0xfb:
			return true
		case 0xff:
			return !l.isMem() && (l.reg() == 2 || l.reg() == 4)
		}
		return op&0xf0 == 0x70
	}
	return false
}

// AddressRegs returns the base and index registers of a ModRM memory operand, base first;
// none if there is no such operand.
func (in *Inst) AddressRegs() (regs []arch.Reg) {
	if in.mem && in.baseMask != 0 {
		regs = append(regs, arch.Reg(in.baseReg))
	}
	if in.mem && in.indexMul != 0 {
		regs = append(regs, arch.Reg(in.indexReg))
	}
	return regs
}
