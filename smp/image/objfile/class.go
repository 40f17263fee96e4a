package objfile

import (
	"debug/elf"
	"encoding/binary"
	"strconv"
	"strings"
)

// A Class is what the ELF files of a processor have in common. It is immutable. Sizes are in bytes.
type Class struct {
	Word    int // of an address
	Machine elf.Machine
	Kind    elf.Class
	Data    elf.Data
	Order   Order // the byte order that Data names

	Ehdr, Shdr, Sym int
	Rel             int             // size of a relocation
	Rels            elf.SectionType // type of relocation sections; those of SHT_REL have the addends in the holes

	// Padding are the bytes of what an assembler fills gaps of code with: no instruction that goes elsewhere
	// is made of these alone.
	Padding string

	// TOC says that code finds data from a register, which all code that is linked together shares.
	TOC bool

	forms []Form // by the kind of relocation
	name  func(kind uint32) string

	// local returns how far behind its address a function is entered by code that shares its TOC, from st_other; stub
	// reports whether a branch of a kind needs a linker's stub to get there. nil: functions have one entry.
	local func(other byte) uint64
	stub  func(kind uint32, other byte) bool
}

// An Order is a byte order.
type Order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// The classes.
var (
	Bits64 = &Class{Word: 8, Machine: elf.EM_X86_64, Kind: elf.ELFCLASS64, Data: elf.ELFDATA2LSB,
		Order: binary.LittleEndian, Ehdr: 64, Shdr: 64, Sym: 24, Rel: 24, Rels: elf.SHT_RELA,
		forms: formsX86[:], name: func(kind uint32) string { return elf.R_X86_64(kind).String() }}
	Bits32 = &Class{Word: 4, Machine: elf.EM_386, Kind: elf.ELFCLASS32, Data: elf.ELFDATA2LSB,
		Order: binary.LittleEndian, Ehdr: 52, Shdr: 40, Sym: 16, Rel: 8, Rels: elf.SHT_REL,
		forms: forms386[:], name: func(kind uint32) string { return elf.R_386(kind).String() }}
	RISCV64 = &Class{Word: 8, Machine: elf.EM_RISCV, Kind: elf.ELFCLASS64, Data: elf.ELFDATA2LSB,
		Order: binary.LittleEndian, Ehdr: 64, Shdr: 64, Sym: 24, Rel: 24, Rels: elf.SHT_RELA,
		Padding: "\x00\x01\x13", forms: formsRISCV[:],
		name: func(kind uint32) string { return elf.R_RISCV(kind).String() }}
	ARM64 = &Class{Word: 8, Machine: elf.EM_AARCH64, Kind: elf.ELFCLASS64, Data: elf.ELFDATA2LSB,
		Order: binary.LittleEndian, Ehdr: 64, Shdr: 64, Sym: 24, Rel: 24, Rels: elf.SHT_RELA,
		Padding: "\x00\x1f\x20\x03\xd5", forms: formsARM64[:],
		name: func(kind uint32) string { return elf.R_AARCH64(kind).String() }}
	PPC64 = &Class{Word: 8, Machine: elf.EM_PPC64, Kind: elf.ELFCLASS64, Data: elf.ELFDATA2LSB,
		Order: binary.LittleEndian, Ehdr: 64, Shdr: 64, Sym: 24, Rel: 24, Rels: elf.SHT_RELA,
		TOC: true, Padding: "\x00\x42\x60", forms: formsPPC[:], local: localPPC, stub: stubPPC,
		name: func(kind uint32) string { return elf.R_PPC64(kind).String() }}
)

// Of returns the class of a file from its first 20 bytes; nil if there is none.
func Of(h []byte) *Class {
	for _, c := range []*Class{Bits64, Bits32, RISCV64, ARM64, PPC64} {
		if elf.Class(h[4]) == c.Kind && elf.Data(h[5]) == c.Data && elf.Machine(c.Order.Uint16(h[18:])) == c.Machine {
			return c
		}
	}
	return nil
}

// Get reads a word.
func (c *Class) Get(b []byte) uint64 {
	if c.Word == 8 {
		return c.Order.Uint64(b)
	}
	return uint64(c.Order.Uint32(b))
}

// Append adds a word.
func (c *Class) Append(b []byte, v uint64) []byte {
	if c.Word == 8 {
		return c.Order.AppendUint64(b, v)
	}
	return c.Order.AppendUint32(b, uint32(v))
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

// Form returns the form of a kind of relocation. It is of no Use if the kind isn't supported.
func (c *Class) Form(kind uint32) Form {
	if uint64(kind) >= uint64(len(c.forms)) {
		return Form{}
	}
	return c.forms[kind]
}

// Local returns how far behind its address a function has its local entry, from its symbol's Other.
func (c *Class) Local(other byte) uint64 {
	if c.local == nil {
		return 0
	}
	return c.local(other)
}

// NeedsStub reports whether a relocation of a kind, to a symbol of that Other, branches by a stub that a linker makes.
func (c *Class) NeedsStub(kind uint32, other byte) bool { return c.stub != nil && c.stub(kind, other) }

// RelocName returns the name of a kind of relocation, or its number if it has none.
func (c *Class) RelocName(kind uint32) string {
	name := c.name(kind)
	if !strings.HasPrefix(name, "R_") || strings.Contains(name, "+") {
		return strconv.FormatUint(uint64(kind), 10)
	}
	return name
}
