package riscv64

import (
	"unsafe"

	"kpsim/smp/arch"
)

// An exec carries out one instruction: it is arch.Op.Run.
type exec func(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome

// An Inst is a decoded instruction. A compressed one has the operands of the full one that it
// stands for (vol. 1, "C" chapter). It isn't changed after Decode.
//
// The second operand of arithmetic is R[rs2] + imm. An immediate form has rs2 = x0, which reads
// as zero, and a register form has imm = 0, so both share one exec.
type Inst struct {
	arch.Op
	next arch.Addr
	imm  uint64 // sign-extended; of branches, jal and auipc the address
	rd   uint8
	rs1  uint8
	rs2  uint8
	size uint8 // of the memory operand in bytes; 0: there is none
	flow arch.Flow
	csr  *csr
	form *form  // nil: it has none, and is refused
	full uint32 // what is executed, expanded if it was compressed
	raw  uint32 // what stands in memory

	refused bool
}

// of returns the instruction that an Op heads. The conversion is safe because every Op that has
// an exec of this package as its Run is the first field of an Inst: Decode is the only code that
// sets Run, and an Op isn't copied. A type assertion on op.Inst would cost as much as a short
// instruction does.
func of(op *arch.Op) *Inst { return (*Inst)(unsafe.Pointer(op)) }

// a and b return the operands of arithmetic.
func (in *Inst) a(r *arch.Regs) uint64 { return r.R[in.rs1&31] }
func (in *Inst) b(r *arch.Regs) uint64 { return r.R[in.rs2&31] + in.imm }

// put ends an instruction with a result. x0 stays zero, whatever rd is.
func (in *Inst) put(r *arch.Regs, v uint64) arch.Outcome {
	r.R[in.rd&31] = v
	r.R[0] = 0
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

// Bytes implements arch.Inst.
func (in *Inst) Bytes() []byte {
	return append([]byte(nil), byte(in.raw), byte(in.raw>>8), byte(in.raw>>16), byte(in.raw>>24))[:in.Len]
}

// Word returns the full instruction that is executed: an expanded one if it is compressed.
func (in *Inst) Word() uint32 { return in.full }

// Name returns the mnemonic of the full instruction, "" if it is refused.
func (in *Inst) Name() string {
	if in.form == nil {
		return ""
	}
	return in.form.name
}

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

// IsNop implements arch.Inst: it is the one nop of vol. 1, "NOP Instruction", or c.nop. Other
// instructions without effect are hints.
func (in *Inst) IsNop() bool { return in.full == Nop }

// IPRelative implements arch.Inst. The displacement of auipc is in the last three of its bytes, of
// which the first has a part of rd, too.
func (in *Inst) IPRelative() (from, to int, ok bool) {
	_, ok = in.IPOperand()
	return 1, 4, ok
}

// IPOperand implements arch.Inst: the address that auipc makes is the operand.
func (in *Inst) IPOperand() (arch.Addr, bool) {
	if in.full&0x7f != opAUIPC {
		return 0, false
	}
	return arch.Addr(in.imm), true
}

// AddressRegs implements arch.Inst.
func (in *Inst) AddressRegs() []arch.Reg {
	if in.size == 0 {
		return nil
	}
	return []arch.Reg{arch.Reg(in.rs1)}
}

// PerCPU implements arch.Inst. No register is the base of a CPU's data: code loads the CPU's number
// through tp and adds an offset from a table.
func (in *Inst) PerCPU() bool { return false }

// PerTask implements arch.Inst: tp is the task's.
func (in *Inst) PerTask() bool { return in.size != 0 && in.rs1 == uint8(TP) }

// Unsupported reports whether Exec always refuses: the instruction exists, and isn't executed here.
func (in *Inst) Unsupported() bool { return in.refused }

// Exec implements arch.Inst.
func (in *Inst) Exec(r *arch.Regs, m arch.Memory) arch.Outcome { return in.Run(&in.Op, r, m) }

var _ arch.Inst = (*Inst)(nil)
