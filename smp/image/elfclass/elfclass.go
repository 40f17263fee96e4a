package elfclass

import (
	"debug/elf"
	"encoding/binary"
	"strconv"
	"strings"
)

// A Class has the sizes of the ELF structures, in bytes. It isn't changed.
type Class struct {
	Word    int // of an address
	Machine elf.Machine
	Kind    elf.Class

	Ehdr, Shdr, Sym int
	Address         elf.R_X86_64    // what a word with an address is filled in by, of x86-64's kinds
	Rel             int             // of a row that says what depends on an address
	Rels            elf.SectionType // of a section of them: rows of 32 bits have no addends, which stand in the holes
}

// The classes.
var (
	Bits64 = &Class{Word: 8, Machine: elf.EM_X86_64, Kind: elf.ELFCLASS64, Ehdr: 64, Shdr: 64, Sym: 24,
		Address: elf.R_X86_64_64, Rel: 24, Rels: elf.SHT_RELA}
	Bits32 = &Class{Word: 4, Machine: elf.EM_386, Kind: elf.ELFCLASS32, Ehdr: 52, Shdr: 40, Sym: 16,
		Address: elf.R_X86_64_32, Rel: 8, Rels: elf.SHT_REL}
)

// Of returns the class of a file by its first 20 bytes, nil: it is none of those.
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

// Addr is a number as an address has it: of 32 bits it wraps around.
func (c *Class) Addr(v uint64) uint64 { return v << (64 - 8*c.Word) >> (64 - 8*c.Word) }

// A Header is a section header.
type Header struct {
	Name            uint32 // where its name begins
	Kind            elf.SectionType
	Flags           elf.SectionFlag
	Addr, Off, Size uint64
	Link, Info      uint32
	Align, Entry    uint64
}

// Headers reads from the header of a file where those of its sections lie, what one of them
// has in bytes, how many there are, and which has their names.
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

// A Symbol is a row of a table of symbols.
type Symbol struct {
	Name        uint32 // where its name begins
	Info        byte
	Section     elf.SectionIndex
	Value, Size uint64
}

// Symbol reads a row of a table of symbols. Of 32 bits value and size come first.
func (c *Class) Symbol(b []byte) Symbol {
	le, kind, w := binary.LittleEndian, b[4:], c.Words(b, 8, 2)
	if c.Word == 4 {
		kind, w = b[12:], c.Words(b, 4, 2)
	}
	return Symbol{Name: le.Uint32(b), Info: kind[0], Section: elf.SectionIndex(le.Uint16(kind[2:])), Value: w[0],
		Size: w[1]}
}

// Row reads a row of relocations: where, of which symbol, and its kind.
func (c *Class) Row(b []byte) (at, symbol uint64, kind uint32) {
	w := c.Words(b, 0, 2)
	if c.Word == 8 {
		return w[0], w[1] >> 32, uint32(w[1])
	}
	return w[0], w[1] >> 8, uint32(w[1] & 0xff)
}

// kinds386 are the relocations of i386 that are understood, as those of x86-64 that do the
// same. Source: System V ABI, Intel386, "Relocation Types". What is at an address of 32 bits
// wraps around; so no hole of four bytes is too small.
var kinds386 = map[elf.R_386]elf.R_X86_64{
	elf.R_386_NONE:  elf.R_X86_64_NONE,
	elf.R_386_32:    elf.R_X86_64_32,
	elf.R_386_PC32:  elf.R_X86_64_PC32,
	elf.R_386_PLT32: elf.R_X86_64_PLT32,
}

// Reloc returns a kind of relocation as that of x86-64 that does the same, and whether there is
// one: of i386 those that fill in a word have one. Any kind of x86-64 is itself.
func (c *Class) Reloc(kind uint32) (elf.R_X86_64, bool) {
	if c.Word == 8 {
		return elf.R_X86_64(kind), true
	}
	k, ok := kinds386[elf.R_386(kind)]
	return k, ok
}

// RelocName returns the name of a kind of relocation, its number if it has none.
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
