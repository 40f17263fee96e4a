package riscv64

import "kpsim/smp/arch"

// Atomic instructions (vol. 1, "A" chapter). A misaligned one is arch.Protection, for an access-fault
// exception, which the manual allows besides the misaligned one: nothing emulates it.

// aligned returns where the operand lies.
func (in *Inst) aligned(r *arch.Regs) (at arch.Addr, ok bool) {
	at = arch.Addr(r.R[in.rs1&31])
	return at, at&arch.Addr(in.size-1) == 0
}

func execLR(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	at, ok := in.aligned(r)
	if !ok {
		return arch.Protection
	}
	v, ok := m.Load(at, int(in.size))
	if !ok {
		return arch.PageFault
	}
	m.(arch.Reserver).Reserve(at, int(in.size))
	return in.put(r, in.signed(v))
}

// execSC stores if the reservation is good. The reservation ends either way, and with a page
// fault, too. A store that fails accesses nothing, so it doesn't fault.
func execSC(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	at, ok := in.aligned(r)
	if !ok {
		return arch.Protection
	}
	if !m.(arch.Reserver).Reserved(at, int(in.size)) {
		in.put(r, 1)
		return arch.Relaxed
	}
	if !m.Store(at, int(in.size), in.cut(r.R[in.rs2&31])) {
		return arch.PageFault
	}
	return in.put(r, 0)
}

// fetch loads the operand of an instruction that stores the result of an operation. The
// register's value is extended as the operand is.
func (in *Inst) fetch(r *arch.Regs, m arch.Memory) (was, with uint64, out arch.Outcome) {
	at, ok := in.aligned(r)
	if !ok {
		return 0, 0, arch.Protection
	}
	v, ok := m.Load(at, int(in.size))
	if !ok {
		return 0, 0, arch.PageFault
	}
	return in.signed(v), in.signed(r.R[in.rs2&31]), arch.Next
}

// exchange stores the result. It can be wider than the operand.
func (in *Inst) exchange(r *arch.Regs, m arch.Memory, was, v uint64, out arch.Outcome) arch.Outcome {
	if out != arch.Next {
		return out
	}
	if !m.Store(arch.Addr(r.R[in.rs1&31]), int(in.size), in.cut(v)) {
		return arch.PageFault
	}
	return in.put(r, was)
}

func execAmoswap(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	a, b, out := in.fetch(r, m)
	return in.exchange(r, m, a, b, out)
}

func execAmoadd(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	a, b, out := in.fetch(r, m)
	return in.exchange(r, m, a, a+b, out)
}

func execAmoxor(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	a, b, out := in.fetch(r, m)
	return in.exchange(r, m, a, a^b, out)
}

func execAmoand(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	a, b, out := in.fetch(r, m)
	return in.exchange(r, m, a, a&b, out)
}

func execAmoor(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	a, b, out := in.fetch(r, m)
	return in.exchange(r, m, a, a|b, out)
}

func execAmomin(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	a, b, out := in.fetch(r, m)
	return in.exchange(r, m, a, uint64(min(int64(a), int64(b))), out)
}

func execAmomax(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	a, b, out := in.fetch(r, m)
	return in.exchange(r, m, a, uint64(max(int64(a), int64(b))), out)
}

func execAmominu(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	a, b, out := in.fetch(r, m)
	return in.exchange(r, m, a, min(a, b), out)
}

func execAmomaxu(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	a, b, out := in.fetch(r, m)
	return in.exchange(r, m, a, max(a, b), out)
}
