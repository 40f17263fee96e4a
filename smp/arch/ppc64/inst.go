package ppc64

import (
	"encoding/binary"
	"unsafe"

	"kpsim/smp/arch"
)

// The lengths of instructions in bytes.
const (
	WordLen   = 4
	PrefixLen = 2 * WordLen // of one with a prefix
)

// A run carries out one instruction: it is arch.Op.Run.
type run = func(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome

// An Inst is a decoded instruction: its words, its address, and its operands resolved as far as
// they can be without registers. It isn't changed after Decode.
//
// The first operand is R[a] & aMask and the second is R[b] & bMask + imm. An immediate has bMask
// 0, and register 0 as a base has aMask 0, so code that reads operands doesn't ask which it is.
type Inst struct {
	arch.Op // first: see of
	operands

	next   arch.Addr
	inner  run // what execRecord records
	core   run // what execOverflow or execUnfit watches
	spr    *spr
	form   *form // nil: it has none, and is refused
	prefix word
	word   word // of a prefixed instruction the second one

	flow     arch.Flow
	memory   bool // it has a memory operand, at the sum of both operands
	relative bool // the operand of a prefixed instruction is relative to the instruction
	refused  bool
}

// operands are the parts of an instruction that executing it reads.
type operands struct {
	imm   uint64 // an immediate, an offset, or the target of a branch
	aMask uint64
	bMask uint64
	flip  uint64 // all ones to invert the first operand of a sum, or the bit that a branch tests
	mask  uint64 // of a rotated value; of bits in Flags
	carry uint64 // what is added beside the sum

	d, a, b, c uint8 // registers; d is the one that a load or store transfers
	shift      uint8 // of a value; of a field of CR in Flags
	size       uint8 // of an access in bytes
	counts     bool  // a branch decrements CTR, and is taken if it isn't zero then
	untilZero  bool  // or if it is
}

// of returns the instruction that an Op heads. The conversion is safe because every Op that has a
// run of this package as its Run is the first field of an Inst: Decode is the only code that sets
// Run, and an Op isn't copied.
func of(op *arch.Op) *Inst { return (*Inst)(unsafe.Pointer(op)) }

// The Op is at the beginning of an Inst: otherwise this doesn't compile.
var _ [0]struct{} = [unsafe.Offsetof(Inst{}.Op)]struct{}{}

var _ arch.Inst = (*Inst)(nil)

// first, second and sum return operands.
func (in *Inst) first(r *arch.Regs) uint64  { return r.R[in.a] & in.aMask }
func (in *Inst) second(r *arch.Regs) uint64 { return r.R[in.b]&in.bMask + in.imm }
func (in *Inst) sum(r *arch.Regs) uint64    { return r.R[in.a]&in.aMask + r.R[in.b]&in.bMask + in.imm }

// put ends an instruction with a result.
func (in *Inst) put(r *arch.Regs, v uint64) arch.Outcome {
	r.R[in.d] = v
	r.IP = in.next
	return arch.Next
}

// Operation returns the Op that it begins with.
func (in *Inst) Operation() *arch.Op { return &in.Op }

// At implements arch.Inst.
func (in *Inst) At() arch.Addr { return in.Addr }

// Size implements arch.Inst.
func (in *Inst) Size() int { return int(in.Len) }

// Next implements arch.Inst.
func (in *Inst) Next() arch.Addr { return in.next }

// Word returns the instruction's word, the second one if it has a prefix.
func (in *Inst) Word() uint32 { return uint32(in.word) }

// Bytes implements arch.Inst. The prefix comes first (Book I, "Prefixed Instructions").
func (in *Inst) Bytes() []byte {
	var b []byte
	if in.Len == PrefixLen {
		b = binary.LittleEndian.AppendUint32(b, uint32(in.prefix))
	}
	return binary.LittleEndian.AppendUint32(b, uint32(in.word))
}

// Name returns the mnemonic, without what o and Rc add to it; "" if it has no form.
func (in *Inst) Name() string {
	if in.form == nil {
		return ""
	}
	return in.form.name
}

// Flow implements arch.Inst. A return or a jump through CTR on a condition may also go on to the
// next instruction: no flow says that, so it is FlowOther. A call on a condition is a call.
func (in *Inst) Flow() arch.Flow { return in.flow }

// Target implements arch.Inst.
func (in *Inst) Target() (arch.Addr, bool) {
	switch in.flow {
	case arch.FlowJump, arch.FlowCond, arch.FlowLoop, arch.FlowCall:
		return arch.Addr(in.imm), true
	}
	return 0, false
}

// Counts reports whether it is a branch that decrements CTR.
func (in *Inst) Counts() bool { return in.counts }

// IsNop implements arch.Inst: it is the preferred nop (Book I, "Fixed-Point Logical
// Instructions") or pnop. Other instructions without effect are hints.
func (in *Inst) IsNop() bool {
	return in.Len == WordLen && in.word == wordNop || in.Len == PrefixLen && in.prefix == prefixNop
}

// Unsupported reports whether Exec always refuses: the instruction exists, and isn't executed here.
func (in *Inst) Unsupported() bool { return in.refused }

// IPRelative implements arch.Inst. The displacement has bits in both words.
func (in *Inst) IPRelative() (from, to int, ok bool) {
	if !in.relative {
		return 0, 0, false
	}
	return 0, int(in.Len), true
}

// IPOperand implements arch.Inst.
func (in *Inst) IPOperand() (arch.Addr, bool) { return arch.Addr(in.imm), in.relative }

// AddressRegs implements arch.Inst, base first.
func (in *Inst) AddressRegs() (regs []arch.Reg) {
	if in.memory && in.aMask != 0 {
		regs = append(regs, arch.Reg(in.a))
	}
	if in.memory && in.bMask != 0 {
		regs = append(regs, arch.Reg(in.b))
	}
	return regs
}

// PerCPU implements arch.Inst: r13 is the base of a CPU's own data, the paca.
func (in *Inst) PerCPU() bool {
	return in.memory && (in.aMask != 0 && in.a == uint8(Paca) || in.bMask != 0 && in.b == uint8(Paca))
}

// PerTask implements arch.Inst. The task is found through the paca.
func (in *Inst) PerTask() bool { return false }

// Exec implements arch.Inst.
func (in *Inst) Exec(r *arch.Regs, m arch.Memory) arch.Outcome { return in.Run(&in.Op, r, m) }
