package objfile

import "debug/elf"

// formsRISCV is by R_RISCV. Nothing is relaxed: what marks an instruction for that, or alignment, leaves
// the code as it is. Source: RISC-V ELF psABI, "Relocations".
var formsRISCV = [...]Form{
	elf.R_RISCV_32:       {Plain, 4, SymbolAt, Nothing, Either, nil},
	elf.R_RISCV_64:       {Plain, 8, SymbolAt, Nothing, Whole, nil},
	elf.R_RISCV_32_PCREL: {Plain, 4, SymbolAt, HoleAt, Signed, nil},

	elf.R_RISCV_ADD8:  {Plain, 1, SymbolAt, Nothing, Whole, sum(8, 1)},
	elf.R_RISCV_ADD16: {Plain, 2, SymbolAt, Nothing, Whole, sum(16, 1)},
	elf.R_RISCV_ADD32: {Plain, 4, SymbolAt, Nothing, Whole, sum(32, 1)},
	elf.R_RISCV_ADD64: {Plain, 8, SymbolAt, Nothing, Whole, sum(64, 1)},
	elf.R_RISCV_SUB6:  {Plain, 1, SymbolAt, Nothing, Whole, sum(6, minus)},
	elf.R_RISCV_SUB8:  {Plain, 1, SymbolAt, Nothing, Whole, sum(8, minus)},
	elf.R_RISCV_SUB16: {Plain, 2, SymbolAt, Nothing, Whole, sum(16, minus)},
	elf.R_RISCV_SUB32: {Plain, 4, SymbolAt, Nothing, Whole, sum(32, minus)},
	elf.R_RISCV_SUB64: {Plain, 8, SymbolAt, Nothing, Whole, sum(64, minus)},
	elf.R_RISCV_SET6:  {Plain, 1, SymbolAt, Nothing, Whole, &Field{Into: into(whole, 0x3f)}},
	elf.R_RISCV_SET8:  {Plain, 1, SymbolAt, Nothing, Whole, nil},
	elf.R_RISCV_SET16: {Plain, 2, SymbolAt, Nothing, Whole, nil},
	elf.R_RISCV_SET32: {Plain, 4, SymbolAt, Nothing, Whole, nil},

	elf.R_RISCV_BRANCH:     {Plain, 4, SymbolAt, HoleAt, Signed, branchRISCV},
	elf.R_RISCV_JAL:        {Plain, 4, SymbolAt, HoleAt, Signed, jumpRISCV},
	elf.R_RISCV_RVC_BRANCH: {Plain, 2, SymbolAt, HoleAt, Signed, branchRVC},
	elf.R_RISCV_RVC_JUMP:   {Plain, 2, SymbolAt, HoleAt, Signed, jumpRVC},
	elf.R_RISCV_CALL:       {Plain, 8, SymbolAt, HoleAt, Signed, callRISCV},
	elf.R_RISCV_CALL_PLT:   {Plain, 8, SymbolAt, HoleAt, Signed, callRISCV},

	elf.R_RISCV_PCREL_HI20:   {Plain, 4, SymbolAt, HoleAt, Signed, &Field{Bits: 32, Into: highRISCV}},
	elf.R_RISCV_PCREL_LO12_I: {Plain, 4, SymbolAt, Nothing, Whole, &Field{High: true, Into: into(lowI, 0xfff00000)}},
	elf.R_RISCV_PCREL_LO12_S: {Plain, 4, SymbolAt, Nothing, Whole, &Field{High: true, Into: into(lowS, 0xfe000f80)}},
	elf.R_RISCV_HI20:         {Plain, 4, SymbolAt, Nothing, Signed, &Field{Bits: 32, Into: highRISCV}},
	elf.R_RISCV_LO12_I:       {Plain, 4, SymbolAt, Nothing, Whole, &Field{Into: into(lowI, 0xfff00000)}},
	elf.R_RISCV_LO12_S:       {Plain, 4, SymbolAt, Nothing, Whole, &Field{Into: into(lowS, 0xfe000f80)}},

	elf.R_RISCV_GOT_HI20: {Linked, 4, SlotAt, HoleAt, Signed, &Field{Bits: 32, Into: highRISCV}},
	elf.R_RISCV_RELAX:    {Plain, 0, Nothing, Nothing, Whole, nil},
	elf.R_RISCV_ALIGN:    {Plain, 0, Nothing, Nothing, Whole, &Field{Fill: true, Into: keep}},
}

// A high part is rounded, for the low one is signed.
const roundRISCV = 1 << 11

func highRISCV(w, v uint64) uint64 { return w&^0xfffff000 | (v+roundRISCV)&0xfffff000 }

func lowI(v uint64) uint64 { return v & 0xfff << 20 }
func lowS(v uint64) uint64 { return v&31<<7 | v>>5&0x7f<<25 }

// callRISCV is auipc and jalr.
var callRISCV = &Field{Bits: 32, Into: func(w, v uint64) uint64 {
	return highRISCV(w&0xffffffff, v) | (w>>32&^0xfff00000|lowI(v))<<32
}}

// sum is what adds the value to the lowest bits of the hole, or takes it away.
func sum(bits int, sign uint64) *Field {
	mask := ^uint64(0) >> (64 - bits)
	return &Field{Into: func(w, v uint64) uint64 { return w&^mask | (w+sign*v)&mask }}
}

func whole(v uint64) uint64      { return v }
func keep(hole, _ uint64) uint64 { return hole }

const minus = ^uint64(0)

// The distances of branches, as the formats B, J, CB and CJ have them.
var branchRISCV = &Field{Bits: 13, Unit: 2, Into: into(func(v uint64) uint64 {
	return v>>11&1<<7 | v>>1&0xf<<8 | v>>5&0x3f<<25 | v>>12&1<<31
}, 0xfe000f80)}

var jumpRISCV = &Field{Bits: 21, Unit: 2, Into: into(func(v uint64) uint64 {
	return v&0xff000 | v>>11&1<<20 | v>>1&0x3ff<<21 | v>>20&1<<31
}, 0xfffff000)}

var branchRVC = &Field{Bits: 9, Unit: 2, Into: into(func(v uint64) uint64 {
	return v>>5&1<<2 | v>>1&3<<3 | v>>6&3<<5 | v>>3&3<<10 | v>>8&1<<12
}, 0x1c7c)}

var jumpRVC = &Field{Bits: 12, Unit: 2, Into: into(func(v uint64) uint64 {
	return v>>5&1<<2 | v>>1&7<<3 | v>>7&1<<6 | v>>6&1<<7 | v>>10&1<<8 | v>>8&3<<9 | v>>4&1<<11 | v>>11&1<<12
}, 0x1ffc)}
