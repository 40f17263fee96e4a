package riscv64

import "kpsim/smp/arch"

// Loads and stores (vol. 1, "Load and Store Instructions"). A misaligned access of them succeeds,
// and is one access.

// address returns where the memory operand lies. Atomic instructions have no displacement.
func (in *Inst) address(r *arch.Regs) arch.Addr { return arch.Addr(r.R[in.rs1&31] + in.imm) }

// signed extends a value of the operand's size.
func (in *Inst) signed(v uint64) uint64 {
	n := 64 - 8*uint(in.size)
	return uint64(int64(v<<(n&63)) >> (n & 63))
}

// cut returns the part of a value that the operand holds.
func (in *Inst) cut(v uint64) uint64 {
	n := 64 - 8*uint(in.size)
	return v << (n & 63) >> (n & 63)
}

func execLoad(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	v, ok := m.Load(in.address(r), int(in.size))
	if !ok {
		return arch.PageFault
	}
	return in.put(r, in.signed(v))
}

func execLoadU(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	v, ok := m.Load(in.address(r), int(in.size))
	if !ok {
		return arch.PageFault
	}
	return in.put(r, v)
}

func execStore(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	if !m.Store(in.address(r), int(in.size), in.cut(r.R[in.rs2&31])) {
		return arch.PageFault
	}
	r.IP = in.next
	return arch.Next
}
