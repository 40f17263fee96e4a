package arm64

import "kpsim/smp/arch"

// set writes register d and goes on to the next instruction. If d is the zero register, that is
// cleared again.
func (in *Inst) set(r *arch.Regs, v uint64) arch.Outcome {
	r.R[in.d] = v & in.mask
	r.R[ZR] = 0
	r.IP += Len
	return arch.Next
}

func execMoveConstant(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, in.imm)
}

func execMoveRegister(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.m])
}

// execMoveKeep is movk.
func execMoveKeep(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.d]&in.bMask|in.imm)
}

func execAddConstant(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.n]+in.imm)
}

func execAdd(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.n]+in.second(r)+in.carry)
}

func execAddFlags(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	v := in.addFlags(r, in.second(r), in.carry)
	return in.set(r, v)
}

// execAddConstantFlags is adds, subs, cmn and cmp of an immediate. Decode has inverted it for
// the two that subtract.
func execAddConstantFlags(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	v := in.addFlags(r, in.imm, in.carry)
	return in.set(r, v)
}

// addFlags adds register n, a number and a carry, and sets the flags (ARM ARM, AddWithCarry).
func (in *Inst) addFlags(r *arch.Regs, b, carry uint64) uint64 {
	a := r.R[in.n]
	v := a + b + carry
	s := in.sign & 63
	c := (a&b | (a|b)&^v) >> s & 1
	o := (a ^ v) & (b ^ v) >> s & 1
	r.Flags = r.Flags&^flagsNZCV | in.sizeFlags(v) | c<<29 | o<<28
	return v
}

// sizeFlags returns N and Z of a result.
func (in *Inst) sizeFlags(v uint64) uint64 {
	f := v >> (in.sign & 63) & 1 << 31
	if v&in.mask == 0 {
		f |= FlagZ
	}
	return f
}

// execAddCarry is adc, and with flip sbc.
func execAddCarry(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.n]+in.second(r)+r.Flags>>29&1)
}

func execAddCarryFlags(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	v := in.addFlags(r, in.second(r), r.Flags>>29&1)
	return in.set(r, v)
}

func execAnd(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.n]&in.second(r))
}

func execOr(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.n]|in.second(r))
}

func execXor(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.n]^in.second(r))
}

// execAndFlags clears C and V.
func execAndFlags(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	v := r.R[in.n] & in.second(r)
	r.Flags = r.Flags&^flagsNZCV | in.sizeFlags(v)
	return in.set(r, v)
}

// execMultiplyAdd is madd, and with flip msub: -x is ^x + 1.
func execMultiplyAdd(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.a]+(r.R[in.n]*r.R[in.m]^in.flip)+in.carry)
}

// execMultiplyLong multiplies words: signed ones if the kind is extended.
func execMultiplyLong(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	x, y := r.R[in.n]&(1<<32-1), r.R[in.m]&(1<<32-1)
	if in.kind == extended {
		x, y = signExtend(x, 32), signExtend(y, 32)
	}
	return in.set(r, r.R[in.a]+(x*y^in.flip)+in.carry)
}
