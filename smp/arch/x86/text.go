package x86

import (
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// String returns the instruction in the syntax of GNU objdump: absolute branch
// targets, and after a RIP-relative operand the address it refers to. What
// x86asm can't name has a bare mnemonic of our own; what has none is written as
// an assembler's .byte.
func (in *Inst) String() string {
	if in.Len == 0 {
		return "(none)"
	}
	l := in.parse()
	if name := l.find(misnamed[:]); name != "" {
		return name
	}
	if text, ok := in.secondOpinion(); ok {
		return text
	}
	if name := l.find(unnamed[:]); name != "" {
		return name
	}
	return fmt.Sprintf(".byte % #x", in.raw[:in.Len])
}

// secondOpinion asks x86asm, and believes it if it finds the same length.
func (in *Inst) secondOpinion() (text string, ok bool) {
	bits := 64
	if in.mode == Mode32 {
		bits = 32
	}
	b := in.normal()
	x, err := x86asm.Decode(b, bits)
	if err != nil || x.Op == 0 || x.Len != len(b) {
		return "", false
	}
	text = strings.TrimSpace(x86asm.GNUSyntax(x, uint64(in.Addr), nil))
	if at, ok := in.RIPOperand(); ok {
		text += fmt.Sprintf(" # %#x", uint64(at))
	}
	return text, true
}

// normal returns the bytes without what the processor ignores and x86asm
// doesn't: a REX with another prefix after it (SDM vol. 2, 2.2.1), and the mod
// field of mov to and from control and debug registers.
func (in *Inst) normal() []byte {
	l := in.parse()
	if l.encoding != legacy {
		return in.raw[:in.Len]
	}
	first := int(l.opPos) // of the opcode with its escape
	switch l.space {
	case map0F:
		first--
	case map0F38, map0F3A:
		first -= 2
	}
	b := make([]byte, 0, MaxLen)
	for i, x := range in.raw[:in.Len] {
		switch {
		case i == int(l.opPos) && l.space == map1 && x == 0x82: // the second encoding of 80
			b = append(b, 0x80)
		case in.mode == Mode64 && x&0xf0 == 0x40 && i+1 < first:
		case i == int(l.modrmPos) && i != 0:
			b = append(b, l.modrm)
		default:
			b = append(b, x)
		}
	}
	return b
}
