package native

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// A trial is one thing to run: registers, and what lies in memory.
type trial struct {
	s     arch.Regs
	pokes []poke
}

// A poke is eight bytes in memory.
type poke struct {
	at arch.Addr
	v  uint64
}

// An encoding is one encoding of a form, ready to be tried with many operands.
type encoding struct {
	f    *form
	code []byte
	e    encoded
	in   x86.Inst
	at   uint64 // of an operand that no register can move
}

// newEncoding draws an encoding. ok false: not every one of a form exists.
func (f *form) newEncoding(r *random) (x encoding, ok bool) {
	x.f = f
	x.code, x.e = f.encode(r)
	if f.space == 1 && !f.vex {
		switch f.op {
		case 0xc8: // enter: a frame of at most 1 KiB, any level
			putLittle(x.code[x.e.tailAt:], 2, uint64(r.below(0x400)))
		case 0xc2: // ret
			if r.one(2) {
				putLittle(x.code[x.e.tailAt:], 2, uint64(r.below(0x400)))
			}
		case 0xa0, 0xa1, 0xa2, 0xa3:
			x.at = uint64(f.place(r, f.addressBits()))
			putLittle(x.code[x.e.tailAt:], 8, x.at-f.segmentBase())
		}
	}
	in, err := f.mode.Decode(x.code, codeAt)
	if err != nil || in.Unsupported() || x.unsafe(&in) {
		return x, false
	}
	n := int(in.Len)
	if f.mem && x.e.mem.fixed() {
		x.at = uint64(f.place(r, x.e.mem.bits))
		x.e.mem.absolute(x.code, &x.e, n, x.at-f.segmentBase())
	}
	if _, direct := in.Target(); direct {
		d := r.below(0x600) - 0x300
		if n-x.e.tailAt == 1 {
			d = r.below(256) - 128
		}
		if d >= -40 && d < 0 {
			d -= 60
		} else if d < padSize && d >= 0 {
			d += padSize
		}
		putLittle(x.code[x.e.tailAt:], 4, uint64(d))
	}
	x.code = x.code[:n]
	x.in, err = f.mode.Decode(x.code, codeAt)
	return x, err == nil && !x.in.Unsupported()
}

// unsafe is for the encodings of a form, which may be more than one instruction.
func (x *encoding) unsafe(in *x86.Inst) bool {
	if x.f.group < 0 || x.f.space != 2 {
		return false
	}
	a := dissect(in)
	return unfit(x.f.mode, &a) != ""
}

// addressBits is the address size of an implicit operand.
func (f *form) addressBits() uint8 {
	switch {
	case f.mode == x86.Mode64 && !f.has(0x67):
		return 64
	case f.mode == x86.Mode32 && f.has(0x67):
		return 16
	}
	return 32
}

func (f *form) segmentBase() uint64 {
	switch fs, gs := basesOf(f.mode); {
	case f.has(0x64):
		return fs
	case f.has(0x65):
		return gs
	}
	return 0
}

// place draws the address of an operand: mostly in the page of data, sometimes
// over its edge or where nothing is.
func (f *form) place(r *random, bits uint8) arch.Addr {
	page := dataAt
	if bits == 16 {
		page = lowAt
	}
	align := arch.Addr(1)
	switch { // a locked access over a cache line is slow on some hosts, and traps
	case f.has(0xf0), f.op == 0xc7 && f.space == 2 && !r.one(16):
		align = 16
	case f.op == 0x87 || f.op == 0x86:
		align = 8
	}
	switch n := r.below(48); {
	case n == 0 && bits != 16:
		return page + pageSize*arch.Addr(1+r.below(3)) + arch.Addr(r.below(0xf00))&^(align-1)
	case n == 1:
		return (page + pageSize - 1 - arch.Addr(r.below(16))) &^ (align - 1)
	case n == 2:
		return (page - 1 - arch.Addr(r.below(16))) &^ (align - 1)
	}
	return page + (0x600+arch.Addr(r.below(0x400)))&^(align-1)
}

// trial draws registers and memory for an encoding.
func (x *encoding) trial(r *random) (t trial) {
	f, s := x.f, &t.s
	for i := range s.R[:x86.AMD64.Used] {
		s.R[i] = r.value()
	}
	s.IP = codeAt
	s.Flags = x86.F1 | x86.IF | r.next()&arith
	if f.isString() && r.one(3) || r.one(16) {
		s.Flags |= x86.DF
	}
	x.implicit(r, &t)
	if f.mem {
		a := x.at
		if !x.e.mem.fixed() {
			a = uint64(f.place(r, x.e.mem.bits))
			x.e.mem.aim(s, a-f.segmentBase(), r)
			if r.one(64) {
				s.R[x.e.mem.firstReg()] = r.next() // most likely no address at all
			}
		}
		x.explicit(r, &t, arch.Addr(a))
	} else if f.modrm && f.space == 1 && f.op == 0xff && (f.group == 2 || f.group == 4) {
		s.R[x.e.rm] = pad(r)
	}
	x.related(r, &t)
	if f.mode == x86.Mode32 {
		for i := range s.R[:x86.AMD64.Used] {
			s.R[i] &= 0xffff_ffff
		}
		clear(s.R[8:])
	}
	return t
}

func (m *memOperand) firstReg() arch.Reg {
	if m.base != noReg {
		return m.base
	}
	return m.index
}

// pad is the address of a place in the text where code may arrive.
func pad(r *random) uint64 { return uint64(farPads) + uint64(r.below(farPadCount))*padSize }

// implicit gives the registers of implicit operands sensible values.
func (x *encoding) implicit(r *random, t *trial) {
	f, s := x.f, &t.s
	if f.modrm && r.one(8) {
		return // RSP is a register like the others
	}
	sp := uint64(stackAt) + 0x600 + uint64(r.below(0x100))*8
	switch {
	case r.one(8):
		sp += uint64(r.below(8))
	case r.one(64):
		sp = uint64(stackAt) + uint64(r.below(24))
	case r.one(64):
		sp = uint64(stackAt) + pageSize - uint64(r.below(24))
	}
	s.R[x86.RSP] = sp
	if f.vex || f.space != 1 {
		return
	}
	bits := f.addressBits()
	junk := func(v uint64) uint64 { // above the address size nothing counts
		if bits == 64 {
			return v
		}
		return v | r.next()<<bits
	}
	switch op := f.op; {
	case f.isString():
		s.R[x86.RSI] = junk(uint64(f.place(r, bits)) - f.segmentBase())
		s.R[x86.RDI] = junk(uint64(f.place(r, bits)))
		if f.has(0xf2) || f.has(0xf3) {
			s.R[x86.RCX] = junk(uint64(r.below(24)))
		}
		for i := range 4 { // runs of equal elements, and elements that are what the accumulator holds
			v := s.R[x86.RAX]
			if r.one(2) {
				v = s.R[x86.RAX] & 0xff * 0x0101_0101_0101_0101
			}
			t.poke(arch.Addr(s.R[x86.RSI]&(1<<(bits-1)<<1-1)+f.segmentBase())+arch.Addr(8*i), v)
			t.poke(arch.Addr(s.R[x86.RDI]&(1<<(bits-1)<<1-1))+arch.Addr(8*i), v)
		}
	case op == 0xd7:
		s.R[x86.RBX] = junk(uint64(f.place(r, bits)) - f.segmentBase())
	case op == 0xc9, op == 0xc8:
		s.R[x86.RBP] = uint64(stackAt) + 0x400 + uint64(r.below(0x400))
		if f.mode == x86.Mode64 && op == 0xc8 && f.has(0x66) && r.one(2) {
			s.R[x86.RBP] += 1
		}
	case op == 0xc2, op == 0xc3:
		t.poke(arch.Addr(sp), pad(r))
	case op == 0x9d:
		// the others stop the processor, or need privilege
		t.poke(arch.Addr(sp), r.next()&^(x86.TF|ioplF|ntF|acF)|x86.IF)
	case op == 0xe0, op == 0xe1, op == 0xe2, op == 0xe3:
		if r.one(2) {
			s.R[x86.RCX] = junk(uint64(r.below(3)))
		}
	}
}

// explicit fills the memory of the operand.
func (x *encoding) explicit(r *random, t *trial, a arch.Addr) {
	f, s := x.f, &t.s
	v := r.value()
	switch {
	case f.vex:
	case f.space == 1 && f.op == 0xff && (f.group == 2 || f.group == 4):
		v = pad(r)
	case f.space == 1 && f.op == 0x62 && r.one(2): // bound: in or just outside
		v = s.R[x.e.reg]&0xffff - uint64(r.below(2)) + uint64(r.below(2))<<32
	case f.space == 2 && (f.op == 0xa3 || f.op == 0xab || f.op == 0xb3 || f.op == 0xbb) && !r.one(32):
		if x.e.reg != x.e.mem.base && x.e.reg != x.e.mem.index { // the bit's number, which may be far away
			off := uint64(r.below(0x4000) - 0x2000)
			if f.has(0x66) {
				off |= r.next() << 16
			} else if !f.w {
				off = off&0xffff_ffff | r.next()<<32
			}
			s.R[x.e.reg] = off
		}
	}
	t.poke(a, v)
	t.poke(a+8, r.value())
}

// related makes operands depend on each other where otherwise one outcome would
// hardly ever be seen.
func (x *encoding) related(r *random, t *trial) {
	f, s := x.f, &t.s
	if f.vex || r.one(2) {
		return
	}
	switch {
	case f.space == 1 && (f.op == 0xf6 || f.op == 0xf7) && f.group >= 6: // quotients that fit
		switch {
		case f.mem && (x.e.mem.base == x86.RDX || x.e.mem.base == x86.RAX || x.e.mem.index == x86.RDX ||
			x.e.mem.index == x86.RAX):
		case f.op == 0xf6:
			s.R[x86.RAX] &^= 0xff80
		case f.group == 6:
			s.R[x86.RDX] = uint64(r.below(3))
		default:
			s.R[x86.RDX] = uint64(int64(s.R[x86.RAX]) >> 63)
			if !f.w {
				s.R[x86.RDX] = uint64(int64(int32(s.R[x86.RAX])) >> 63)
			}
			if f.has(0x66) {
				s.R[x86.RDX] = uint64(int64(int16(s.R[x86.RAX])) >> 63)
			}
		}
	case f.space == 2 && (f.op == 0xb0 || f.op == 0xb1): // cmpxchg that finds what it expects
		if !f.mem {
			s.R[x.e.rm] = s.R[x86.RAX]
		} else if len(t.pokes) > 0 && x.e.mem.base != x86.RAX && x.e.mem.index != x86.RAX {
			s.R[x86.RAX] = t.pokes[0].v
		}
	case f.space == 2 && f.op == 0xc7 && f.mem:
		if b, i := x.e.mem.base, x.e.mem.index; b != x86.RAX && b != x86.RDX && i != x86.RAX && i != x86.RDX &&
			len(t.pokes) > 1 {
			s.R[x86.RAX], s.R[x86.RDX] = t.pokes[0].v, t.pokes[1].v
			if !f.w {
				s.R[x86.RDX] = t.pokes[0].v >> 32
			}
		}
	case f.space == 1 && f.op < 0x40, f.space == 1 && f.op >= 0x84 && f.op <= 0x87: // equal operands
		if !f.mem && f.modrm {
			s.R[x.e.rm] = s.R[x.e.reg]
		}
	}
}

func (t *trial) poke(a arch.Addr, v uint64) { t.pokes = append(t.pokes, poke{a, v}) }
