package objfile

import "debug/elf"

// formsX86 is by R_X86_64. Source: System V ABI, AMD64, "Relocation Types" and, for the large
// models, "Large Models".
var formsX86 = [...]Form{
	elf.R_X86_64_64:    {Plain, 8, SymbolAt, Nothing, Whole, nil},
	elf.R_X86_64_PC64:  {Plain, 8, SymbolAt, HoleAt, Whole, nil},
	elf.R_X86_64_32:    {Plain, 4, SymbolAt, Nothing, Unsigned, nil},
	elf.R_X86_64_32S:   {Plain, 4, SymbolAt, Nothing, Signed, nil},
	elf.R_X86_64_PC32:  {Plain, 4, SymbolAt, HoleAt, Signed, nil},
	elf.R_X86_64_PLT32: {Plain, 4, SymbolAt, HoleAt, Signed, nil},

	elf.R_X86_64_16:     {Linked, 2, SymbolAt, Nothing, Either, nil},
	elf.R_X86_64_PC16:   {Linked, 2, SymbolAt, HoleAt, Signed, nil},
	elf.R_X86_64_8:      {Linked, 1, SymbolAt, Nothing, Either, nil},
	elf.R_X86_64_PC8:    {Linked, 1, SymbolAt, HoleAt, Signed, nil},
	elf.R_X86_64_SIZE32: {Linked, 4, SizeOf, Nothing, Unsigned, nil},
	elf.R_X86_64_SIZE64: {Linked, 8, SizeOf, Nothing, Whole, nil},

	elf.R_X86_64_GOT32:         {Linked, 4, SlotAt, TableAt, Signed, nil},
	elf.R_X86_64_GOT64:         {Linked, 8, SlotAt, TableAt, Whole, nil},
	elf.R_X86_64_GOTPLT64:      {Linked, 8, SlotAt, TableAt, Whole, nil},
	elf.R_X86_64_GOTPCREL:      {Linked, 4, SlotAt, HoleAt, Signed, nil},
	elf.R_X86_64_GOTPCRELX:     {Linked, 4, SlotAt, HoleAt, Signed, nil},
	elf.R_X86_64_REX_GOTPCRELX: {Linked, 4, SlotAt, HoleAt, Signed, nil},
	elf.R_X86_64_GOTPCREL64:    {Linked, 8, SlotAt, HoleAt, Whole, nil},
	elf.R_X86_64_GOTPC32:       {Linked, 4, TableAt, HoleAt, Signed, nil},
	elf.R_X86_64_GOTPC64:       {Linked, 8, TableAt, HoleAt, Whole, nil},
	elf.R_X86_64_GOTOFF64:      {Linked, 8, SymbolAt, TableAt, Whole, nil},
	elf.R_X86_64_PLTOFF64:      {Linked, 8, SymbolAt, TableAt, Whole, nil},

	elf.R_X86_64_TLSGD:           {Thread, 4, SlotAt, HoleAt, Signed, nil},
	elf.R_X86_64_TLSLD:           {Thread, 4, SlotAt, HoleAt, Signed, nil},
	elf.R_X86_64_GOTTPOFF:        {Thread, 4, SlotAt, HoleAt, Signed, nil},
	elf.R_X86_64_GOTPC32_TLSDESC: {Thread, 4, SlotAt, HoleAt, Signed, nil},
	elf.R_X86_64_TLSDESC_CALL:    {Thread, 0, Nothing, Nothing, Whole, nil},
	elf.R_X86_64_TPOFF32:         {Thread, 4, Nothing, Nothing, Signed, nil},
	elf.R_X86_64_DTPOFF32:        {Thread, 4, Nothing, Nothing, Signed, nil},
	elf.R_X86_64_TPOFF64:         {Thread, 8, Nothing, Nothing, Whole, nil},
	elf.R_X86_64_DTPOFF64:        {Thread, 8, Nothing, Nothing, Whole, nil},
	elf.R_X86_64_DTPMOD64:        {Thread, 8, Nothing, Nothing, Whole, nil},
}

// forms386 is by R_386. Addresses of 32 bits wrap around, so every value fits. Source: System V
// ABI, Intel386, "Relocation Types".
var forms386 = [...]Form{
	elf.R_386_32:    {Plain, 4, SymbolAt, Nothing, Whole, nil},
	elf.R_386_PC32:  {Plain, 4, SymbolAt, HoleAt, Whole, nil},
	elf.R_386_PLT32: {Plain, 4, SymbolAt, HoleAt, Whole, nil},
}
