package forms

import "slices"

// ofPPC64 is the row of ppc64le (Power ISA, Book I): branches, and of what emulate_step computes by registers each
// kind. Kernels rely on r1, r2 and r13. Loads and stores are left to drawn programs.
var ofPPC64 = speech{
	align:    4,
	move:     func(to, from int) uint32 { return 0x7c000378 | uint32(from)<<21 | uint32(to)<<16 | uint32(from)<<11 },
	mark:     func(to int, n uint32) uint32 { return 0x38000000 | uint32(to)<<21 | n },
	add:      func(to, from int) uint32 { return 0x7c000214 | uint32(to)<<21 | uint32(to)<<16 | uint32(from)<<11 },
	ret:      0x4e800020,
	fromLink: func(r int) uint32 { return 0x7c0802a6 | uint32(r)<<21 },
	toLink:   func(r int) uint32 { return 0x7c0803a6 | uint32(r)<<21 },
	result:   3, link: none, zero: none,
	fixed: []int{1, 2, 13},
	spare: []int{6, 7, 8, 9, 10, 11, 12, 0, 14, 15},
	forms: slices.Concat([]form{
		{name: "b", word: 0x48000000, distance: ppcI},
		{name: "bl", word: 0x48000001, distance: ppcI},
		{name: "bc", word: 0x40800000, distance: ppcB, cases: ppcConditions(8, 0), values: ppcCR, flags: ppcSetCR},
		{name: "bcl", word: 0x40800001, distance: ppcB, cases: ppcConditions(8, 0), values: ppcCR, flags: ppcSetCR},
		{name: "bdnz", word: 0x42000000, distance: ppcB, values: counts, flags: ppcSetCTR},
		{name: "bdz", word: 0x42400000, distance: ppcB, values: counts, flags: ppcSetCTR},
		{name: "blr", word: 0x4e800020, does: jumps, flags: []uint32{0x7c6803a6}}, // mtlr r3
		{name: "bctr", word: 0x4e800420, does: jumps, flags: ppcSetCTR},
		{name: "bctrl", word: 0x4e800421, does: jumps, flags: ppcSetCTR},
		{name: "label", word: 0x60000000, does: switches, distance: ppcI},
		{name: "crlogical", word: 0x4c000002, does: computes, cases: ppcLogical(), values: ppcCR, flags: ppcSetCR},
		{name: "mcrf", word: 0x4c000000, does: computes, cases: []uint32{0, 0x00840000, 0x02880000, 0x039c0000},
			values: ppcCR, flags: ppcSetCR},
		{name: "mfcr", word: 0x7c000026, does: computes, writes: []int{21}, values: ppcCR, flags: ppcSetCR},
		{name: "mtcrf", word: 0x7c000120, does: computes, reads: []int{21}, cases: ppcFields, values: one},
		{name: "mflr", word: 0x7c0802a6, does: computes, writes: []int{21}},
		{name: "mfctr", word: 0x7c0902a6, does: computes, writes: []int{21}, values: counts, flags: ppcSetCTR},
		{name: "mtctr", word: 0x7c0903a6, does: computes, reads: []int{21}, values: one},
		{name: "addi", word: 14 << 26, does: computes, reads: ppcRA, writes: ppcRT, cases: immediates, values: one},
		{name: "addis", word: 15 << 26, does: computes, reads: ppcRA, writes: ppcRT, cases: immediates, values: one},
		{name: "addic", word: 12 << 26, does: computes, reads: ppcRA, writes: ppcRT, cases: immediates, values: one},
		{name: "addic.", word: 13 << 26, does: computes, reads: ppcRA, writes: ppcRT, cases: immediates, values: one},
		{name: "subfic", word: 8 << 26, does: computes, reads: ppcRA, writes: ppcRT, cases: immediates, values: one},
		{name: "mulli", word: 7 << 26, does: computes, reads: ppcRA, writes: ppcRT, cases: immediates, values: one},
		{name: "cmpi", word: 11 << 26, does: computes, reads: ppcRA, cases: ppcCompared(immediates), values: one},
		{name: "cmpli", word: 10 << 26, does: computes, reads: ppcRA, cases: ppcCompared(immediates), values: one},
		{name: "cmp", word: 31 << 26, does: computes, reads: []int{16, 11}, cases: ppcCompared([]uint32{0, 32 << 1}),
			values: two},
		{name: "rlwinm", word: 21 << 26, does: computes, reads: ppcRT, writes: ppcRA, cases: ppcRotated, values: one},
		{name: "rldicl", word: 30 << 26, does: computes, reads: ppcRT, writes: ppcRA, cases: ppcRotatedWide,
			values: one},
		{name: "rlwimi", word: 20 << 26, does: computes, reads: []int{21, 16}, cases: ppcRotated, values: two},
		{name: "rlwnm", word: 23 << 26, does: computes, reads: []int{21, 11}, writes: ppcRA,
			cases: []uint32{0x83e, 1}, values: two},
	}, ppcCarried(slices.Concat(ppcShifted, ppcLogicalImmediates(), ppcArithmetic, ppcBits))),
}

// ppcShifted are shifts by a number.
var ppcShifted = []form{
	{name: "srawi", word: 31<<26 | 824<<1, does: computes, reads: ppcRT, writes: ppcRA, cases: upTo(32, 11),
		values: one},
	{name: "sradi", word: 31<<26 | 413<<2, does: computes, reads: ppcRT, writes: ppcRA, cases: ppcShifts,
		values: one},
}

// ppcCarried returns the forms twice: without a carry before them, and with one, made by li r11,-1; addic r11,r11,1.
func ppcCarried(list []form) []form {
	for _, f := range slices.Clone(list) {
		f.name, f.flags = f.name+"-carried", []uint32{0x3960ffff, 0x316b0001}
		list = append(list, f)
	}
	return list
}

var (
	ppcI      = []field{{2, 24, 2}}
	ppcB      = []field{{2, 14, 2}}
	ppcRT     = []int{21}
	ppcRA     = []int{16}
	ppcSetCR  = []uint32{0x7c6ff120} // mtcr r3
	ppcSetCTR = []uint32{0x7c6903a6} // mtctr r3

	ppcFields  = []uint32{0, 1 << 12, 2 << 12, 4 << 12, 8 << 12, 16 << 12, 32 << 12, 64 << 12, 128 << 12, 255 << 12}
	immediates = []uint32{0, 1, 0x7fff, 0x8000, 0xffff}
	// Shifts and masks: the numbers of bits, from and to which, and whether CR0 is set.
	ppcRotated     = []uint32{31 << 1, 8<<11 | 24<<6 | 31<<1, 31<<11 | 5<<6 | 2<<1, 1<<11 | 16<<6 | 20<<1 | 1}
	ppcRotatedWide = []uint32{0, 1<<11 | 63&31<<6 | 1<<5, 31<<11 | 1<<1 | 8<<6, 7<<11 | 1<<2 | 3<<6,
		9<<11 | 3<<2 | 17<<6, 1}
	ppcShifts = append(upTo(32, 11), 2, 31<<11|2, 5<<11|3)
)

// ppcConditions returns BO and BI of conditional branches, for each bit of CR, beside 4, which is in BO of all.
func ppcConditions(bo ...uint32) (list []uint32) {
	for _, o := range bo {
		for bi := range uint32(32) {
			list = append(list, o<<21|bi<<16)
		}
	}
	return list
}

// ppcCR returns values of CR: the bit that a condition is about set and alone, and clear.
func ppcCR(c int) [][]uint64 {
	bit := uint64(1) << (31 - c%32)
	return [][]uint64{{bit}, {0xffffffff &^ bit}, {0}, {0xffffffff}, {0x5a3c9617}}
}

// counts are values of CTR before it is decremented.
func counts(int) [][]uint64 { return [][]uint64{{1}, {2}, {0}, {wide | 1}} }

// ppcLogical returns the logical instructions of bits of CR, each with several of them.
func ppcLogical() (list []uint32) {
	for _, xo := range []uint32{257, 225, 449, 193, 33, 289, 129, 417} {
		for _, bits := range []uint32{0, 1<<21 | 2<<16 | 3<<11, 31<<21 | 30<<16 | 0<<11, 4<<21 | 4<<16 | 31<<11} {
			list = append(list, (xo-1)<<1|bits) // all are odd
		}
	}
	return list
}

// ppcCompared adds where in CR the answer goes, and the width.
func ppcCompared(of []uint32) (list []uint32) {
	for i, w := range of {
		for bf := range uint32(8) {
			list = append(list, w|bf<<23|(bf+uint32(i))&1<<21)
		}
	}
	return list
}

// one and two are values that tell sign, width and carries.
func one(int) [][]uint64 {
	return [][]uint64{{0}, {1}, {ones}, {high}, {wide - 1}, {0x80000000}, {0x89abcdef01234567}}
}

func two(int) [][]uint64 {
	return [][]uint64{{5, 5}, {1, 2}, {ones, 1}, {1, ones}, {high, ones}, {wide | 5, 5}, {0x80000000, 0xffffffff},
		{0x89abcdef01234567, 33}, {0x0123456789abcdef, 0xfedcba98}, {7, 0}, {3, 64}}
}

// ppcLogicalImmediates are ori, oris, xori, xoris, andi. and andis.
func ppcLogicalImmediates() (list []form) {
	for i, name := range []string{"ori", "oris", "xori", "xoris", "andi.", "andis."} {
		list = append(list, form{name: name, word: uint32(24+i) << 26, does: computes, reads: ppcRT, writes: ppcRA,
			cases: immediates, values: one})
	}
	return list
}

// A ppcX is an instruction of two registers, or of one, that is opcode 31 with an extended opcode.
type ppcX struct {
	name string
	xo   uint32
	one  bool
}

// ppcOf returns the forms of instructions, without and with CR0: the lowest bits of the numbers of the registers that
// they read, and of the one that they write.
func ppcOf(reads, writes []int, of ...ppcX) (list []form) {
	for _, x := range of {
		f := form{name: x.name, word: 31<<26 | x.xo<<1, does: computes, reads: reads, writes: writes,
			cases: []uint32{0, 1}, values: two}
		if x.one {
			f.reads, f.values = reads[:1:1], one
		}
		list = append(list, f)
	}
	return list
}

var (
	ppcArithmetic = ppcOf([]int{16, 11}, ppcRT, ppcX{"add", 266, false}, ppcX{"addc", 10, false},
		ppcX{"adde", 138, false}, ppcX{"subf", 40, false}, ppcX{"subfc", 8, false}, ppcX{"subfe", 136, false},
		ppcX{"mulld", 233, false}, ppcX{"mullw", 235, false}, ppcX{"mulhd", 73, false}, ppcX{"mulhdu", 9, false},
		ppcX{"mulhw", 75, false}, ppcX{"mulhwu", 11, false}, ppcX{"neg", 104, true}, ppcX{"addme", 234, true},
		ppcX{"addze", 202, true}, ppcX{"subfme", 232, true}, ppcX{"subfze", 200, true})

	// Logical instructions, shifts and what counts bits.
	ppcBits = ppcOf([]int{21, 11}, ppcRA, ppcX{"and", 28, false}, ppcX{"or", 444, false}, ppcX{"xor", 316, false},
		ppcX{"nand", 476, false}, ppcX{"nor", 124, false}, ppcX{"eqv", 284, false}, ppcX{"andc", 60, false},
		ppcX{"orc", 412, false}, ppcX{"slw", 24, false}, ppcX{"srw", 536, false}, ppcX{"sraw", 792, false},
		ppcX{"sld", 27, false}, ppcX{"srd", 539, false}, ppcX{"srad", 794, false}, ppcX{"cntlzw", 26, true},
		ppcX{"cntlzd", 58, true}, ppcX{"extsb", 954, true}, ppcX{"extsh", 922, true}, ppcX{"extsw", 986, true})
)
