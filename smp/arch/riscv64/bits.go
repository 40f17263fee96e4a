package riscv64

import (
	"math/bits"

	"kpsim/smp/arch"
)

// Bit manipulation (vol. 1, "B" chapter: Zba and Zbb).

// orcb has all bits of each byte set that isn't zero.
func orcb(v uint64) uint64 {
	for i := range 8 {
		if b := uint64(0xff) << (8 * i); v&b != 0 {
			v |= b
		}
	}
	return v
}

func execAdduw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, unsigned(in.a(r))+in.b(r))
}

func execSh1add(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)<<1+in.b(r))
}

func execSh2add(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)<<2+in.b(r))
}

func execSh3add(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)<<3+in.b(r))
}

func execSh1adduw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, unsigned(in.a(r))<<1+in.b(r))
}

func execSh2adduw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, unsigned(in.a(r))<<2+in.b(r))
}

func execSh3adduw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, unsigned(in.a(r))<<3+in.b(r))
}

func execSlliuw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, unsigned(in.a(r))<<in.imm)
}

func execAndn(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)&^in.b(r))
}

func execOrn(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.a(r)|^in.b(r))
}

func execXnor(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, ^(in.a(r) ^ in.b(r)))
}

func execClz(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(bits.LeadingZeros64(in.a(r))))
}

func execCtz(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(bits.TrailingZeros64(in.a(r))))
}

func execCpop(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(bits.OnesCount64(in.a(r))))
}

func execClzw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(bits.LeadingZeros32(uint32(in.a(r)))))
}

func execCtzw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(bits.TrailingZeros32(uint32(in.a(r)))))
}

func execCpopw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(bits.OnesCount32(uint32(in.a(r)))))
}

func execMax(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(max(int64(in.a(r)), int64(in.b(r)))))
}

func execMaxu(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, max(in.a(r), in.b(r)))
}

func execMin(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(min(int64(in.a(r)), int64(in.b(r)))))
}

func execMinu(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, min(in.a(r), in.b(r)))
}

func execSextb(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(int64(int8(in.a(r)))))
}

func execSexth(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(int64(int16(in.a(r)))))
}

func execZexth(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, uint64(uint16(in.a(r))))
}

func execRol(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, bits.RotateLeft64(in.a(r), int(in.b(r)&63)))
}

func execRor(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, bits.RotateLeft64(in.a(r), -int(in.b(r)&63)))
}

func execRolw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(uint64(bits.RotateLeft32(uint32(in.a(r)), int(in.b(r)&31)))))
}

func execRorw(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, word(uint64(bits.RotateLeft32(uint32(in.a(r)), -int(in.b(r)&31)))))
}

func execOrcb(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, orcb(in.a(r)))
}

func execRev8(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, bits.ReverseBytes64(in.a(r)))
}
