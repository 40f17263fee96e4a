package rules

import "slices"

// ofRISCV64 is arch/riscv/kernel/probes: decode-insn.c, whose forms are in asm/insn.h, and arch_prepare_kprobe.
// An instruction with an exception-table entry may be probed: a fault in its slot is taken to the original
// (kprobe_fault_handler).
var ofRISCV64 = numbers{
	arch: "riscv64", align: 2, odd: ilseq,
	length: func(w uint32) int {
		if w&3 == 3 { // GET_INSN_LENGTH
			return 4
		}
		return 2
	},
	sort: func(k *Kernel, w uint64) (handling, ReasonKind) {
		if w&3 != 3 {
			return sortBy(riscvHalves, k, uint32(w&0xffff))
		}
		return sortBy(riscvWords, k, uint32(w))
	},
	quiz: &quiz{forms: [][]form{riscvHalves, riscvWords}, plain: 0x00000013,
		broad: slices.Concat(classes(0, 0xe000, 0x1c00, 3), classes(3, 0x7c, 0x7000))},
}

// riscvWords are the forms of full instructions (vol. 1, "RV32/64G Instruction Set Listings"). Everything of the
// opcodes SYSTEM and MISC-MEM is refused.
var riscvWords = []form{
	{mask: 0xffffffff, is: 0x00100073, how: rejected, why: Breaks},
	{mask: 0x7f, is: 0x73, how: rejected, why: System},
	{mask: 0x7f, is: 0x0f, how: rejected, why: Fence},
	{mask: 0x7f, is: 0x6f, how: simulated},   // jal
	{mask: 0x707f, is: 0x67, how: simulated}, // jalr
	{mask: 0x7f, is: 0x17, how: simulated},   // auipc
	{mask: 0x7f, is: 0x63, how: simulated},   // branches
}

// riscvHalves are the forms of compressed ones ("C" chapter, "RVC Instruction Set Listings"). Until 6.5 those that
// change control were refused.
var riscvHalves = []form{
	{mask: 0xffff, is: 0x9002, how: rejected, why: Breaks},
	{mask: 0xe003, is: 0xa001, how: simulated, since: Edition69},             // c.j
	{mask: 0xf07f, is: 0x8002, not: 0xf80, how: simulated, since: Edition69}, // c.jr
	{mask: 0xf07f, is: 0x9002, not: 0xf80, how: simulated, since: Edition69}, // c.jalr
	{mask: 0xe003, is: 0xc001, how: simulated, since: Edition69},             // c.beqz
	{mask: 0xe003, is: 0xe001, how: simulated, since: Edition69},             // c.bnez
}
