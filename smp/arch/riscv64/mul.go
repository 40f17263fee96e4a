package riscv64

import (
	"math/bits"

	"kpsim/smp/arch"
)

// Multiplication and division (vol. 1, "M" chapter). Nothing traps.

func mulhu(a, b uint64) uint64 {
	hi, _ := bits.Mul64(a, b)
	return hi
}

// mulhsu and mulh correct the unsigned product: a negative factor counts 2^64 too much.
func mulhsu(a, b uint64) uint64 { return mulhu(a, b) - uint64(int64(a)>>63)&b }
func mulh(a, b uint64) uint64   { return mulhsu(a, b) - uint64(int64(b)>>63)&a }

// The quotient by zero has all bits set, and the remainder is the dividend (vol. 1, "Division
// Operations"). The quotient that overflows is the dividend, as Go has it, too.

func div(a, b uint64) uint64 {
	if b == 0 {
		return ^uint64(0)
	}
	return uint64(int64(a) / int64(b))
}

func divu(a, b uint64) uint64 {
	if b == 0 {
		return ^uint64(0)
	}
	return a / b
}

func rem(a, b uint64) uint64 {
	if b == 0 {
		return a
	}
	return uint64(int64(a) % int64(b))
}

func remu(a, b uint64) uint64 {
	if b == 0 {
		return a
	}
	return a % b
}

func execMul(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)*in.b(r))
}

func execMulh(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, mulh(in.a(r), in.b(r)))
}

func execMulhsu(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, mulhsu(in.a(r), in.b(r)))
}

func execMulhu(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, mulhu(in.a(r), in.b(r)))
}

func execDiv(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, div(in.a(r), in.b(r)))
}

func execDivu(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, divu(in.a(r), in.b(r)))
}

func execRem(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, rem(in.a(r), in.b(r)))
}

func execRemu(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, remu(in.a(r), in.b(r)))
}

func execMulw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(in.a(r)*in.b(r)))
}

func execDivw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(div(word(in.a(r)), word(in.b(r)))))
}

func execDivuw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(divu(unsigned(in.a(r)), unsigned(in.b(r)))))
}

func execRemw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(rem(word(in.a(r)), word(in.b(r)))))
}

func execRemuw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(remu(unsigned(in.a(r)), unsigned(in.b(r)))))
}
