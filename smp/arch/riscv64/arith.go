package riscv64

import "kpsim/smp/arch"

// Integer instructions (vol. 1, "RV32I" and "RV64I" chapters). Each exec does one, of
// registers or of a register and an immediate.

// word extends the lower 32 bits of a result, as instructions of words do.
func word(v uint64) uint64 { return uint64(int64(int32(v))) }

// unsigned cuts to the lower 32 bits.
func unsigned(v uint64) uint64 { return uint64(uint32(v)) }

// set is 1 if a condition holds.
func set(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

func execAdd(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)+in.b(r))
}

func execSub(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)-in.b(r))
}

func execSlt(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, set(int64(in.a(r)) < int64(in.b(r))))
}

func execSltu(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, set(in.a(r) < in.b(r)))
}

func execXor(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)^in.b(r))
}

func execOr(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)|in.b(r))
}

func execAnd(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)&in.b(r))
}

func execSll(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)<<(in.b(r)&63))
}

func execSrl(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)>>(in.b(r)&63))
}

func execSra(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(int64(in.a(r))>>(in.b(r)&63)))
}

func execAddw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(in.a(r)+in.b(r)))
}

func execSubw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(in.a(r)-in.b(r)))
}

func execSllw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(in.a(r)<<(in.b(r)&31)))
}

func execSrlw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(unsigned(in.a(r))>>(in.b(r)&31)))
}

func execSraw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(word(in.a(r))>>(in.b(r)&31)))
}
