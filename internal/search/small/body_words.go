package small

import (
	"encoding/binary"

	"kpsim/smp/arch/target"
)

// A dialect is what the reference knows of a processor.
type dialect struct {
	effect func(code []byte) insn // an instruction; distances are from its end
	inside uint64                 // the errno of registering a probe inside an instruction
}

// dialects has a row for each processor of a world.
var dialects = [...]dialect{
	target.X8664:   {effectX86, eilseq},
	target.I386:    {effectX86, eilseq},
	target.RISCV64: {ofWords(wordsRISCV), eilseq},
	target.ARM64:   {ofWords(wordsARM), einval},
	target.PPC64LE: {ofWords(wordsPower), einval},
}

// A word is an instruction that is a number, of which some bits say what it is and others a value. Instructions of two
// bytes are numbers below 1<<16 whose two lowest bits aren't both set.
type word struct {
	mask, is uint32
	does     effect
	value    field
}

// A field is a signed value in an instruction: pieces of its bits, the highest first.
type field struct {
	pieces []piece
	scale  int // bits that it is shifted by
	start  int // the bytes by which it is farther from the instruction's start than from its end
}

// A piece is n bits of an instruction, from bit at on.
type piece struct{ at, n int }

// of returns the value.
func (f *field) of(w uint32) int {
	v, bits := uint32(0), 0
	for _, p := range f.pieces {
		v = v<<p.n | w>>p.at&(1<<p.n-1)
		bits += p.n
	}
	return int(int32(v<<(32-bits))>>(32-bits))<<f.scale - f.start
}

// ofWords returns the effect of the first word that an instruction is.
func ofWords(list []word) func(code []byte) insn {
	return func(code []byte) (in insn) {
		var w uint32
		switch len(code) {
		case 2:
			w = uint32(binary.LittleEndian.Uint16(code))
		case 4:
			w = binary.LittleEndian.Uint32(code)
		default:
			return in
		}
		for i := range list {
			if p := &list[i]; w&p.mask == p.is {
				in.does = p.does
				if p.value.pieces != nil {
					in.v = p.value.of(w)
				}
				return in
			}
		}
		return in
	}
}

// What the reference knows of RISC-V (unprivileged ISA, "RV32I", "C").
var wordsRISCV = []word{
	{0xef83, 0x4501, gives, field{pieces: []piece{{12, 1}, {2, 5}}}},                    // c.li a0,v
	{0xffff, 0x357d, descends, field{}},                                                 // c.addiw a0,-1
	{0xef83, 0x0501, adds, field{pieces: []piece{{12, 1}, {2, 5}}}},                     // c.addi a0,v
	{0xfffff, 0x50513, adds, field{pieces: []piece{{20, 12}}}},                          // addi a0,a0,v
	{0xfffff, 0x00513, gives, field{pieces: []piece{{20, 12}}}},                         // li a0,v
	{0xffff, 0x8082, returns, field{}},                                                  // ret
	{0x1fff07f, 0x54063, skips, field{[]piece{{31, 1}, {7, 1}, {25, 6}, {8, 4}}, 1, 4}}, // bltz a0
	{0xfff, 0x0ef, calls, field{[]piece{{31, 1}, {12, 8}, {20, 1}, {21, 10}}, 1, 4}},    // jal ra
}

// What it knows of A64 (ARM ARM, C6.2).
var wordsARM = []word{
	{0xffe0001f, 0x52800000, gives, field{pieces: []piece{{4, 1}, {5, 16}}}}, // mov w0,#v: bit 4 is clear
	{0xffc003ff, 0x11000000, adds, field{pieces: []piece{{9, 1}, {10, 12}}}}, // add w0,w0,#v: bit 9 is clear
	{0xffffffff, 0x51000400, descends, field{}},                              // sub w0,w0,#1
	{0xfff8001f, 0x37f80000, skips, field{[]piece{{5, 14}}, 2, 4}},           // tbnz w0,#31
	{0xfc000000, 0x94000000, calls, field{[]piece{{0, 26}}, 2, 4}},           // bl
	{0xffffffff, 0xd65f03c0, returns, field{}},                               // ret
}

// What it knows of Power (Power ISA, Book I, 2.4, 3.3).
var wordsPower = []word{
	{0xffff0000, 0x38600000, gives, field{pieces: []piece{{0, 16}}}}, // li r3,v
	{0xffffffff, 0x3863ffff, descends, field{}},                      // addi r3,r3,-1
	{0xffff0000, 0x38630000, adds, field{pieces: []piece{{0, 16}}}},  // addi r3,r3,v
	{0xffff0003, 0x41800000, skips, field{[]piece{{2, 14}}, 2, 4}},   // blt
	{0xfc000003, 0x48000001, calls, field{[]piece{{2, 24}}, 2, 4}},   // bl
	{0xffffffff, 0x4e800020, returns, field{}},                       // blr
}
