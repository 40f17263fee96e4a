package image

import (
	"encoding/binary"
	"fmt"
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// An alternative is code that replaces other code where a processor has a
// feature, or, if not, lacks it.
type alternative struct {
	at      place
	n       int // bytes that it replaces
	with    place
	withN   int
	feature int // word * 32 + bit, as cpufeatures.h of the kernel counts
	not     bool
	call    bool // ALT_FLAG_DIRECT_CALL: of what the pointer holds that is called now
}

// Layouts of struct alt_instr (arch/x86/include/asm/alternative.h): the
// feature's number has its inversion in bit 15, or, since 6.3, flags after it.
var (
	altLayout  = layout{14, []int{0, 4}, 2, "instr, replacement, feature, flags and both lengths", 0}
	altLayout1 = layout{12, []int{0, 4}, 2, "instr, replacement, feature and both lengths", 0}
)

const altBytesMax = 254 // MAX_PATCH_LEN of the kernel

// readAlternatives reads .altinstructions, section i. Which of the two layouts
// it has follows from the kernel; if that isn't known, from where the
// relocations are.
func (p *parser) readAlternatives(i int) error {
	t := altLayout
	if p.o.version != (Version{}) {
		if p.o.version.Before(6, 3) {
			t = altLayout1
		}
	} else if !p.fits(i, altLayout) && p.fits(i, altLayout1) {
		t = altLayout1
	}
	return p.entries(i, t, func(e entry) error {
		at, err := p.code(e.refs[0])
		if err != nil {
			return err
		}
		cpuid, sizes := int(binary.LittleEndian.Uint16(e.data[8:])), e.data[t.bytes-2:]
		a := alternative{at: at, n: int(sizes[0]), withN: int(sizes[1]), feature: cpuid}
		if t.bytes == 12 {
			a.feature, a.not = cpuid&0x7fff, cpuid&0x8000 != 0
		} else {
			flags := binary.LittleEndian.Uint16(e.data[10:])
			a.not, a.call = flags&1 != 0, flags&2 != 0
		}
		if a.withN > 0 { // without, the word may point to the section's end
			if a.with, err = p.code(e.refs[1]); err != nil {
				return err
			}
		}
		if a.withN > a.n || a.n > altBytesMax || a.withN > 0 &&
			a.withN > len(p.o.sections[a.with.sec].data)-a.with.off {
			return fmt.Errorf("%s+%#x: an alternative of %d bytes for %d: the file is damaged", e.refs[0].table,
				e.refs[0].off, a.withN, a.n)
		}
		p.o.alts = append(p.o.alts, a)
		return p.addSite(rawSite{kind: SiteAlternative, place: at, n: a.n, key: len(p.o.alts) - 1}, e.refs[0])
	})
}

// fits reports whether the relocations of section i stand at the holes of t.
func (p *parser) fits(i int, t layout) bool {
	for _, r := range p.relas[i] {
		if !slices.Contains(t.holes, r.off%t.bytes) {
			return false
		}
	}
	return p.f.sections[i].size%uint64(t.bytes) == 0
}

// alternatives applies those whose feature is there, in the order of the table:
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
		if l.has[a.feature] == a.not {
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
		case a.call: // is at its place already
		case old:
			l.moveOld(buf, a.withN, from, at)
		default:
			ok = l.move(buf, a.withN, from, at)
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

// padNested makes alternatives that follow each other at one place as long as
// the longest of them.
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

// pointerCall makes buf begin with a direct call in place of code's call
// through a pointer, ff 15. What a pointer of the kernel holds isn't known here:
// the call leads to the pointer, which at least has a name (pv_ops).
func (l *linked) pointerCall(buf, code []byte, at arch.Addr) bool {
	if len(code) < 6 || code[0] != 0xff || code[1] != 0x15 {
		return false
	}
	operand := binary.LittleEndian.Uint32(code[2:])
	if l.o.Bits32() { // the pointer's address; any other is in reach
		buf[0] = callOpcode
		binary.LittleEndian.PutUint32(buf[1:], operand-uint32(at)-x86.JumpLen)
		return true
	}
	call, ok := x86.CallRel32(at, at+6+arch.Addr(int64(int32(operand))))
	return ok && copy(buf, call[:]) == len(call)
}

// moveOld fixes a replacement as kernels before 6.3 do: only a jump or a call
// that is all of it, and a short jump is made of one that reaches forwards.
func (l *linked) moveOld(buf []byte, n int, from, to arch.Addr) {
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

// move fixes what is relative in a replacement of n bytes in buf, which was
// assembled at from, for another place. Jumps within it stay. ok is false if one
// that leaves it doesn't reach any more.
func (l *linked) move(buf []byte, n int, from, to arch.Addr) (ok bool) {
	inside := func(a arch.Addr) bool { return a >= from && a <= from+arch.Addr(n) }
	for off := 0; off < len(buf); {
		in, err := l.o.mode().Decode(buf[off:], from+arch.Addr(off))
		if err != nil {
			return true // the kernel leaves the rest as it is, with a warning
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

// shorten makes a short jump of a long one if it goes no further than that.
// distance is from where the jump will be to the target; that of a jump within
// a replacement is taken from the original, far away, as the kernel does.
func shorten(jmp []byte, distance int64) {
	if disp := distance - 2; disp == int64(int8(disp)) {
		jmp[0], jmp[1] = 0xeb, byte(disp)
		for i := 2; i < len(jmp); i++ {
			jmp[i] = x86.Int3
		}
	}
}
