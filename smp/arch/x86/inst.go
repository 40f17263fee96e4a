package x86

import "kpsim/smp/arch"

// MaxLen is the longest an instruction may be.
const MaxLen = 15

// An exec carries out one instruction. It is what Exec does, and owes what Exec owes.
type exec func(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome

// An Inst is a decoded instruction: its bytes, its address, and its operands
// resolved as far as they can be without registers. It is a plain value.
//
// Operand a is the first, operand b the second one (Intel's order). Of the two
// at most one lies in memory. b is (register >> shift & bMask) + imm: an
// immediate has bMask 0, so that code which wants b need not ask what it is.
type Inst struct {
	fn   exec
	Addr arch.Addr
	next arch.Addr
	imm  uint64 // immediate operand, sign-extended and cut to size; or the target of a branch

	disp       uint64 // displacement; of a RIP-relative operand its address
	baseMask   uint64 // 0: there is no base
	indexMul   uint64 // 1, 2, 4, 8; 0: there is no index
	addrMask   uint64 // of the address size
	mask       uint64 // of the operand size
	bMask      uint64
	keep       uint64 // what a write to register a leaves of it
	aReg       uint8
	bReg       uint8
	aShift     uint8 // 8: ah, ch, dh, bh
	bShift     uint8
	baseReg    uint8
	indexReg   uint8
	size       uint8 // of the operands in bytes
	bSize      uint8 // of operand b, where it differs: movzx, movsx
	sign       uint8 // the number of the sign bit: 8*size-1
	op         uint8 // which of the family
	cond       uint32
	rep        repeat
	mem        bool // one operand lies in memory
	refused    bool
	emulated   bool
	writesIF   bool
	masksTraps bool
	flow       arch.Flow
	mode       Mode
	modrmPos   uint8 // 0: there is none
	ripDisp    uint8 // 0: there is no RIP-relative operand
	raw        [MaxLen]byte
	Len        uint8

	inner   exec   // what execOverride executes
	linear  uint64 // mask of linear addresses, of IP and of the stack pointer: those of the mode
	segment uint8  // the prefix of the override, 0 if none matters
	cReg    uint8  // the third register of a VEX instruction
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
// vol. 3, 6.8.3). It is not so for lss, and sti isn't meant here.
func (in *Inst) MasksTraps() bool { return in.masksTraps }

// Vector returns the n of int n, for which the outcome is SoftInt.
func (in *Inst) Vector() uint8 { return uint8(in.imm) }

// Unsupported reports whether Exec always refuses: the instruction is decoded,
// and this simulator doesn't execute it. Some that load selectors, debug
// registers or modes are refused for what they load: Exec says so.
func (in *Inst) Unsupported() bool { return in.refused }

// Exec executes the instruction, which stands at s.IP. What it owes is said at
// the outcomes: either all of it has happened, or nothing.
func (in *Inst) Exec(s *arch.Regs, m arch.Memory) arch.Outcome { return in.fn(in, s, m) }
