package objfile

import "debug/elf"

// formsPPC is by R_PPC64, of ELFv2. The TOC's base is TableAt, a branch leads to EntryAt. Nothing is rewritten to use
// the TOC less: what marks an instruction for that leaves the code as it is. Source: Power ELFv2 ABI, 3.5, "Relocation
// Types".
var formsPPC = [...]Form{
	elf.R_PPC64_ADDR64:       {Plain, 8, SymbolAt, Nothing, Whole, nil},
	elf.R_PPC64_UADDR64:      {Plain, 8, SymbolAt, Nothing, Whole, nil},
	elf.R_PPC64_ADDR64_LOCAL: {Plain, 8, EntryAt, Nothing, Whole, nil},
	elf.R_PPC64_ADDR32:       {Plain, 4, SymbolAt, Nothing, Either, nil},
	elf.R_PPC64_UADDR32:      {Plain, 4, SymbolAt, Nothing, Either, nil},
	elf.R_PPC64_UADDR16:      {Plain, 2, SymbolAt, Nothing, Either, nil},
	elf.R_PPC64_REL64:        {Plain, 8, SymbolAt, HoleAt, Whole, nil},
	elf.R_PPC64_REL32:        {Plain, 4, SymbolAt, HoleAt, Signed, nil},
	elf.R_PPC64_TOC:          {Plain, 8, TableAt, Nothing, Whole, nil},

	elf.R_PPC64_REL24:       {Plain, 4, EntryAt, HoleAt, Signed, farPPC},
	elf.R_PPC64_REL24_NOTOC: {Plain, 4, EntryAt, HoleAt, Signed, farPPC},
	elf.R_PPC64_REL14:       {Plain, 4, EntryAt, HoleAt, Signed, nearPPC},
	elf.R_PPC64_ADDR24:      {Plain, 4, EntryAt, Nothing, Signed, farPPC},
	elf.R_PPC64_ADDR14:      {Plain, 4, EntryAt, Nothing, Signed, nearPPC},

	elf.R_PPC64_ADDR16:          {Plain, 2, SymbolAt, Nothing, Either, nil},
	elf.R_PPC64_ADDR16_LO:       {Plain, 2, SymbolAt, Nothing, Whole, nil},
	elf.R_PPC64_ADDR16_HI:       {Plain, 2, SymbolAt, Nothing, Signed, halfPPC(16, 32, 0)},
	elf.R_PPC64_ADDR16_HA:       {Plain, 2, SymbolAt, Nothing, Signed, halfPPC(16, 32, roundPPC)},
	elf.R_PPC64_ADDR16_HIGH:     {Plain, 2, SymbolAt, Nothing, Whole, halfPPC(16, 64, 0)},
	elf.R_PPC64_ADDR16_HIGHA:    {Plain, 2, SymbolAt, Nothing, Whole, halfPPC(16, 64, roundPPC)},
	elf.R_PPC64_ADDR16_HIGHER:   {Plain, 2, SymbolAt, Nothing, Whole, halfPPC(32, 64, 0)},
	elf.R_PPC64_ADDR16_HIGHERA:  {Plain, 2, SymbolAt, Nothing, Whole, halfPPC(32, 64, roundPPC)},
	elf.R_PPC64_ADDR16_HIGHEST:  {Plain, 2, SymbolAt, Nothing, Whole, halfPPC(48, 64, 0)},
	elf.R_PPC64_ADDR16_HIGHESTA: {Plain, 2, SymbolAt, Nothing, Whole, halfPPC(48, 64, roundPPC)},
	elf.R_PPC64_ADDR16_DS:       {Plain, 2, SymbolAt, Nothing, Either, doublePPC},
	elf.R_PPC64_ADDR16_LO_DS:    {Plain, 2, SymbolAt, Nothing, Whole, doublePPC},

	elf.R_PPC64_TOC16:       {Plain, 2, SymbolAt, TableAt, Signed, nil},
	elf.R_PPC64_TOC16_LO:    {Plain, 2, SymbolAt, TableAt, Whole, nil},
	elf.R_PPC64_TOC16_HI:    {Plain, 2, SymbolAt, TableAt, Signed, halfPPC(16, 32, 0)},
	elf.R_PPC64_TOC16_HA:    {Plain, 2, SymbolAt, TableAt, Signed, halfPPC(16, 32, roundPPC)},
	elf.R_PPC64_TOC16_DS:    {Plain, 2, SymbolAt, TableAt, Signed, doublePPC},
	elf.R_PPC64_TOC16_LO_DS: {Plain, 2, SymbolAt, TableAt, Whole, doublePPC},

	elf.R_PPC64_REL16:          {Plain, 2, SymbolAt, HoleAt, Signed, nil},
	elf.R_PPC64_REL16_LO:       {Plain, 2, SymbolAt, HoleAt, Whole, nil},
	elf.R_PPC64_REL16_HI:       {Plain, 2, SymbolAt, HoleAt, Signed, halfPPC(16, 32, 0)},
	elf.R_PPC64_REL16_HA:       {Plain, 2, SymbolAt, HoleAt, Signed, halfPPC(16, 32, roundPPC)},
	elf.R_PPC64_REL16_HIGH:     {Plain, 2, SymbolAt, HoleAt, Whole, halfPPC(16, 64, 0)},
	elf.R_PPC64_REL16_HIGHA:    {Plain, 2, SymbolAt, HoleAt, Whole, halfPPC(16, 64, roundPPC)},
	elf.R_PPC64_REL16_HIGHER:   {Plain, 2, SymbolAt, HoleAt, Whole, halfPPC(32, 64, 0)},
	elf.R_PPC64_REL16_HIGHERA:  {Plain, 2, SymbolAt, HoleAt, Whole, halfPPC(32, 64, roundPPC)},
	elf.R_PPC64_REL16_HIGHEST:  {Plain, 2, SymbolAt, HoleAt, Whole, halfPPC(48, 64, 0)},
	elf.R_PPC64_REL16_HIGHESTA: {Plain, 2, SymbolAt, HoleAt, Whole, halfPPC(48, 64, roundPPC)},

	elf.R_PPC64_D34:         {Plain, 8, SymbolAt, Nothing, Signed, prefixedPPC},
	elf.R_PPC64_D34_LO:      {Plain, 8, SymbolAt, Nothing, Whole, prefixedPPC},
	elf.R_PPC64_PCREL34:     {Plain, 8, SymbolAt, HoleAt, Signed, prefixedPPC},
	elf.R_PPC64_GOT_PCREL34: {Linked, 8, SlotAt, HoleAt, Signed, prefixedPPC},

	elf.R_PPC64_GOT16:       {Linked, 2, SlotAt, TableAt, Signed, nil},
	elf.R_PPC64_GOT16_LO:    {Linked, 2, SlotAt, TableAt, Whole, nil},
	elf.R_PPC64_GOT16_HI:    {Linked, 2, SlotAt, TableAt, Signed, halfPPC(16, 32, 0)},
	elf.R_PPC64_GOT16_HA:    {Linked, 2, SlotAt, TableAt, Signed, halfPPC(16, 32, roundPPC)},
	elf.R_PPC64_GOT16_DS:    {Linked, 2, SlotAt, TableAt, Signed, doublePPC},
	elf.R_PPC64_GOT16_LO_DS: {Linked, 2, SlotAt, TableAt, Whole, doublePPC},

	elf.R_PPC64_ENTRY:     {Plain, 0, Nothing, Nothing, Whole, nil},
	elf.R_PPC64_PCREL_OPT: {Plain, 0, Nothing, Nothing, Whole, nil},
	elf.R_PPC64_TOCSAVE:   {Plain, 0, Nothing, Nothing, Whole, nil},
}

// A high part is rounded where the low one is signed.
const roundPPC = 1 << 15

// halfPPC is the 16 bits from bit at on of a value of bits bits, to which round is added.
func halfPPC(at, bits int, round uint64) *Field {
	return &Field{Bits: bits, Round: round, Into: func(_, v uint64) uint64 { return v >> at & 0xffff }}
}

// doublePPC is a distance of 16 bits whose lowest two belong to the instruction.
var doublePPC = &Field{Unit: 4, Into: into(whole, 0xfffc)}

// The distances of branches.
var (
	farPPC  = &Field{Bits: 26, Unit: 4, Into: into(whole, 0x03fffffc)}
	nearPPC = &Field{Bits: 16, Unit: 4, Into: into(whole, 0xfffc)}
)

// prefixedPPC is 34 bits: the upper 18 in the prefix, which comes first, the lower 16 in the suffix.
var prefixedPPC = &Field{Bits: 34, Into: into(func(v uint64) uint64 {
	return v>>16&0x3ffff | v&0xffff<<32
}, 0xffff_0003ffff)}

// localPPC returns how far behind a function's address its local entry is, from st_other (Power ELFv2 ABI, 3.4.1).
func localPPC(other byte) uint64 { return 1 << (other >> 5) &^ 3 }

// losesTOC is what st_other's upper three bits say of a function that uses r2 as any register. With 0 it leaves r2
// alone, from 2 on it has two entries.
const losesTOC = 1

// stubPPC reports whether a linker puts a stub between a branch of a kind and a function: one of them keeps the TOC in
// r2, and the other doesn't.
func stubPPC(kind uint32, other byte) bool {
	switch elf.R_PPC64(kind) {
	case elf.R_PPC64_REL24, elf.R_PPC64_REL14:
		return other>>5 == losesTOC
	case elf.R_PPC64_REL24_NOTOC:
		return other>>5 > losesTOC
	}
	return false
}
