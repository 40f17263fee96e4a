package image

import (
	"encoding/binary"
	"fmt"
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// An alternative is code that replaces other code if a processor has a feature or, when inverted,
// if it lacks it.
type alternative struct {
	at       place
	n        int // number of bytes replaced
	with     place
	withN    int
	feature  int // word*32 + bit, as in the kernel's cpufeatures.h
	inverted bool
	call     bool // ALT_FLAG_DIRECT_CALL: a call of the pointer's current value
}

// Layouts of struct alt_instr (arch/x86/include/asm/alternative.h): the
// feature's number has its inversion in bit 15, or, since 6.3, flags after it.
var (
	altLayout         = layout{14, []int{0, 4}, 2, "instr, replacement, feature, flags and both lengths", 0}
	altLayoutBefore63 = layout{12, []int{0, 4}, 2, "instr, replacement, feature and both lengths", 0}
)

const altBytesMax = 254 // MAX_PATCH_LEN of the kernel

// readAlternatives reads .altinstructions, section i. Its layout follows from the kernel version
// or, if that isn't known, from the places of the relocations.
func (p *parser) readAlternatives(i int) error {
	t := altLayout
	if p.o.version != (Version{}) {
		if p.o.version.Before(6, 3) {
			t = altLayoutBefore63
		}
	} else if !p.fits(i, altLayout) && p.fits(i, altLayoutBefore63) {
		t = altLayoutBefore63
	}
	return p.entries(i, t, func(e entry) error {
		at, err := p.code(e.refs[0])
		if err != nil {
			return err
		}
		cpuid, sizes := int(binary.LittleEndian.Uint16(e.data[8:])), e.data[t.bytes-2:]
		a := alternative{at: at, n: int(sizes[0]), withN: int(sizes[1]), feature: cpuid}
		if t.bytes == 12 {
			a.feature, a.inverted = cpuid&0x7fff, cpuid&0x8000 != 0
		} else {
			flags := binary.LittleEndian.Uint16(e.data[10:])
			a.inverted, a.call = flags&1 != 0, flags&2 != 0
		}
		if a.withN > 0 { // otherwise the word may point to the section's end
			if a.with, err = p.code(e.refs[1]); err != nil {
				return err
			}
		}
		if a.withN > a.n || a.n > altBytesMax || a.withN > 0 &&
			a.withN > len(p.o.sections[a.with.sec].data)-a.with.off {
			return fmt.Errorf("%s+%#x: an alternative of %d bytes for %d: the file is damaged", e.refs[0].table,
				e.refs[0].Off, a.withN, a.n)
		}
		p.o.alts = append(p.o.alts, a)
		return p.addSite(rawSite{kind: SiteAlternative, place: at, n: a.n, key: len(p.o.alts) - 1}, e.refs[0])
	})
}

// fits reports whether the relocations of section i are at the holes of t.
func (p *parser) fits(i int, t layout) bool {
	for _, r := range p.relas[i] {
		if !slices.Contains(t.holes, r.Off%t.bytes) {
			return false
		}
	}
	return p.f.Sections[i].Size%uint64(t.bytes) == 0
}

// alternatives applies the alternatives for the processor's features, in the order of the table:
// arch/x86/kernel/alternative.c, apply_alternatives.
func (l *linked) alternatives() error {
	old := l.version.Before(6, 3)
	alts := slices.Clone(l.o.alts)
	if !old {
		padNested(alts)
	}
	for i := range alts {
		a := &alts[i]
		if a.n > len(l.bytes[a.at.sec])-a.at.off {
			return fmt.Errorf("%s: alternatives go beyond the end of the section: the file is damaged",
				l.o.where(a.at.sec, a.at.off))
		}
		code := l.bytes[a.at.sec][a.at.off : a.at.off+a.n]
		at := l.at[a.at.sec] + arch.Addr(a.at.off)
		if l.has[a.feature] == a.inverted {
			l.joinNops(code, at)
			continue
		}
		buf := make([]byte, a.n)
		n := copy(buf, l.bytes[a.with.sec][a.with.off:a.with.off+a.withN])
		if a.call {
			if !l.pointerCall(buf, code, at) {
				return fmt.Errorf("%s: an alternative that calls directly what isn't called through a pointer: "+
					"the file is damaged", l.o.where(a.at.sec, a.at.off))
			}
			n = x86.JumpLen
		}
		for i := n; i < a.n; i++ {
			buf[i] = 0x90
		}
		from := l.at[a.with.sec] + arch.Addr(a.with.off)
		ok := true
		switch {
		case a.call: // pointerCall has relocated it
		case old:
			l.relocateBefore63(buf, a.withN, from, at)
		default:
			ok = l.relocateCode(buf, a.withN, from, at)
		}
		if !ok {
			return fmt.Errorf("%s: a jump in its alternative is out of reach from there: the file is damaged",
				l.o.where(a.at.sec, a.at.off))
		}
		l.joinNops(buf, at)
		copy(code, buf)
	}
	return nil
}

// padNested pads consecutive alternatives at one place to the length of the longest.
func padNested(alts []alternative) {
	for first := 0; first < len(alts); {
		end, n := first, 0
		for ; end < len(alts) && alts[end].at == alts[first].at; end++ {
			n = max(n, alts[end].n)
		}
		for ; first < end; first++ {
			alts[first].n = n
		}
	}
}

// pointerCall replaces code's call through a pointer (ff 15) with a direct call, in buf.
// The value of a kernel's pointer isn't known here, so the call leads to the pointer itself,
// which at least has a name (pv_ops).
func (l *linked) pointerCall(buf, code []byte, at arch.Addr) bool {
	if len(code) < 6 || code[0] != 0xff || code[1] != 0x15 {
		return false
	}
	operand := binary.LittleEndian.Uint32(code[2:])
	if l.o.Bits32() { // the pointer's address; every address is within reach
		buf[0] = callOpcode
		binary.LittleEndian.PutUint32(buf[1:], operand-uint32(at)-x86.JumpLen)
		return true
	}
	call, ok := x86.CallRel32(at, at+6+arch.Addr(int64(int32(operand))))
	return ok && copy(buf, call[:]) == len(call)
}

// relocateBefore63 relocates a replacement as kernels before 6.3 do: only if it is a single jump or
// call. A forward jump is shortened if possible.
func (l *linked) relocateBefore63(buf []byte, n int, from, to arch.Addr) {
	if n != x86.JumpLen || buf[0] != 0xe8 && buf[0] != 0xe9 {
		return
	}
	disp := int64(int32(binary.LittleEndian.Uint32(buf[1:]))) + int64(from-to)
	if forward := disp + x86.JumpLen; buf[0] == 0xe9 && forward >= 0 && forward-2 <= 127 {
		buf[0], buf[1] = 0xeb, byte(forward-2)
		copy(buf[2:], l.o.nops()[3])
		return
	}
	binary.LittleEndian.PutUint32(buf[1:], uint32(disp))
}

// relocateCode relocates the relative operands in a replacement of n bytes in buf, which was assembled at
// from. Jumps within it don't change. ok is false if a jump out of it can't reach its target.
func (l *linked) relocateCode(buf []byte, n int, from, to arch.Addr) (ok bool) {
	inside := func(a arch.Addr) bool { return a >= from && a <= from+arch.Addr(n) }
	for off := 0; off < len(buf); {
		in, err := l.o.mode().Decode(buf[off:], from+arch.Addr(off))
		if err != nil {
			return true // the kernel leaves the rest unchanged, with a warning
		}
		end := off + int(in.Len)
		if target, direct := in.Target(); direct {
			kept := inside(target)
			switch long := in.Len >= x86.JumpLen; {
			case long && !kept:
				disp := binary.LittleEndian.Uint32(buf[end-4:]) + uint32(from-to)
				binary.LittleEndian.PutUint32(buf[end-4:], disp)
			case !kept:
				disp := int64(int8(buf[end-1])) + int64(from-to)
				if disp != int64(int8(disp)) {
					return false
				}
				buf[end-1] = byte(disp)
			}
			if buf[off] == 0xe9 {
				shorten(buf[off:end], int64(target-to)-int64(off))
			}
		}
		if pos, relative := in.RIPRelative(); relative {
			if operand, _ := in.RIPOperand(); !inside(operand) {
				disp := binary.LittleEndian.Uint32(buf[off+pos:]) + uint32(from-to)
				binary.LittleEndian.PutUint32(buf[off+pos:], disp)
			}
		}
		off = end
	}
	return true
}

// shorten turns a long jump into a short one if the distance allows it. distance is from the
// jump's new place to the target; for a jump within a replacement it is taken from the original,
// far away, as in the kernel.
func shorten(jmp []byte, distance int64) {
	if disp := distance - 2; disp == int64(int8(disp)) {
		jmp[0], jmp[1] = 0xeb, byte(disp)
		for i := 2; i < len(jmp); i++ {
			jmp[i] = x86.Int3
		}
	}
}
