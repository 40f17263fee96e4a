package vmlinux

import (
	"debug/elf"
	"encoding/binary"
)

// A class is what kernels of 64 and of 32 bits have different: sizes of the ELF structures
// in bytes, and where the kernel lies. It isn't changed.
type class struct {
	word    int // bytes of an address
	machine elf.Machine
	kind    elf.Class

	ehdr, shdr, sym int
	rel             int             // of a row that says what moves
	rels            elf.SectionType // of a section of them

	low  uint64 // the kernel's addresses begin here
	mask uint64 // of an address
}

// The classes. A kernel of 32 bits has the last gigabyte for itself, or with
// CONFIG_VMSPLIT_2G the last two.
var (
	class64 = &class{
		word: 8, machine: elf.EM_X86_64, kind: elf.ELFCLASS64,
		ehdr: 64, shdr: 64, sym: 24, rel: 24, rels: elf.SHT_RELA,
		low: 0xffffffff80000000, mask: ^uint64(0),
	}
	class32 = &class{
		word: 4, machine: elf.EM_386, kind: elf.ELFCLASS32,
		ehdr: 52, shdr: 40, sym: 16, rel: 8, rels: elf.SHT_REL,
		low: 0x80000000, mask: 1<<32 - 1,
	}
)

// classOf returns the class of a file by its first bytes, nil: it is none of those.
func classOf(h []byte) *class {
	for _, c := range []*class{class64, class32} {
		if elf.Class(h[4]) == c.kind && elf.Data(h[5]) == elf.ELFDATA2LSB && elf.Machine(binary.LittleEndian.Uint16(h[18:])) == c.machine {
			return c
		}
	}
	return nil
}

// get reads a word.
func (c *class) get(b []byte) uint64 {
	if c.word == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return uint64(binary.LittleEndian.Uint32(b))
}

// words reads the n words that follow an offset.
func (c *class) words(b []byte, off, n int) (list [6]uint64) {
	for i := range n {
		list[i] = c.get(b[off+i*c.word:])
	}
	return list
}

// moves says whether an address is the kernel's, and moves with it: per-CPU data that is
// linked at 0 doesn't.
func (c *class) moves(addr uint64) bool {
	if c.word == 8 {
		return int64(addr) < 0
	}
	return addr >= c.low
}

// row reads a row of relocations: where, of which symbol, and its kind.
func (c *class) row(b []byte) (at, symbol uint64, kind uint32) {
	w := c.words(b, 0, 2)
	if c.word == 8 {
		return w[0], w[1] >> 32, uint32(w[1])
	}
	return w[0], w[1] >> 8, uint32(w[1] & 0xff)
}
