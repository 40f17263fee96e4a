package objfile

import "debug/elf"

// formsARM64 is by R_AARCH64. Source: ELF for the Arm 64-bit Architecture, "Relocation types".
var formsARM64 = [...]Form{
	elf.R_AARCH64_ABS64:  {Plain, 8, SymbolAt, Nothing, Whole, nil},
	elf.R_AARCH64_ABS32:  {Plain, 4, SymbolAt, Nothing, Either, nil},
	elf.R_AARCH64_PREL64: {Plain, 8, SymbolAt, HoleAt, Whole, nil},
	elf.R_AARCH64_PREL32: {Plain, 4, SymbolAt, HoleAt, Signed, nil},

	elf.R_AARCH64_LD_PREL_LO19:     {Plain, 4, SymbolAt, HoleAt, Signed, word(21, 19, 5)},
	elf.R_AARCH64_CONDBR19:         {Plain, 4, SymbolAt, HoleAt, Signed, word(21, 19, 5)},
	elf.R_AARCH64_TSTBR14:          {Plain, 4, SymbolAt, HoleAt, Signed, word(16, 14, 5)},
	elf.R_AARCH64_JUMP26:           {Plain, 4, SymbolAt, HoleAt, Signed, word(28, 26, 0)},
	elf.R_AARCH64_CALL26:           {Plain, 4, SymbolAt, HoleAt, Signed, word(28, 26, 0)},
	elf.R_AARCH64_ADR_PREL_LO21:    {Plain, 4, SymbolAt, HoleAt, Signed, &Field{Bits: 21, Into: into(adr, 0x60ffffe0)}},
	elf.R_AARCH64_ADR_PREL_PG_HI21: {Plain, 4, SymbolAt, HoleAt, Signed, pages},

	elf.R_AARCH64_ADD_ABS_LO12_NC:     {Plain, 4, SymbolAt, Nothing, Whole, low12(0)},
	elf.R_AARCH64_LDST8_ABS_LO12_NC:   {Plain, 4, SymbolAt, Nothing, Whole, low12(0)},
	elf.R_AARCH64_LDST16_ABS_LO12_NC:  {Plain, 4, SymbolAt, Nothing, Whole, low12(1)},
	elf.R_AARCH64_LDST32_ABS_LO12_NC:  {Plain, 4, SymbolAt, Nothing, Whole, low12(2)},
	elf.R_AARCH64_LDST64_ABS_LO12_NC:  {Plain, 4, SymbolAt, Nothing, Whole, low12(3)},
	elf.R_AARCH64_LDST128_ABS_LO12_NC: {Plain, 4, SymbolAt, Nothing, Whole, low12(4)},

	elf.R_AARCH64_MOVW_UABS_G0_NC: {Plain, 4, SymbolAt, Nothing, Whole, half(0)},
	elf.R_AARCH64_MOVW_UABS_G1_NC: {Plain, 4, SymbolAt, Nothing, Whole, half(1)},
	elf.R_AARCH64_MOVW_UABS_G2_NC: {Plain, 4, SymbolAt, Nothing, Whole, half(2)},
	elf.R_AARCH64_MOVW_UABS_G3:    {Plain, 4, SymbolAt, Nothing, Whole, half(3)},

	elf.R_AARCH64_ADR_GOT_PAGE:     {Linked, 4, SlotAt, HoleAt, Signed, pages},
	elf.R_AARCH64_LD64_GOT_LO12_NC: {Linked, 4, SlotAt, Nothing, Whole, low12(3)},
}

// word is a distance of bits bits that is a multiple of 4. The instruction has n of them, from bit at on.
func word(bits, n, at int) *Field {
	mask := uint64(1)<<n - 1
	return &Field{Bits: bits, Unit: 4, Into: into(func(v uint64) uint64 { return v >> 2 & mask << at }, mask<<at)}
}

// adr spreads 21 bits as adr and adrp have them.
func adr(v uint64) uint64 { return v&3<<29 | v>>2&0x7ffff<<5 }

// pages is the distance between two pages of 4 KiB, for adrp.
var pages = &Field{Bits: 33, Pages: true, Into: into(func(v uint64) uint64 { return adr(v >> 12) }, 0x60ffffe0)}

// low12 is the place in the page, in units of 1 << shift bytes.
func low12(shift int) *Field {
	return &Field{Unit: 1 << shift, Into: into(func(v uint64) uint64 { return v & 0xfff >> shift << 10 }, 0x3ffc00)}
}

// half is part n of four of an address, for movz and movk.
func half(n int) *Field {
	return &Field{Into: into(func(v uint64) uint64 { return v >> (16 * n) & 0xffff << 5 }, 0x1fffe0)}
}
