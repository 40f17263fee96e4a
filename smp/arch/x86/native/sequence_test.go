package native

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// pointers are the registers that hold addresses of data in a sequence.
const pointers = 1<<x86.RBX | 1<<x86.RSP | 1<<x86.RBP | 1<<x86.RSI | 1<<x86.RDI | 1<<x86.R12 | 1<<x86.R13 | 1<<x86.R14 | 1<<x86.R15

// resync defines all flags: cmp ecx, eax.
var resync = []byte{0x39, 0xc1}

// append adds an instruction to a program, at its end. What leaves flags
// undefined is followed by one that defines them, so that nothing is computed
// from a flag that may be anything.
func (p *program) append(code []byte) (ok bool) {
	in, err := p.mode.Decode(code, codeAt+arch.Addr(len(p.code)))
	if err != nil || in.Unsupported() || len(p.code)+int(in.Len)+len(resync) > maxCode {
		return false
	}
	a := dissect(&in)
	if unfit(p.mode, &a) != "" || vendorsDiffer(p.mode, &a) != "" {
		return false
	}
	p.add(in)
	for _, n := range []uint64{0, 1, 2, 9, 17, 33} {
		if in.UndefinedFlags(&arch.Regs{R: [arch.MaxRegs]uint64{x86.RCX: n}}) != 0 {
			in, _ := p.mode.Decode(resync, codeAt+arch.Addr(len(p.code)))
			p.add(in)
			break
		}
	}
	return true
}

// sequenceTrial draws registers for a program of any instructions: addresses in
// half of them.
func sequenceTrial(mode x86.Mode, r *random) (t trial) {
	s := &t.s
	for i := range s.R[:x86.AMD64.Used] {
		s.R[i] = r.value()
		if pointers>>i&1 != 0 {
			s.R[i] = uint64(dataAt) + 0x400 + uint64(r.below(0x800))&^7
		}
	}
	s.R[x86.RSP] = uint64(stackAt) + 0x800 + uint64(r.below(0x40))*8
	if r.one(2) {
		s.R[x86.RCX] = uint64(r.below(70))
	}
	s.IP = codeAt
	s.Flags = x86.F1 | x86.IF | r.next()&arith
	for i := range arch.Addr(8) {
		t.poke(dataAt+0x600+64*i, r.value())
		t.poke(stackAt+0x800+8*i, pad(r))
	}
	if mode == x86.Mode32 {
		for i := range s.R[:x86.AMD64.Used] {
			s.R[i] &= 0xffff_ffff
		}
		clear(s.R[8:])
	}
	return t
}

// sequence draws n instructions; what mustn't stand in one is left out.
func sequence(p *program, list []*form, picks []uint64) {
	for _, seed := range picks {
		r := random(seed)
		f := list[seed%uint64(len(list))]
		for range 8 {
			x, ok := f.newEncoding(&r)
			if !ok {
				continue
			}
			m := &x.e.mem
			if f.mem && !m.fixed() && (m.base == noReg || m.index != noReg || pointers>>m.base&1 == 0 ||
				m.disp+0x300 > 0x600) {
				continue
			}
			p.append(x.code)
			break
		}
	}
}
