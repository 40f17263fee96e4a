package vmlinux

import (
	"bytes"
	"encoding/binary"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// recovered finds relocations in a kernel that was stripped of them, by searching for words that
// are addresses of the kernel. In data these are aligned 64-bit words. In code they are
// immediates and displacements extended to 64 bits, and rip-relative displacements to per-CPU
// data, which doesn't move. In Debian's 6.12 it misses 45 of 255,000 words, mostly physical and
// packed addresses, and mistakes 3 masks for addresses (TestRecovered).
func (im *Image) recovered() relocs {
	f := im.finder()
	if s := im.Section(".data..percpu"); s != nil && !im.moves(s) {
		f.perCPU = s.Size
	}
	for i := range im.sections {
		s := &im.sections[i]
		switch {
		case s.Data == nil, s.Name == ".notes", s.Name == ".pci_fixup": // its ids look like addresses
		case s.Name == "__ksymtab", s.Name == "__ksymtab_gpl":
			f.exports(s)
		case s.Exec:
			f.code(s)
		default:
			f.data(s)
		}
	}
	return f.found
}

// exports finds exported per-CPU variables: a row is three 32-bit words, each relative to itself,
// the value first.
func (f *finder) exports(s *Section) {
	for off := 0; off+12 <= len(s.Data); off += 12 {
		if s.ref(off) < f.perCPU {
			f.found.minus32 = append(f.found.minus32, s.Addr+uint64(off))
		}
	}
}

// code decodes each function up to the first invalid instruction.
func (f *finder) code(s *Section) {
	next := 0 // index of the next symbol
	for next < len(f.im.symbols) && f.im.symbols[next].Addr < s.Addr {
		next++
	}
	for at := s.Addr; at < s.Addr+s.Size; {
		for next < len(f.im.symbols) && f.im.symbols[next].Addr <= at {
			next++
		}
		end := s.Addr + s.Size
		if next < len(f.im.symbols) {
			end = min(end, f.im.symbols[next].Addr)
		}
		in, err := x86.Decode(s.Data[at-s.Addr:], arch.Addr(at))
		if err != nil || at+uint64(in.Len) > end { // data, or an instruction cut by the end of a function
			at = end
			continue
		}
		f.instruction(&in)
		at += uint64(in.Len)
	}
}

func (f *finder) instruction(in *x86.Inst) {
	if _, ok := in.Target(); ok {
		return
	}
	raw, le := in.Raw(), binary.LittleEndian
	disp, imm := in.DispAndImm()
	at := uint64(in.Addr)
	if to, ok := in.RIPOperand(); ok {
		if uint64(to) < f.perCPU {
			f.found.minus32 = append(f.found.minus32, at+uint64(disp[0]))
		}
	} else if disp[1]-disp[0] == 4 && f.inside(raw[disp[0]:]) {
		f.found.add32 = append(f.found.add32, at+uint64(disp[0]))
	}
	switch imm[1] - imm[0] {
	case 8:
		if v := le.Uint64(raw[imm[0]:]); v >= f.lo && v <= f.hi {
			f.found.add64 = append(f.found.add64, at+uint64(imm[0]))
		}
	case 4:
		if extended(in) && f.inside(raw[imm[0]:]) {
			f.found.add32 = append(f.found.add32, at+uint64(imm[0]))
		}
	}
}

// extended reports whether a 32-bit immediate can be an address: it is extended to 64 bits, and
// isn't a mask.
func extended(in *x86.Inst) bool {
	switch in.Opcode() {
	case 0x68: // push
		return true
	case 0xa9, 0xf7: // test
		return false
	}
	return in.Prefixes()&x86.PrefixREXW != 0
}

// inside reports whether a 32-bit word, sign-extended, is an address of the kernel.
func (f *finder) inside(b []byte) bool {
	v := uint64(int64(int32(binary.LittleEndian.Uint32(b))))
	return v >= f.lo && v <= f.hi
}

// callsOfFentry returns the calls of __fentry__ at the beginning of functions, after an endbr64
// if present.
func (im *Image) callsOfFentry() []uint64 {
	fentry, ok := im.Symbol("__fentry__")
	if !ok {
		return nil
	}
	var all []uint64
	for _, s := range im.symbols {
		at := s.Addr
		if !s.Func {
			continue
		}
		if b := im.Bytes(at, 4); bytes.Equal(b, []byte{0xf3, 0x0f, 0x1e, 0xfa}) {
			at += 4
		}
		if b := im.Bytes(at, 5); b != nil && b[0] == 0xe8 &&
			(at+5+uint64(int64(int32(binary.LittleEndian.Uint32(b[1:])))))&im.mask == fentry.Addr {
			all = append(all, at)
		}
	}
	return all
}
