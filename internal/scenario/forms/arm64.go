package forms

// ofARM64 is the row of arm64 (ARM ARM, C4.1 "A64 Instruction Set Encoding", C6.2). Kernels may rely on x18.
var ofARM64 = speech{
	align:  4,
	move:   func(to, from int) uint32 { return 0xaa0003e0 | uint32(from)<<16 | uint32(to) },
	mark:   func(to int, n uint32) uint32 { return 0xd2800000 | n<<5 | uint32(to) },
	add:    func(to, from int) uint32 { return 0x8b000000 | uint32(from)<<16 | uint32(to)<<5 | uint32(to) },
	ret:    0xd65f03c0,
	result: 0, link: 30, zero: 31,
	fixed: []int{18},
	spare: []int{9, 10, 11, 12, 13, 14, 15, 16, 17, 7},
	forms: []form{
		{name: "b", word: 0x14000000, distance: armB26},
		{name: "bl", word: 0x94000000, distance: armB26},
		{name: "b.cond", word: 0x54000000, distance: armB19, cases: upTo(16, 0), values: armFlags, flags: armSet},
		{name: "cbz", word: 0xb4000000, reads: first, distance: armB19, values: signs},
		{name: "cbnz", word: 0xb5000000, reads: first, distance: armB19, values: signs},
		{name: "cbz-32", word: 0x34000000, reads: first, distance: armB19, values: signs},
		{name: "cbnz-32", word: 0x35000000, reads: first, distance: armB19, values: signs},
		{name: "tbz", word: 0x36000000, reads: first, distance: armB14, cases: armBits(), values: bits},
		{name: "tbnz", word: 0x37000000, reads: first, distance: armB14, cases: armBits(), values: bits},
		{name: "br", word: 0xd61f0000, does: jumps, reads: []int{5}},
		{name: "blr", word: 0xd63f0000, does: jumps, reads: []int{5}},
		{name: "ret", word: 0xd65f0000, does: jumps, reads: []int{5}},
		{name: "adr", word: 0x10000000, does: takes, writes: first, distance: []field{{0, 2, 29}, {2, 19, 5}}},
		{name: "adrp", word: 0x90000000, does: takes, writes: first, distance: []field{{12, 2, 29}, {14, 19, 5}}},
		{name: "ldr", word: 0x58000000, does: loads, writes: first, distance: armB19},
		{name: "ldr-32", word: 0x18000000, does: loads, writes: first, distance: armB19},
		{name: "ldrsw", word: 0x98000000, does: loads, writes: first, distance: armB19},
		{name: "label", word: 0xd503201f, does: switches, distance: armB26},
		{name: "nop", word: 0xd503201f, does: computes},
	},
}

var (
	armB14 = []field{{2, 14, 5}}
	armB19 = []field{{2, 19, 5}}
	armB26 = []field{{2, 26, 0}}
	armSet = []uint32{0xd51b4200} // msr nzcv, x0
	first  = []int{0}
)

// upTo returns the numbers below n, shifted.
func upTo(n uint32, by int) (list []uint32) {
	for i := range n {
		list = append(list, i<<by)
	}
	return list
}

// armBits returns the numbers of bits as tbz has them: the highest bit of six stands apart.
func armBits() (list []uint32) {
	for b := range uint32(64) {
		list = append(list, b>>5<<31|b&31<<19)
	}
	return list
}

// armFlags are all values of N, Z, C and V.
func armFlags(int) (list [][]uint64) {
	for n := range uint64(16) {
		list = append(list, []uint64{n << 28})
	}
	return list
}
