package arm64

import "kpsim/smp/arch"

// exclusiveForms are the loads and stores that order or reserve, and the atomic instructions of
// v8.1 (ARM ARM C4.1, "Loads and Stores"). A field that should be all ones must be.
var exclusiveForms = []form{
	{".. 001000 010 11111 . 11111 ..... .....", "ldxr or ldaxr", makeLoadExclusive, nil},
	{".. 001000 000 ..... . 11111 ..... .....", "stxr or stlxr", makeStoreExclusive, nil},
	{"1. 001000 011 11111 . ..... ..... .....", "ldxp or ldaxp", makeLoadExclusivePair, nil},
	{"1. 001000 001 ..... . ..... ..... .....", "stxp or stlxp", makeStoreExclusivePair, nil},
	{".. 001000 110 11111 . 11111 ..... .....", "ldar or ldlar", makeLoadAcquire, textOrdered},
	{".. 001000 100 11111 . 11111 ..... .....", "stlr or stllr", makeStoreRelease, textOrdered},
	{".. 111000 101 11111 1100 00 ..... .....", "ldapr", makeLoadAcquire, textLoadAcquire},
	{".. 011001 .. 0 ......... 00 ..... .....", "ldapur or stlur", makeOrderedUnscaled, textOrderedUnscaled},
	{".. 001000 1.1 ..... . 11111 ..... .....", "cas", makeCompareAndSwap, textCompareAndSwap},
	{"0. 001000 0.1 ..... . 11111 ..... .....", "casp", makeCompareAndSwapPair, textCompareAndSwapPair},
	{".. 111000 ..1 ..... 0... 00 ..... .....", "ldadd and the like", makeAtomic, textAtomic},
	{".. 111000 ..1 ..... 1000 00 ..... .....", "swp", makeAtomic, textSwap},
}

// ordered fills in what all of them have in common: the address is register n alone.
func (in *Inst) ordered(w word, size uint8) {
	in.transfer(size)
	in.constant(0)
	in.d, in.n, in.memory = w.reg(0), w.regSP(5), true
}

// bySize is ordered with the field size.
func (in *Inst) bySize(w word) { in.ordered(w, 1<<w.field(30, 2)) }

// at returns the address of the access. ok false: it isn't a multiple of n, which is an alignment
// fault (ARM ARM B2, "Alignment of data accesses"). FEAT_LSE2, which allows more, isn't there.
func (in *Inst) at(r *arch.Regs, n uint8) (a arch.Addr, ok bool) {
	a = arch.Addr(r.R[in.n] + in.imm)
	return a, a&arch.Addr(n-1) == 0
}

// reserver returns the memory that keeps the CPU's reservation.
func reserver(m arch.Memory) arch.Reserver { return m.(arch.Reserver) }

func makeLoadExclusive(in *Inst, w word) error {
	in.bySize(w)
	in.Run = execLoadExclusive
	return nil
}

func execLoadExclusive(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	a, ok := in.at(r, in.size)
	if !ok {
		return arch.Protection
	}
	v, ok := m.Load(a, int(in.size))
	if !ok {
		return arch.PageFault
	}
	reserver(m).Reserve(a, int(in.size))
	return in.set(r, v)
}

// makeStoreExclusive has register a for the status.
func makeStoreExclusive(in *Inst, w word) error {
	in.bySize(w)
	in.a, in.Run, in.Drains = w.reg(16), execStoreExclusive, true
	if in.a == in.d || in.a == in.n {
		return ErrUnpredictable
	}
	return nil
}

func execStoreExclusive(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	a, ok := in.at(r, in.size)
	switch {
	case !ok:
		return arch.Protection
	case !reserver(m).Reserved(a, int(in.size)):
		return in.status(r, 1)
	case !m.Store(a, int(in.size), in.cut(r.R[in.d])):
		return arch.PageFault
	}
	return in.status(r, 0)
}

// status writes the status of a store exclusive: 1 if it has failed. A loop that then tries again is
// waiting for another CPU, so a failure is Relaxed.
func (in *Inst) status(r *arch.Regs, v uint64) arch.Outcome {
	r.R[in.a] = v
	r.R[ZR] = 0
	r.IP += Len
	if v != 0 {
		return arch.Relaxed
	}
	return arch.Next
}

// A pair has registers d and m, each of size bytes, and its address is a multiple of both sizes.

// pair is ordered for a pair of registers. They have 64 bits each if bit wide of the word is set.
func (in *Inst) pair(w word, wide uint) {
	in.ordered(w, 4<<w.field(wide, 1))
	in.m = w.reg(10)
}

func makeLoadExclusivePair(in *Inst, w word) error {
	in.pair(w, 30)
	in.Run = execLoadExclusivePair
	if in.d == in.m {
		return ErrUnpredictable
	}
	return nil
}

func execLoadExclusivePair(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	a, ok := in.at(r, 2*in.size)
	if !ok {
		return arch.Protection
	}
	v, v2, ok := in.loadTwo(m, a)
	if !ok {
		return arch.PageFault
	}
	reserver(m).Reserve(a, 2*int(in.size))
	r.R[in.m] = v2
	return in.set(r, v)
}

// loadTwo loads both values of a pair.
func (in *Inst) loadTwo(m arch.Memory, a arch.Addr) (v, v2 uint64, ok bool) {
	v, ok = m.Load(a, int(in.size))
	if !ok {
		return 0, 0, false
	}
	v2, ok = m.Load(a+arch.Addr(in.size), int(in.size))
	return v, v2, ok
}

func makeStoreExclusivePair(in *Inst, w word) error {
	in.pair(w, 30)
	in.a, in.Run, in.Drains = w.reg(16), execStoreExclusivePair, true
	if in.a == in.d || in.a == in.m || in.a == in.n {
		return ErrUnpredictable
	}
	return nil
}

func execStoreExclusivePair(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	a, ok := in.at(r, 2*in.size)
	switch {
	case !ok:
		return arch.Protection
	case !reserver(m).Reserved(a, 2*int(in.size)):
		return in.status(r, 1)
	case !in.storeTwo(m, a, in.cut(r.R[in.d]), in.cut(r.R[in.m])):
		return arch.PageFault
	}
	return in.status(r, 0)
}

func makeLoadAcquire(in *Inst, w word) error {
	in.bySize(w)
	in.Run = execLoadOrdered
	return nil
}

func makeStoreRelease(in *Inst, w word) error {
	in.bySize(w)
	in.Run = execStoreOrdered
	return nil
}

// makeOrderedUnscaled is ldapur and stlur, of v8.4.
func makeOrderedUnscaled(in *Inst, w word) error {
	in.constant(w.signed(12, 9))
	prefetch, err := in.access(w)
	if prefetch {
		return ErrUnknown
	}
	in.Run = execLoadOrdered
	if w.field(22, 2) == 0 {
		in.Run = execStoreOrdered
	}
	return err
}

func execLoadOrdered(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	a, ok := in.at(r, in.size)
	if !ok {
		return arch.Protection
	}
	v, ok := m.Load(a, int(in.size))
	if !ok {
		return arch.PageFault
	}
	return in.set(r, signExtend(v, in.ext))
}

func execStoreOrdered(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	a, ok := in.at(r, in.size)
	if !ok {
		return arch.Protection
	}
	if !m.Store(a, int(in.size), in.cut(r.R[in.d])) {
		return arch.PageFault
	}
	r.IP += Len
	return arch.Next
}
