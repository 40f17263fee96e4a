package arm64

import (
	"encoding/binary"
	"unsafe"

	"kpsim/smp/arch"
)

// Len is the length of every instruction.
const Len = 4

// A run executes one instruction: arch.Op.Run.
type run = func(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome

// An Inst is a decoded instruction: its word, its address, and its operands resolved as far as
// they can be without registers. It isn't changed.
//
// The second operand is ((register m & bMask) << lsl + imm) ^ flip, or what kind says. An
// immediate has bMask 0, so code that reads the operand doesn't have to ask which it is.
type Inst struct {
	arch.Op // first: see whole
	operands

	word word
	form *form
	reg  *sysreg // of mrs and msr, if it isn't kept
	flow arch.Flow

	memory  bool // it has a memory operand, whose address is made of n, and of m with indexed
	indexed bool
	literal bool // its operand is at imm, which is relative to the instruction
	refused bool
	idle    bool // a hint that does nothing
}

// operands are the parts of an instruction that executing it reads.
type operands struct {
	imm   uint64 // an immediate, an offset, or the target of a branch
	mask  uint64 // of the operand size
	bMask uint64 // of register m; a bit field's own mask; the bits that a branch tests
	flip  uint64 // 0, or all ones to invert the second operand
	carry uint64 // what is added beside it: 1 to subtract

	d, n, m, a uint8  // registers; d is the one that a load or store transfers
	kind       kind   // of the second operand
	lsl        uint8  // shift of the second operand
	down       uint8  // shift of a bit field's source
	up         uint8  // 64 less the bits of what is sign-extended
	ext        uint8  // likewise of what is loaded; 0 if it is extended with zeroes
	sign       uint8  // the number of the sign bit: 31 or 63
	size       uint8  // of an access in bytes
	nzcv       uint8  // flags of ccmp if the condition doesn't hold
	writeback  bool   // a load or store changes its base
	post       bool   // the address is the base alone, and the offset is added afterwards
	cond       uint16 // the bit of each NZCV for which the condition holds
}

// whole returns the instruction that an Op is the beginning of. A machine keeps instructions of
// any processor as *arch.Op and calls Run with that, without an interface. All Ops whose Run is
// of this package were made by Decode, as the first field of an Inst.
func whole(op *arch.Op) *Inst { return (*Inst)(unsafe.Pointer(op)) }

// The Op is at the beginning of an Inst: otherwise this doesn't compile.
var _ [0]struct{} = [unsafe.Offsetof(Inst{}.Op)]struct{}{}

var _ arch.Inst = (*Inst)(nil)

// Operation returns what a machine looks at.
func (in *Inst) Operation() *arch.Op { return &in.Op }

// At implements arch.Inst.
func (in *Inst) At() arch.Addr { return in.Addr }

// Size implements arch.Inst.
func (in *Inst) Size() int { return Len }

// Next implements arch.Inst.
func (in *Inst) Next() arch.Addr { return in.Addr + Len }

// Word returns the instruction's word.
func (in *Inst) Word() uint32 { return uint32(in.word) }

// Bytes implements arch.Inst.
func (in *Inst) Bytes() []byte { return binary.LittleEndian.AppendUint32(nil, uint32(in.word)) }

// Flow implements arch.Inst.
func (in *Inst) Flow() arch.Flow { return in.flow }

// Target implements arch.Inst.
func (in *Inst) Target() (arch.Addr, bool) {
	switch in.flow {
	case arch.FlowJump, arch.FlowCond, arch.FlowCall:
		return arch.Addr(in.imm), true
	}
	return 0, false
}

// IsNop reports whether it is a hint that does nothing here: nop, bti, those of pointer
// authentication, and those that aren't allocated.
func (in *Inst) IsNop() bool { return in.idle }

// Unsupported reports whether Exec always refuses.
func (in *Inst) Unsupported() bool { return in.refused }

// IPRelative implements arch.Inst: adr, adrp and loads of literals. Their displacement is not whole
// bytes: it lies within all four.
func (in *Inst) IPRelative() (from, to int, ok bool) {
	if !in.literal {
		return 0, 0, false
	}
	return 0, Len, true
}

// IPOperand implements arch.Inst.
func (in *Inst) IPOperand() (arch.Addr, bool) { return arch.Addr(in.imm), in.literal }

// AddressRegs implements arch.Inst, base first.
func (in *Inst) AddressRegs() (regs []arch.Reg) {
	if in.memory {
		regs = append(regs, arch.Reg(in.n))
	}
	if in.indexed && arch.Reg(in.m) != ZR {
		regs = append(regs, arch.Reg(in.m))
	}
	return regs
}

// PerCPU implements arch.Inst. The base of a CPU's own data is read from TPIDR_EL1 into a
// register first, so no memory operand is relative to it by itself.
func (in *Inst) PerCPU() bool { return false }

// PerTask implements arch.Inst: see PerCPU. A task is at SP_EL0.
func (in *Inst) PerTask() bool { return false }

// Exec implements arch.Inst.
func (in *Inst) Exec(r *arch.Regs, m arch.Memory) arch.Outcome { return in.Run(&in.Op, r, m) }
