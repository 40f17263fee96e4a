package elfclass

import (
	"debug/elf"
	"encoding/binary"
	"strconv"
	"strings"
)

// A Class has the sizes of the ELF structures, in bytes. It is immutable.
type Class struct {
	Word    int // of an address
	Machine elf.Machine
	Kind    elf.Class

	Ehdr, Shdr, Sym int
	Address         elf.R_X86_64    // the x86-64 relocation that fills a word with an address
	Rel             int             // size of a relocation
	Rels            elf.SectionType // type of relocation sections; 32-bit ones store the addends in the holes
}

// The classes.
var (
	Bits64 = &Class{Word: 8, Machine: elf.EM_X86_64, Kind: elf.ELFCLASS64, Ehdr: 64, Shdr: 64, Sym: 24,
		Address: elf.R_X86_64_64, Rel: 24, Rels: elf.SHT_RELA}
	Bits32 = &Class{Word: 4, Machine: elf.EM_386, Kind: elf.ELFCLASS32, Ehdr: 52, Shdr: 40, Sym: 16,
		Address: elf.R_X86_64_32, Rel: 8, Rels: elf.SHT_REL}
)

// Of returns the class of a file from its first 20 bytes; nil if it has neither.
func Of(h []byte) *Class {
	for _, c := range []*Class{Bits64, Bits32} {
		if elf.Class(h[4]) == c.Kind && elf.Data(h[5]) == elf.ELFDATA2LSB &&
			elf.Machine(binary.LittleEndian.Uint16(h[18:])) == c.Machine {
			return c
		}
	}
	return nil
}

// Get reads a word.
func (c *Class) Get(b []byte) uint64 {
	if c.Word == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return uint64(binary.LittleEndian.Uint32(b))
}

// Append adds a word.
func (c *Class) Append(b []byte, v uint64) []byte {
	if c.Word == 8 {
		return binary.LittleEndian.AppendUint64(b, v)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(v))
}

// Words reads the n words that follow an offset; n is at most 6.
func (c *Class) Words(b []byte, off, n int) (list [6]uint64) {
	for i := range n {
		list[i] = c.Get(b[off+i*c.Word:])
	}
	return list
}

// Addr converts a number to an address: in 32 bits it wraps around.
func (c *Class) Addr(v uint64) uint64 { return v << (64 - 8*c.Word) >> (64 - 8*c.Word) }

// A Header is a section header.
type Header struct {
	Name            uint32 // offset of its name
	Kind            elf.SectionType
	Flags           elf.SectionFlag
	Addr, Off, Size uint64
	Link, Info      uint32
	Align, Entry    uint64
}

// Headers reads from the file header where the section headers are, the size of each in bytes,
// their number, and which section has their names.
func (c *Class) Headers(h []byte) (at uint64, each, n, names uint16) {
	le, tail := binary.LittleEndian, h[c.Ehdr-6:]
	return c.Words(h, 24, 3)[2], le.Uint16(tail), le.Uint16(tail[2:]), le.Uint16(tail[4:])
}

// Header reads the header of a section.
func (c *Class) Header(h []byte) Header {
	le, first, rest := binary.LittleEndian, c.Words(h, 8, 4), h[8+4*c.Word:]
	last := c.Words(rest, 8, 2)
	return Header{
		Name: le.Uint32(h), Kind: elf.SectionType(le.Uint32(h[4:])), Flags: elf.SectionFlag(first[0]),
		Addr: first[1], Off: first[2], Size: first[3],
		Link: le.Uint32(rest), Info: le.Uint32(rest[4:]), Align: last[0], Entry: last[1],
	}
}

// A Symbol is a row of a symbol table.
type Symbol struct {
	Name        uint32 // offset of its name
	Info        byte
	Section     elf.SectionIndex
	Value, Size uint64
}

// Symbol reads a row of a symbol table. In 32-bit files value and size come first.
func (c *Class) Symbol(b []byte) Symbol {
	le, kind, w := binary.LittleEndian, b[4:], c.Words(b, 8, 2)
	if c.Word == 4 {
		kind, w = b[12:], c.Words(b, 4, 2)
	}
	return Symbol{Name: le.Uint32(b), Info: kind[0], Section: elf.SectionIndex(le.Uint16(kind[2:])), Value: w[0],
		Size: w[1]}
}

// Row reads a relocation: its offset, its symbol, and its kind.
func (c *Class) Row(b []byte) (at, symbol uint64, kind uint32) {
	w := c.Words(b, 0, 2)
	if c.Word == 8 {
		return w[0], w[1] >> 32, uint32(w[1])
	}
	return w[0], w[1] >> 8, uint32(w[1] & 0xff)
}

// kinds386 maps the supported relocations of i386 to the equivalents of x86-64. Source: System V
// ABI, Intel386, "Relocation Types". 32-bit addresses wrap around, so every value fits a hole of
// four bytes.
var kinds386 = map[elf.R_386]elf.R_X86_64{
	elf.R_386_NONE:  elf.R_X86_64_NONE,
	elf.R_386_32:    elf.R_X86_64_32,
	elf.R_386_PC32:  elf.R_X86_64_PC32,
	elf.R_386_PLT32: elf.R_X86_64_PLT32,
}

// Reloc returns the x86-64 relocation equivalent to a kind, and whether there is one. For i386
// that is so for those that fill a word. Kinds of x86-64 are returned unchanged.
func (c *Class) Reloc(kind uint32) (elf.R_X86_64, bool) {
	if c.Word == 8 {
		return elf.R_X86_64(kind), true
	}
	k, ok := kinds386[elf.R_386(kind)]
	return k, ok
}

// RelocName returns the name of a relocation's kind, or its number if it has none.
func (c *Class) RelocName(kind uint32) string {
	name := elf.R_X86_64(kind).String()
	if c.Word == 4 {
		name = elf.R_386(kind).String()
	}
	if !strings.HasPrefix(name, "R_") || strings.Contains(name, "+") {
		return strconv.FormatUint(uint64(kind), 10)
	}
	return name
}
