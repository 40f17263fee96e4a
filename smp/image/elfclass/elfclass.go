package elfclass

import (
	"debug/elf"
	"encoding/binary"
)

// A Class has the sizes of the ELF structures, in bytes. It isn't changed.
type Class struct {
	Word    int // of an address
	Machine elf.Machine
	Kind    elf.Class

	Ehdr, Shdr, Sym int
	Rel             int             // of a row that says what depends on an address
	Rels            elf.SectionType // of a section of them: rows of 32 bits have no addends, which stand in the holes
}

// The classes.
var (
	Bits64 = &Class{Word: 8, Machine: elf.EM_X86_64, Kind: elf.ELFCLASS64, Ehdr: 64, Shdr: 64, Sym: 24, Rel: 24, Rels: elf.SHT_RELA}
	Bits32 = &Class{Word: 4, Machine: elf.EM_386, Kind: elf.ELFCLASS32, Ehdr: 52, Shdr: 40, Sym: 16, Rel: 8, Rels: elf.SHT_REL}
)

// Of returns the class of a file by its first 20 bytes, nil: it is none of those.
func Of(h []byte) *Class {
	for _, c := range []*Class{Bits64, Bits32} {
		if elf.Class(h[4]) == c.Kind && elf.Data(h[5]) == elf.ELFDATA2LSB && elf.Machine(binary.LittleEndian.Uint16(h[18:])) == c.Machine {
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

// Words reads the n words that follow an offset; n is at most 6.
func (c *Class) Words(b []byte, off, n int) (list [6]uint64) {
	for i := range n {
		list[i] = c.Get(b[off+i*c.Word:])
	}
	return list
}

// Row reads a row of relocations: where, of which symbol, and its kind.
func (c *Class) Row(b []byte) (at, symbol uint64, kind uint32) {
	w := c.Words(b, 0, 2)
	if c.Word == 8 {
		return w[0], w[1] >> 32, uint32(w[1])
	}
	return w[0], w[1] >> 8, uint32(w[1] & 0xff)
}
