package arm64

import "kpsim/smp/arch"

// memoryForms are loads and stores of one register or two (ARM ARM C4.1, "Loads and Stores"), but for
// those in exclusiveForms. Those of floating-point and vector registers are in refusedForms.
var memoryForms = []form{
	{".. 111 0 01 .. ............ ..... .....", "load or store", makeScaled, nil},
	{".. 111 0 00 .. 0 ......... 00 ..... .....", "load or store, unscaled", makeUnscaled, nil},
	{".. 111 0 00 .. 0 ......... 01 ..... .....", "load or store, post-indexed", makeIndexed, nil},
	{".. 111 0 00 .. 0 ......... 10 ..... .....", "load or store, unprivileged", makeUnprivileged, nil},
	{".. 111 0 00 .. 0 ......... 11 ..... .....", "load or store, pre-indexed", makeIndexed, nil},
	{".. 111 0 00 .. 1 ..... ... . 10 ..... .....", "load or store, register offset", makeRegisterOffset, nil},
	{"11 111 0 00 .. 1 ......... .1 ..... .....", "ldraa or ldrab", makeLoadSigned, textLoadSigned},
	{".. 011 0 00 ................... .....", "load, literal", makeLiteral, nil},
	{".. 101 0 0.. . ....... ..... ..... .....", "load or store of a pair", makePair, nil},
}

// access fills in what is transferred, by the fields size and opc. prefetch: nothing is.
func (in *Inst) access(w word) (prefetch bool, err error) {
	log := w.field(30, 2)
	in.transfer(1 << log)
	in.d, in.n, in.memory = w.reg(0), w.regSP(5), true
	switch opc := w.field(22, 2); {
	case opc == 0:
		in.Run = execStore
	case opc == 1:
		in.Run = execLoad
	case opc == 2 && log == 3:
		in.Run = execNop
		return true, nil
	case opc == 3 && log >= 2:
		return false, ErrUnknown
	default: // sign-extended, to 32 bits if opc is 3
		in.setWidth(opc == 2)
		in.Run, in.ext = execLoad, uint8(64-8<<log)
	}
	return false, nil
}

// transfer sets the size of an access. Loads extend with zeroes, unless ext is set afterwards.
func (in *Inst) transfer(size uint8) { in.size, in.mask = size, ^uint64(0) }

func makeScaled(in *Inst, w word) error {
	in.constant(w.field(10, 12) << w.field(30, 2))
	_, err := in.access(w)
	return err
}

func makeUnscaled(in *Inst, w word) error {
	in.constant(w.signed(12, 9))
	_, err := in.access(w)
	return err
}

// makeUnprivileged is ldtr and sttr. All code runs at EL1, and user memory isn't kept apart, so
// they are as ldur and stur. There is no prefetch among them.
func makeUnprivileged(in *Inst, w word) error {
	in.constant(w.signed(12, 9))
	prefetch, err := in.access(w)
	if prefetch {
		return ErrUnknown
	}
	return err
}

// makeIndexed is for a base that changes, before or after the access. The result is unpredictable if it
// is also the register that is transferred.
func makeIndexed(in *Inst, w word) error {
	in.constant(w.signed(12, 9))
	prefetch, err := in.access(w)
	if prefetch {
		return ErrUnknown
	}
	in.writeback, in.post, in.Run = true, !w.bit(11), execLoadIndexed
	if w.field(22, 2) == 0 {
		in.Run = execStoreIndexed
	}
	if in.n == in.d && err == nil {
		return ErrUnpredictable
	}
	return err
}

func makeRegisterOffset(in *Inst, w word) error {
	if !w.bit(14) {
		return ErrUnknown // an index of 8 or 16 bits
	}
	in.extend(w, w.field(12, 1)*w.field(30, 2))
	in.indexed = true
	prefetch, err := in.access(w)
	switch {
	case prefetch:
	case w.field(22, 2) == 0:
		in.Run = execStoreRegister
	default:
		in.Run = execLoadRegister
	}
	return err
}

// makeLoadSigned is ldraa and ldrab. No key is enabled, so they load from the address as it is.
func makeLoadSigned(in *Inst, w word) error {
	in.constant(signExtend(w.field(22, 1)<<9|w.field(12, 9), 64-10) << 3)
	in.transfer(8)
	in.d, in.n, in.memory, in.Run = w.reg(0), w.regSP(5), true, execLoad
	if !w.bit(11) {
		return nil
	}
	in.writeback, in.Run = true, execLoadIndexed
	if in.n == in.d {
		return ErrUnpredictable
	}
	return nil
}

func makeLiteral(in *Inst, w word) error {
	in.target(w, 5, 19)
	in.literal = true
	in.transfer([...]uint8{4, 8, 4, 8}[w.field(30, 2)])
	in.d, in.n, in.Run = w.reg(0), uint8(ZR), execLoad
	switch w.field(30, 2) {
	case 2:
		in.ext = 32
	case 3:
		in.Run = execNop // a prefetch
	}
	return nil
}

// makePair is ldp, stp, ldpsw, ldnp and stnp. The result is unpredictable if both loads go to one
// register, or if a base that changes is one of the two registers.
func makePair(in *Inst, w word) error {
	opc, mode, load := w.field(30, 2), w.field(23, 2), w.bit(22)
	in.transfer(4 << (opc >> 1))
	in.d, in.a, in.n, in.memory = w.reg(0), w.reg(10), w.regSP(5), true
	in.constant(w.signed(15, 7) * uint64(in.size))
	in.writeback, in.post = mode&1 != 0, mode == 1
	in.Run = execStorePair
	if load {
		in.Run = execLoadPair
	}
	switch {
	case opc == 1 && load && mode != 0:
		in.ext = 32
	case opc == 1 && mode != 0:
		return refuse(in, w) // stgp
	case opc&1 != 0:
		return ErrUnknown
	}
	if load && in.d == in.a || in.writeback && (in.n == in.d || in.n == in.a) {
		return ErrUnpredictable
	}
	return nil
}

func execLoad(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	v, ok := m.Load(arch.Addr(r.R[in.n]+in.imm), int(in.size))
	if !ok {
		return arch.PageFault
	}
	return in.set(r, signExtend(v, in.ext))
}

func execStore(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	if !m.Store(arch.Addr(r.R[in.n]+in.imm), int(in.size), in.cut(r.R[in.d])) {
		return arch.PageFault
	}
	r.IP += Len
	return arch.Next
}

func execLoadRegister(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	v, ok := m.Load(arch.Addr(r.R[in.n]+in.second(r)), int(in.size))
	if !ok {
		return arch.PageFault
	}
	return in.set(r, signExtend(v, in.ext))
}

func execStoreRegister(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	if !m.Store(arch.Addr(r.R[in.n]+in.second(r)), int(in.size), in.cut(r.R[in.d])) {
		return arch.PageFault
	}
	r.IP += Len
	return arch.Next
}

// cut returns the part of a value that a store of this size has.
func (in *Inst) cut(v uint64) uint64 { return v & (^uint64(0) >> (64 - 8*in.size)) }

// address returns the address of an access with a constant offset, and the base after it.
func (in *Inst) address(r *arch.Regs) (at arch.Addr, base uint64) {
	base = r.R[in.n]
	at = arch.Addr(base + in.imm)
	if in.post {
		at = arch.Addr(base)
	}
	if in.writeback {
		base += in.imm
	}
	return at, base
}

func execLoadIndexed(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	at, base := in.address(r)
	v, ok := m.Load(at, int(in.size))
	if !ok {
		return arch.PageFault
	}
	r.R[in.n] = base
	return in.set(r, signExtend(v, in.ext))
}

func execStoreIndexed(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	at, base := in.address(r)
	if !m.Store(at, int(in.size), in.cut(r.R[in.d])) {
		return arch.PageFault
	}
	r.R[in.n] = base
	r.IP += Len
	return arch.Next
}

func execLoadPair(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	at, base := in.address(r)
	v, ok1 := m.Load(at, int(in.size))
	v2, ok2 := m.Load(at+arch.Addr(in.size), int(in.size))
	if !ok1 || !ok2 {
		return arch.PageFault
	}
	r.R[in.n] = base
	r.R[in.a] = signExtend(v2, in.ext)
	return in.set(r, signExtend(v, in.ext))
}

func execStorePair(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	at, base := in.address(r)
	if !in.storeTwo(m, at, in.cut(r.R[in.d]), in.cut(r.R[in.a])) {
		return arch.PageFault
	}
	r.R[in.n] = base
	r.IP += Len
	return arch.Next
}

// pageSize is the smallest page there is. All bytes of a page can be accessed alike.
const pageSize = 4096

// storeTwo stores both values or none. If they lie in two pages, the first is put back when the
// second page faults.
func (in *Inst) storeTwo(m arch.Memory, at arch.Addr, v, v2 uint64) bool {
	size := int(in.size)
	second := at + arch.Addr(size)
	if at/pageSize == (second+arch.Addr(size)-1)/pageSize {
		return m.Store(at, size, v) && m.Store(second, size, v2)
	}
	was, ok := m.Load(at, size)
	if _, ok2 := m.Load(second, size); !ok || !ok2 || !m.Store(at, size, v) {
		return false
	}
	if !m.Store(second, size, v2) {
		m.Store(at, size, was)
		return false
	}
	return true
}
