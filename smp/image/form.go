package image

import (
	"debug/elf"
	"encoding/binary"
	"strings"
)

// A form describes what a relocation puts into its hole: the quantity of, plus the addend, minus
// the quantity less. Source: System V ABI, AMD64, "Relocation Types" and, for the large models,
// "Large Models".
type form struct {
	bytes    int // size of the hole; 0: it only marks an instruction
	of, less quantity
	room     room
	// placed reports that Place accepts it too. The others need something that no scenario has: a
	// global offset table, thread-local storage, addresses below 64 KiB.
	placed bool
}

type quantity uint8

const (
	nothing  quantity = iota // also a thread's offsets, which aren't known
	symbolAt                 // S, and L, as there is no procedure linkage table
	slotAt                   // GOT + G, of the symbol's slot
	tableAt                  // GOT
	holeAt                   // P
	sizeOf                   // Z
	quantities
)

// A room says which values fit into a hole.
type room uint8

const (
	whole    room = iota // all 64 bits
	signed               // values that sign extension restores
	unsigned             // values that zero extension restores
	either
)

var forms = [...]form{
	elf.R_X86_64_64:    {8, symbolAt, nothing, whole, true},
	elf.R_X86_64_PC64:  {8, symbolAt, holeAt, whole, true},
	elf.R_X86_64_32:    {4, symbolAt, nothing, unsigned, true},
	elf.R_X86_64_32S:   {4, symbolAt, nothing, signed, true},
	elf.R_X86_64_PC32:  {4, symbolAt, holeAt, signed, true},
	elf.R_X86_64_PLT32: {4, symbolAt, holeAt, signed, true},

	elf.R_X86_64_16:     {2, symbolAt, nothing, either, false},
	elf.R_X86_64_PC16:   {2, symbolAt, holeAt, signed, false},
	elf.R_X86_64_8:      {1, symbolAt, nothing, either, false},
	elf.R_X86_64_PC8:    {1, symbolAt, holeAt, signed, false},
	elf.R_X86_64_SIZE32: {4, sizeOf, nothing, unsigned, false},
	elf.R_X86_64_SIZE64: {8, sizeOf, nothing, whole, false},

	elf.R_X86_64_GOT32:         {4, slotAt, tableAt, signed, false},
	elf.R_X86_64_GOT64:         {8, slotAt, tableAt, whole, false},
	elf.R_X86_64_GOTPLT64:      {8, slotAt, tableAt, whole, false},
	elf.R_X86_64_GOTPCREL:      {4, slotAt, holeAt, signed, false},
	elf.R_X86_64_GOTPCRELX:     {4, slotAt, holeAt, signed, false},
	elf.R_X86_64_REX_GOTPCRELX: {4, slotAt, holeAt, signed, false},
	elf.R_X86_64_GOTPCREL64:    {8, slotAt, holeAt, whole, false},
	elf.R_X86_64_GOTPC32:       {4, tableAt, holeAt, signed, false},
	elf.R_X86_64_GOTPC64:       {8, tableAt, holeAt, whole, false},
	elf.R_X86_64_GOTOFF64:      {8, symbolAt, tableAt, whole, false},
	elf.R_X86_64_PLTOFF64:      {8, symbolAt, tableAt, whole, false},

	elf.R_X86_64_TLSGD:           {4, slotAt, holeAt, signed, false},
	elf.R_X86_64_TLSLD:           {4, slotAt, holeAt, signed, false},
	elf.R_X86_64_GOTTPOFF:        {4, slotAt, holeAt, signed, false},
	elf.R_X86_64_GOTPC32_TLSDESC: {4, slotAt, holeAt, signed, false},
	elf.R_X86_64_TLSDESC_CALL:    {0, nothing, nothing, whole, false},
	elf.R_X86_64_TPOFF32:         {4, nothing, nothing, signed, false},
	elf.R_X86_64_DTPOFF32:        {4, nothing, nothing, signed, false},
	elf.R_X86_64_TPOFF64:         {8, nothing, nothing, whole, false},
	elf.R_X86_64_DTPOFF64:        {8, nothing, nothing, whole, false},
	elf.R_X86_64_DTPMOD64:        {8, nothing, nothing, whole, false},
}

// remedy386 returns the remedy for an unsupported relocation of i386.
func remedy386(name string) string {
	if strings.Contains(name, "TLS") {
		return "there is no thread-local storage, use a plain variable"
	}
	if strings.Contains(name, "GOT") {
		return "there is no global offset table, compile with -fno-pic"
	}
	return "compile with gcc -m32 -O2 -fno-pic -fcf-protection=none"
}

// formOf returns the form of a relocation's kind, if it is supported.
func formOf(kind elf.R_X86_64) (f form, ok bool) {
	if int(kind) >= len(forms) {
		return form{}, false
	}
	f = forms[kind]
	return f, f.bytes > 0 || kind == elf.R_X86_64_TLSDESC_CALL
}

// value computes the contents of the hole. ok is false if it doesn't fit.
func (f *form) value(at *[quantities]uint64, addend int64) (v uint64, ok bool) {
	v = at[f.of] + uint64(addend) - at[f.less]
	bits := 8 * f.bytes
	asSigned := f.bytes == 0 || int64(v)<<(64-bits)>>(64-bits) == int64(v)
	asUnsigned := f.bytes == 8 || v>>bits == 0
	switch f.room {
	case signed:
		return v, asSigned
	case unsigned:
		return v, asUnsigned
	case either:
		return v, asSigned || asUnsigned
	}
	return v, true
}

// put fills the hole.
func (f *form) put(hole []byte, v uint64) {
	switch f.bytes {
	case 8:
		binary.LittleEndian.PutUint64(hole, v)
	case 4:
		binary.LittleEndian.PutUint32(hole, uint32(v))
	case 2:
		binary.LittleEndian.PutUint16(hole, uint16(v))
	case 1:
		hole[0] = byte(v)
	}
}

// remedy returns the remedy for an unsupported relocation.
func remedy(name string) string {
	switch {
	case strings.Contains(name, "TPOFF"), strings.Contains(name, "TLS"), strings.Contains(name, "DTPMOD"):
		return "there is no thread-local storage, use a plain variable"
	case strings.Contains(name, "GOT"):
		return "there is no global offset table, compile with -fno-pic"
	}
	return "compile with gcc -O2 -fno-pic -fcf-protection=none"
}
