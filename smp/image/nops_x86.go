package image

import (
	"bytes"
	"fmt"
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// nops are the kernel's, by length (arch/x86/include/asm/nops.h). Those of
// more than 8 bytes are used since 6.3.
var nops = [...][]byte{
	1:  {0x90},
	2:  {0x66, 0x90},
	3:  {0x0f, 0x1f, 0x00},
	4:  {0x0f, 0x1f, 0x40, 0x00},
	5:  {0x0f, 0x1f, 0x44, 0x00, 0x00},
	6:  {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
	7:  {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
	8:  {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	9:  {0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	10: {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	11: {0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
}

// nops32 are those of i386, which are lea but for the first two.
var nops32 = [...][]byte{
	1: {0x90},
	2: {0x89, 0xf6},
	3: {0x8d, 0x76, 0x00},
	4: {0x8d, 0x74, 0x26, 0x00},
	5: {0x3e, 0x8d, 0x74, 0x26, 0x00},
	6: {0x8d, 0xb6, 0x00, 0x00, 0x00, 0x00},
	7: {0x8d, 0xb4, 0x26, 0x00, 0x00, 0x00, 0x00},
	8: {0x3e, 0x8d, 0xb4, 0x26, 0x00, 0x00, 0x00, 0x00},
}

// nops are those of the object's kernel.
func (o *Object) nops() [][]byte {
	if o.Bits32() {
		return nops32[:]
	}
	return nops[:]
}

// mode is that of the processor that the code is for.
func (o *Object) mode() x86.Mode {
	if o.Bits32() {
		return x86.Mode32
	}
	return x86.Mode64
}

const nopMaxOld = 8

// joinNops makes long nops of short ones that follow each other, as the kernel
// does with what it has patched (alternative.c: optimize_nops).
func (l *linked) joinNops(code []byte, at arch.Addr) {
	old := l.version.Before(6, 3)
	for i := 0; i < len(code); {
		in, err := l.o.mode().Decode(code[i:], at+arch.Addr(i))
		if err != nil {
			return
		}
		first, end := i, i+int(in.Len)
		i = end
		switch {
		case old && code[first] == 0x90:
			for i < len(code) && code[i] == 0x90 {
				i++
			}
			l.fillOld(code[first:i])
		case !old && isNop(code[first:end]) && end < len(code):
			for i < len(code) {
				in, err := l.o.mode().Decode(code[i:], at+arch.Addr(i))
				if err != nil || !isNop(code[i:i+int(in.Len)]) {
					break
				}
				i += int(in.Len)
			}
			l.fill(code[first:i])
		}
	}
}

// fillOld fills b with as few nops as it takes.
func (l *linked) fillOld(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, l.o.nops()[min(len(b), nopMaxOld)]):]
	}
}

// fill fills b with one nop, or, where none is as long, with a jump over int3.
func (l *linked) fill(b []byte) {
	n, nops := len(b), l.o.nops()
	switch {
	case n == 0:
		return
	case n < len(nops):
		copy(b, nops[n])
		return
	case n < 128:
		b[0], b[1] = 0xeb, byte(n-2)
		b = b[2:]
	default:
		jmp, _ := x86.JumpRel32(0, arch.Addr(n))
		b = b[copy(b, jmp[:]):]
	}
	for i := range b {
		b[i] = x86.Int3
	}
}

// isNop reports whether an instruction is a nop as the kernel knows them: 90,
// but not with rep, and nopl.
func isNop(b []byte) bool {
	rep := b[0] == 0xf3
	for len(b) > 1 {
		switch c := b[0]; {
		case c == 0x26 || c == 0x2e || c == 0x36 || c == 0x3e || 0x64 <= c && c <= 0x67 || c == 0xf0 || c == 0xf2 ||
			c == 0xf3 || c&0xf0 == 0x40:
			b = b[1:]
			continue
		}
		break
	}
	return b[0] == 0x90 && !rep || len(b) > 1 && b[0] == 0x0f && b[1] == 0x1f
}

// isPadding reports whether b is what an assembler fills gaps with: the bytes
// of nops of all lengths, int3 and zeros. Code must end in an instruction that
// goes elsewhere (ret, jmp, ud2), and none of those is made of these bytes alone.
// Those of i386 are lea, too: 8d 76 00, 8d b4 26 and four zeros.
func (o *Object) isPadding(b []byte) bool {
	if fill := o.class.Padding; fill != "" {
		return len(bytes.Trim(b, fill)) == 0
	}
	for _, c := range b {
		switch c {
		case 0x00, 0x0f, 0x1f, 0x2e, 0x40, 0x44, 0x66, 0x80, 0x84, 0x90, 0xcc:
		case 0x26, 0x3e, 0x74, 0x76, 0x8d, 0xb4, 0xb6:
			if !o.Bits32() {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// where names a place in a loaded section for a message: function+offset, or
// section+offset if no function is there.
func (o *Object) where(sec, off int) string {
	if f := o.funcAt(sec, off); f != nil && !f.unnamed {
		return fmt.Sprintf("%s+%#x", f.name, off-f.off)
	}
	return fmt.Sprintf("%s+%#x", o.sections[sec].name, off)
}

// funcAt returns the function that the byte at sec, off belongs to, or nil.
func (o *Object) funcAt(sec, off int) *function {
	i, ok := slices.BinarySearchFunc(o.funcs, function{sec: sec, off: off}, compareFuncs)
	if !ok {
		i--
	}
	if i < 0 {
		return nil
	}
	if f := &o.funcs[i]; f.sec == sec && off-f.off < f.size {
		return f
	}
	return nil
}
