package riscv64

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/arch/riscv64/riscv64asm"
)

// An alias is a name of some instructions of a form that assemblers prefer (vol. 1, "Assembly
// Programmer's Handbook").
type alias struct {
	name string
	pattern
	syntax string
}

// aliases are those that are written here, the first that fits.
var aliases = [...]alias{
	{"nop", exact(Nop), ""},
	{"ret", exact(Ret), ""},
	{"unimp", exact(unimp), ""},
	{"li", p3(opImm, 0).with(31<<15, 0), "d,i"},
	{"mv", p12(opImm, 0, 0), "d,s"},
	{"not", p12(opImm, 4, 0xfff), "d,s"},
	{"sext.w", p12(opImm32, 0, 0), "d,s"},
	{"seqz", p12(opImm, 3, 1), "d,s"},
	{"zext.b", p12(opImm, 7, 0xff), "d,s"},
	{"zext.w", p7(opReg32, 0, 0x04).with(31<<20, 0), "d,s"},
	{"neg", p7(opReg, 0, 0x20).with(31<<15, 0), "d,t"},
	{"negw", p7(opReg32, 0, 0x20).with(31<<15, 0), "d,t"},
	{"snez", p7(opReg, 3, 0).with(31<<15, 0), "d,t"},
	{"sltz", p7(opReg, 2, 0).with(31<<20, 0), "d,s"},
	{"sgtz", p7(opReg, 2, 0).with(31<<15, 0), "d,t"},
	{"j", p0(opJAL).with(31<<7, 0), "p"},
	{"jal", p0(opJAL).with(31<<7, 1<<7), "p"},
	{"jr", p12(opJALR, 0, 0).with(31<<7, 0), "s"},
	{"jalr", p12(opJALR, 0, 0).with(31<<7, 1<<7), "s"},
	{"jr", p3(opJALR, 0).with(31<<7, 0), "i(s)"},
	{"jalr", p3(opJALR, 0).with(31<<7, 1<<7), "i(s)"},
	{"beqz", p3(opBranch, 0).with(31<<20, 0), "s,p"},
	{"bnez", p3(opBranch, 1).with(31<<20, 0), "s,p"},
	{"bltz", p3(opBranch, 4).with(31<<20, 0), "s,p"},
	{"bgez", p3(opBranch, 5).with(31<<20, 0), "s,p"},
	{"bgtz", p3(opBranch, 4).with(31<<15, 0), "t,p"},
	{"blez", p3(opBranch, 5).with(31<<15, 0), "t,p"},
	{"fence", exact(0x0ff0000f), ""},
	{"fence.tso", exact(0x8330000f), ""},
	{"rdcycle", exact(0xc0002073).without(31 << 7), "d"},
	{"rdtime", exact(0xc0102073).without(31 << 7), "d"},
	{"rdinstret", exact(0xc0202073).without(31 << 7), "d"},
	{"csrr", p3(opSystem, 2).with(31<<15, 0), "d,c"},
	{"csrw", p3(opSystem, 1).with(31<<7, 0), "c,s"},
	{"csrs", p3(opSystem, 2).with(31<<7, 0), "c,s"},
	{"csrc", p3(opSystem, 3).with(31<<7, 0), "c,s"},
	{"csrwi", p3(opSystem, 5).with(31<<7, 0), "c,z"},
	{"csrsi", p3(opSystem, 6).with(31<<7, 0), "c,z"},
	{"csrci", p3(opSystem, 7).with(31<<7, 0), "c,z"},
	{"sfence.vma", exact(0x12000073), ""},
	{"sfence.vma", p12(opSystem, 0, 0x120).with(31<<7, 0), "s"},
}

// floatNames are the floating-point registers (riscv-elf-psabi, "Floating-point Register Convention").
var floatNames = [32]string{"ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2",
	"fa3", "fa4", "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8",
	"ft9", "ft10", "ft11"}

// orders are what is added to the name of an atomic instruction, by bits 26 and 25.
var orders = [4]string{"", ".rl", ".aq", ".aqrl"}

// String returns the instruction in the syntax of GNU objdump, with absolute targets, and after
// auipc the address that it makes. A compressed one has its own name, with c. before it. The text
// of what has no form is the disassembler's.
func (in *Inst) String() string {
	name, syntax := in.written()
	if name == "" {
		return in.opinion()
	}
	text := strings.TrimSpace(name + " " + in.operands(syntax))
	if at, ok := in.IPOperand(); ok {
		text += fmt.Sprintf(" # %#x", uint64(at))
	}
	return text
}

// written returns the name that it is written with, and the syntax of its operands.
func (in *Inst) written() (name, syntax string) {
	if in.Len == HalfLen {
		h := findHalf(in.raw)
		return h.name, h.syntax
	}
	for _, a := range aliases {
		if in.full&a.mask == a.value {
			return a.name, a.syntax
		}
	}
	if in.form == nil {
		return "", ""
	}
	if in.full&0x7f == opAMO {
		return in.form.name + orders[in.full>>25&3], in.form.syntax
	}
	return in.form.name, in.form.syntax
}

// opinion asks the disassembler.
func (in *Inst) opinion() string {
	x, err := riscv64asm.Decode(binary.LittleEndian.AppendUint32(nil, in.full))
	if err != nil {
		return fmt.Sprintf(".word %#x", in.raw)
	}
	return byName(riscv64asm.GNUSyntax(x))
}

// byName gives registers their names, in a text that has their numbers: x10, f15.
func byName(text string) string {
	name, operands, _ := strings.Cut(text, " ")
	var b strings.Builder
	for len(operands) > 0 {
		n := strings.IndexAny(operands, ",()")
		switch n {
		case -1:
			n = len(operands)
		case 0:
			n = 1
		}
		b.WriteString(registerName(operands[:n]))
		operands = operands[n:]
	}
	return strings.TrimSpace(name + " " + b.String())
}

// registerName returns the name of a register that is written with its number, and other texts as they
// are.
func registerName(text string) string {
	if len(text) < 2 {
		return text
	}
	n, err := strconv.Atoi(text[1:])
	switch {
	case err != nil || n < 0 || n > 31:
	case text[0] == 'x':
		return regNames[n]
	case text[0] == 'f':
		return floatNames[n]
	}
	return text
}

// operands writes operands by their syntax: letters stand for operands, anything else for itself.
func (in *Inst) operands(syntax string) string {
	var b strings.Builder
	w := in.full
	for _, c := range syntax {
		switch c {
		case 'd':
			b.WriteString(regNames[w>>7&31])
		case 's':
			b.WriteString(regNames[w>>15&31])
		case 't':
			b.WriteString(regNames[w>>20&31])
		case 'D', 'T': // floats, which only compressed forms write here
			b.WriteString(floatNames[map[rune]uint32{'D': w >> 7, 'T': w >> 20}[c]&31])
		case 'i':
			fmt.Fprint(&b, int64(in.displacement()))
		case 'I':
			fmt.Fprint(&b, int64(immS(w)))
		case 'h':
			fmt.Fprintf(&b, "%#x", in.shift())
		case 'u':
			fmt.Fprintf(&b, "%#x", w>>12)
		case 'p':
			fmt.Fprintf(&b, "%#x", in.imm)
		case 'c':
			b.WriteString(csrName(uint16(w >> 20)))
		case 'z':
			fmt.Fprint(&b, w>>15&31)
		case 'f':
			b.WriteString(fenceSet(w>>24) + "," + fenceSet(w>>20))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// displacement returns the immediate of a store, or that of any other form.
func (in *Inst) displacement() uint64 {
	if in.full&0x7f == opStore {
		return immS(in.full)
	}
	return immI(in.full)
}

// shift returns by how many bits it shifts.
func (in *Inst) shift() uint32 { return in.full >> 20 & 63 }

// fenceSet writes a set of a fence.
func fenceSet(set uint32) string {
	var b strings.Builder
	for i, c := range "iorw" {
		if set>>(3-i)&1 != 0 {
			b.WriteRune(c)
		}
	}
	if b.Len() == 0 {
		return "unknown" // as objdump has it
	}
	return b.String()
}

// csrName returns the name of a control and status register, or its number.
func csrName(number uint16) string {
	name := strings.ToLower(riscv64asm.CSR(number).String())
	if name == "" || strings.Contains(name, "(") {
		return fmt.Sprintf("%#x", number)
	}
	return name
}
