package riscv64

import "kpsim/smp/arch"

// Jumps and branches (vol. 1, "Control Transfer Instructions"). With compressed instructions every
// even address may be jumped to, so none of them faults.

func execJal(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	out := in.put(r, uint64(in.next))
	r.IP = arch.Addr(in.imm)
	return out
}

// execJalr reads its register before it writes the link: they may be one.
func execJalr(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	to := (in.a(r) + in.imm) &^ 1
	out := in.put(r, uint64(in.next))
	r.IP = arch.Addr(to)
	return out
}

// branch ends a branch.
func (in *Inst) branch(r *arch.Regs, taken bool) arch.Outcome {
	r.IP = in.next
	if taken {
		r.IP = arch.Addr(in.imm)
	}
	return arch.Next
}

func execBeq(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.branch(r, r.R[in.rs1&31] == r.R[in.rs2&31])
}

func execBne(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.branch(r, r.R[in.rs1&31] != r.R[in.rs2&31])
}

func execBlt(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.branch(r, int64(r.R[in.rs1&31]) < int64(r.R[in.rs2&31]))
}

func execBge(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.branch(r, int64(r.R[in.rs1&31]) >= int64(r.R[in.rs2&31]))
}

func execBltu(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.branch(r, r.R[in.rs1&31] < r.R[in.rs2&31])
}

func execBgeu(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.branch(r, r.R[in.rs1&31] >= r.R[in.rs2&31])
}
