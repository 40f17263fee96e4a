package arm64

import "kpsim/smp/arch"

// The atomic instructions of v8.1 (FEAT_LSE) read and write memory in one step, whatever order they
// ask for.

// makeCompareAndSwap is cas, casa, casl and casal. Register a is compared, and gets the old value.
func makeCompareAndSwap(in *Inst, w word) error {
	in.bySize(w)
	in.a, in.Run, in.Drains = w.reg(16), execCompareAndSwap, true
	return nil
}

func execCompareAndSwap(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	at, ok := in.at(r, in.size)
	if !ok {
		return arch.Protection
	}
	v, ok := m.Load(at, int(in.size))
	if !ok || v == in.cut(r.R[in.a]) && !m.Store(at, int(in.size), in.cut(r.R[in.d])) {
		return arch.PageFault
	}
	r.R[in.a] = v
	r.R[ZR] = 0
	r.IP += Len
	return arch.Next
}

// makeCompareAndSwapPair is casp, caspa, caspl and caspal. Registers a and d are even, and each is the
// first of two.
func makeCompareAndSwapPair(in *Inst, w word) error {
	in.ordered(w, 4<<w.field(30, 1))
	if w.bit(0) || w.bit(16) {
		return ErrUnknown
	}
	in.a, in.Run, in.Drains = w.reg(16), execCompareAndSwapPair, true
	return nil
}

func execCompareAndSwapPair(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	at, ok := in.at(r, 2*in.size)
	if !ok {
		return arch.Protection
	}
	v, v2, ok := in.loadTwo(m, at)
	if !ok {
		return arch.PageFault
	}
	a2, d2 := in.after(in.a), in.after(in.d)
	if v == in.cut(r.R[in.a]) && v2 == in.cut(r.R[a2]) &&
		!in.storeTwo(m, at, in.cut(r.R[in.d]), in.cut(r.R[d2])) {
		return arch.PageFault
	}
	r.R[in.a], r.R[a2] = v, v2
	r.R[ZR] = 0
	r.IP += Len
	return arch.Next
}

// after returns the second register of a pair that begins with an even one. After x30 comes the zero
// register.
func (in *Inst) after(even uint8) uint8 {
	if even == uint8(LR) {
		return uint8(ZR)
	}
	return even + 1
}

// makeAtomic is swp, ldadd and so on. Register m is the operand, and d gets the old value. If d is the
// zero register, assemblers write stadd for ldadd.
func makeAtomic(in *Inst, w word) error {
	in.bySize(w)
	in.m, in.Run, in.Drains = w.reg(16), atomics[w.field(12, 3)], true
	if w.bit(15) {
		in.Run = execSwap
	}
	return nil
}

// atomics are the operations by the field opc.
var atomics = [8]run{execAtomicAdd, execAtomicClear, execAtomicXor, execAtomicSet,
	execAtomicMaxSigned, execAtomicMinSigned, execAtomicMax, execAtomicMin}

// atomic replaces a value in memory by f of it and of register m.
func (in *Inst) atomic(r *arch.Regs, m arch.Memory, f func(was, v uint64) uint64) arch.Outcome {
	at, ok := in.at(r, in.size)
	if !ok {
		return arch.Protection
	}
	was, ok := m.Load(at, int(in.size))
	if !ok || !m.Store(at, int(in.size), in.cut(f(was, in.cut(r.R[in.m])))) {
		return arch.PageFault
	}
	return in.set(r, was)
}

func execSwap(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	return whole(op).atomic(r, m, func(_, v uint64) uint64 { return v })
}

func execAtomicAdd(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	return whole(op).atomic(r, m, func(was, v uint64) uint64 { return was + v })
}

// execAtomicClear is ldclr.
func execAtomicClear(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	return whole(op).atomic(r, m, func(was, v uint64) uint64 { return was &^ v })
}

func execAtomicXor(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	return whole(op).atomic(r, m, func(was, v uint64) uint64 { return was ^ v })
}

// execAtomicSet is ldset.
func execAtomicSet(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	return whole(op).atomic(r, m, func(was, v uint64) uint64 { return was | v })
}

func execAtomicMaxSigned(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	return in.atomic(r, m, func(was, v uint64) uint64 { return uint64(max(in.number(was), in.number(v))) })
}

func execAtomicMinSigned(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	return in.atomic(r, m, func(was, v uint64) uint64 { return uint64(min(in.number(was), in.number(v))) })
}

// number returns a value of the access's size as a signed number.
func (in *Inst) number(v uint64) int64 { return int64(signExtend(v, 64-8*in.size)) }

func execAtomicMax(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	return whole(op).atomic(r, m, func(was, v uint64) uint64 { return max(was, v) })
}

func execAtomicMin(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	return whole(op).atomic(r, m, func(was, v uint64) uint64 { return min(was, v) })
}
