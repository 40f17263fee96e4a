package ppc64

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/arch/ppc64/ppc64asm"
)

// String returns the instruction in the syntax of GNU objdump, with absolute targets. The text of
// what has no form is the disassembler's.
func (in *Inst) String() string {
	if text := in.alias(); text != "" {
		return text
	}
	return in.Raw()
}

// Raw returns the text without simplified mnemonics: objdump -M raw.
func (in *Inst) Raw() string {
	if in.form != nil {
		return in.write(in.mnemonic(), in.form.syntax)
	}
	x, err := ppc64asm.Decode(in.Bytes(), binary.LittleEndian)
	if err != nil {
		return fmt.Sprintf(".long %#x", in.word)
	}
	return strings.TrimSpace(ppc64asm.GNUSyntax(x, uint64(in.Addr)))
}

// write writes a mnemonic with operands.
func (in *Inst) write(name, syntax string) string {
	return strings.TrimSpace(name + " " + in.fill(syntax))
}

// mnemonic returns the name with what OE, Rc, LK and AA add to it.
func (in *Inst) mnemonic() string {
	f := in.form
	name := f.name
	if f.over != nil && in.word&bitOE != 0 {
		name += "o"
	}
	return name + in.dot() + in.linkage()
}

// linkage returns what LK and AA add to the name of a branch.
func (in *Inst) linkage() (s string) {
	switch in.form.name {
	case "b", "bc":
		if in.word.links() {
			s = "l"
		}
		if in.word&bitAA != 0 {
			s += "a"
		}
	case "bclr", "bcctr", "bctar":
		if in.word.links() {
			s = "l"
		}
	}
	return s
}

// crNames are the bits of a field of CR.
var crNames = [4]string{"lt", "gt", "eq", "so"}

// bitName names a bit of CR.
func bitName(n uint8) string {
	if n < 4 {
		return crNames[n]
	}
	return fmt.Sprintf("4*cr%d+%s", n>>2, crNames[n&3])
}

// fill writes operands by their syntax: letters stand for operands, anything else for itself.
func (in *Inst) fill(syntax string) string {
	var b strings.Builder
	for _, c := range syntax {
		if write := operandTexts[c]; write != nil {
			b.WriteString(write(in))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func regName(n uint8) string { return regNames[n] }

func number[T int64 | uint64 | uint8 | uint16 | word](v T) string { return fmt.Sprint(v) }

// field returns bits of the word.
func (w word) field(lo, n uint) word { return w >> lo & (1<<n - 1) }

// operandTexts are what the letters of syntaxes stand for.
var operandTexts = map[rune]func(in *Inst) string{
	't': func(in *Inst) string { return regName(in.word.fieldT()) },
	'a': func(in *Inst) string { return regName(in.word.fieldA()) },
	'b': func(in *Inst) string { return regName(in.word.fieldB()) },
	'c': func(in *Inst) string { return regName(in.word.fieldC()) },
	'z': func(in *Inst) string { // a base
		if in.word.fieldA() == 0 {
			return "0"
		}
		return regName(in.word.fieldA())
	},
	'i': func(in *Inst) string { return number(int64(in.word.signed())) },
	'u': func(in *Inst) string { return number(in.word.unsigned()) },
	'o': func(in *Inst) string { return number(int64(in.word.signed() &^ 3)) },
	'n': func(in *Inst) string { return number(int64(in.word.farImmediate()) >> 16) },
	'j': func(in *Inst) string { return number(int64(in.displacement())) },
	'R': func(in *Inst) string { return number(in.prefix >> 20 & 1) },
	'w': func(in *Inst) string { return number(in.word.shiftWord()) },
	's': func(in *Inst) string { return number(in.word.shift64()) },
	'M': func(in *Inst) string { return number(in.word.field(6, 5)) },
	'E': func(in *Inst) string { return number(in.word.field(1, 5)) },
	'q': func(in *Inst) string { return number(31 - in.word.field(1, 5)) },
	'Q': func(in *Inst) string { return number(63 - in.word.edge()) },
	'm': func(in *Inst) string { return number(in.word.edge()) },
	'f': func(in *Inst) string { return fmt.Sprintf("cr%d", in.word.field(23, 3)) },
	'g': func(in *Inst) string { return fmt.Sprintf("cr%d", in.word.field(18, 3)) },
	'F': func(in *Inst) string { // a field, and its comma, unless it is the first
		if in.word.field(23, 3) == 0 {
			return ""
		}
		return fmt.Sprintf("cr%d,", in.word.field(23, 3))
	},
	'K': func(in *Inst) string { return fmt.Sprintf("cr%d", in.word.fieldA()>>2) },
	'L': func(in *Inst) string { return number(in.word.field(21, 1)) },
	'C': func(in *Inst) string { return bitName(in.word.fieldC()) },
	'D': func(in *Inst) string { return bitName(in.word.fieldT()) },
	'A': func(in *Inst) string { return bitName(in.word.fieldA()) },
	'B': func(in *Inst) string { return bitName(in.word.fieldA()) },
	'G': func(in *Inst) string { return bitName(in.word.fieldB()) },
	'I': func(in *Inst) string { return bitName(in.word.fieldA()) },
	'O': func(in *Inst) string { return number(in.word.bo()) },
	'H': func(in *Inst) string { return number(in.word.field(11, 2)) },
	'T': func(in *Inst) string { return number(in.word.fieldT()) },
	'p': func(in *Inst) string { return fmt.Sprintf("%#x", in.imm) },
	'k': func(in *Inst) string { return number(in.word.field(12, 8)) },
	'r': func(in *Inst) string { return number(in.word.numberSPR()) },
	'e': func(in *Inst) string { return number(in.word.field(0, 1)) },
	'h': func(in *Inst) string { return number(in.word.fieldT()) },
	'l': func(in *Inst) string { return number(in.word.field(21, 3)) },
	'y': func(in *Inst) string { return number(in.word.field(21, 3)) },
	'W': func(in *Inst) string { return number(in.word.field(21, 2)) },
	'x': func(in *Inst) string { return number(in.word.field(16, 1)) },
	'v': func(in *Inst) string { return number(in.word.field(5, 7)) },
	'-': func(*Inst) string { return "-1" },
}
