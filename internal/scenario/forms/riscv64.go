package forms

// ofRISCV64 is the row of riscv64 (unprivileged ISA, "RV32/64G Instruction Set Listings", "C"). Kernels rely on sp, gp
// and tp.
var ofRISCV64 = speech{
	align:  2,
	move:   func(to, from int) uint32 { return 0x13 | uint32(to)<<7 | uint32(from)<<15 },
	mark:   func(to int, n uint32) uint32 { return 0x13 | uint32(to)<<7 | n<<20 },
	add:    func(to, from int) uint32 { return 0x33 | uint32(to)<<7 | uint32(to)<<15 | uint32(from)<<20 },
	ret:    0x8082,
	result: 10, link: 1, zero: 0,
	fixed: []int{2, 3, 4},
	spare: []int{5, 6, 7, 28, 29, 30, 31, 15, 16, 17},
	forms: []form{
		{name: "c.j", word: 0xa001, distance: riscvCJ},
		{name: "c.jr", word: 0x8002, does: jumps, reads: []int{7}},
		{name: "c.jalr", word: 0x9002, does: jumps, reads: []int{7}},
		{name: "c.beqz", word: 0xc001, reads: []int{7}, short: true, distance: riscvCB, values: signs},
		{name: "c.bnez", word: 0xe001, reads: []int{7}, short: true, distance: riscvCB, values: signs},
		{name: "jal", word: 0x6f, writes: []int{7}, distance: riscvJ},
		{name: "jalr", word: 0x67, does: jumps, even: true, reads: []int{15}, writes: []int{7}, distance: riscvI},
		{name: "jalr-same", word: 0x67, does: jumps, even: true, reads: []int{15}, writes: []int{7}, same: true,
			distance: riscvI},
		{name: "label", word: 0x13, does: switches, distance: []field{{1, 19, 0}}}, // of nop, within 512 KiB
		{name: "auipc", word: 0x17, does: takes, writes: []int{7}, distance: []field{{12, 20, 12}}},
		{name: "beq", word: 0x0063, reads: []int{15, 20}, distance: riscvB, values: pairs},
		{name: "bne", word: 0x1063, reads: []int{15, 20}, distance: riscvB, values: pairs},
		{name: "blt", word: 0x4063, reads: []int{15, 20}, distance: riscvB, values: pairs},
		{name: "bge", word: 0x5063, reads: []int{15, 20}, distance: riscvB, values: pairs},
		{name: "bltu", word: 0x6063, reads: []int{15, 20}, distance: riscvB, values: pairs},
		{name: "bgeu", word: 0x7063, reads: []int{15, 20}, distance: riscvB, values: pairs},
	},
}

var (
	riscvB  = []field{{1, 4, 8}, {5, 6, 25}, {11, 1, 7}, {12, 1, 31}}          // B-type
	riscvCB = []field{{1, 2, 3}, {3, 2, 10}, {5, 1, 2}, {6, 2, 5}, {8, 1, 12}} // CB-type
	riscvJ  = []field{{1, 10, 21}, {11, 1, 20}, {12, 8, 12}, {20, 1, 31}}      // J-type
	riscvCJ = []field{{1, 3, 3}, {4, 1, 11}, {5, 1, 2}, {6, 1, 7}, {7, 1, 6}, {8, 2, 9}, {10, 1, 8}, {11, 1, 12}}
	riscvI  = []field{{0, 12, 20}} // I-type
)
