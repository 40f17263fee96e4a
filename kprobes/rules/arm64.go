package rules

// ofARM64 is arch/arm64/kernel/probes: decode-insn.c, whose forms are in asm/insn.h, and arch_prepare_kprobe.
var ofARM64 = numbers{
	arch: "arm64", align: 4, odd: inval, fixed: true,
	length: func(uint32) int { return 4 },
	sort:   func(k *Kernel, w uint64) (handling, ReasonKind) { return sortBy(armForms, k, uint32(w)) },
	around: betweenExclusives,
	quiz: &quiz{forms: [][]form{armForms}, broad: classes(0, 0xffe00000), plain: 0xd503201f,
		behind: []form{{mask: exclusive, is: exclusiveLoad}, {mask: exclusive, is: exclusiveStore}}},
}

// armForms are the forms that aarch64_insn_is_steppable and arm_kprobe_decode_insn tell apart (ARM ARM, C4,
// "A64 Instruction Set Encoding").
var armForms = []form{
	{mask: 0xbf000000, is: 0x18000000, how: simulated}, // ldr (literal)
	{mask: 0xff000000, is: 0x98000000, how: simulated}, // ldrsw (literal)
	{mask: 0xff000010, is: 0x54000000, how: simulated}, // b.cond
	// bc.cond: until 2ccd8ff980b5 (2026, taken to the stable series) its copy was stepped, and branched from there
	{mask: 0xff000010, is: 0x54000010, how: simulated, since: Edition69, copied: true},
	{mask: 0x7e000000, is: 0x34000000, how: simulated}, // cbz, cbnz
	{mask: 0x7e000000, is: 0x36000000, how: simulated}, // tbz, tbnz
	{mask: 0x1f000000, is: 0x10000000, how: simulated}, // adr, adrp
	{mask: 0x7c000000, is: 0x14000000, how: simulated}, // b, bl
	{mask: 0xfffffc1f, is: 0xd61f0000, how: simulated}, // br
	{mask: 0xfffffc1f, is: 0xd63f0000, how: simulated}, // blr
	{mask: 0xfffffc1f, is: 0xd65f0000, how: simulated}, // ret

	{mask: 0xfedff800, is: 0xd61f0800, how: rejected, why: Unsimulated}, // braa and the like, blraa and the like
	{mask: 0xfffffbff, is: 0xd65f0bff, how: rejected, why: Unsimulated}, // retaa, retab
	{mask: 0xff000000, is: 0xd8000000, how: rejected, why: Literal},     // prfm (literal)
	{mask: 0x3f800000, is: 0x08000000, how: rejected, why: Exclusive},
	{mask: 0x3b200c00, is: 0x19000400, how: rejected, why: Unsupported}, // memory copies and sets

	{mask: 0xff000000, is: 0xd4000000, how: rejected, why: Excepts},
	{mask: 0xffffffff, is: 0xd69f03e0, how: rejected, why: System}, // eret
	{mask: 0xfffffbff, is: 0xd69f0bff, how: rejected, why: System}, // eretaa, eretab
	{mask: 0xfff8f01f, is: 0xd500401f, how: rejected, why: System}, // msr (immediate)
	{mask: 0xfff00000, is: 0xd5100000, how: rejected, why: System}, // msr (register)
	{mask: 0xffffffe0, is: 0xd53b4220, how: rejected, why: System}, // mrs of daif, which is masked in a step

	{mask: 0xffffffff, is: 0xd503201f, how: stepped}, // nop
	{mask: 0xffffffff, is: 0xd50320ff, how: stepped}, // xpaclri
	{mask: 0xffffffbf, is: 0xd503211f, how: stepped}, // pacia1716, pacib1716
	{mask: 0xffffff9f, is: 0xd503231f, how: stepped}, // paciaz, paciasp, pacibz, pacibsp
	{mask: 0xffffff3f, is: 0xd503241f, how: stepped}, // bti
	{mask: 0xfffff01f, is: 0xd503201f, how: rejected, why: Hint},
}

// Exclusive loads and stores, as the kernel takes them (aarch64_insn_is_load_ex, aarch64_insn_is_store_ex).
const exclusive, exclusiveLoad, exclusiveStore = 0x3f400000, 0x08400000, 0x08000000

// mostBetween is how many instructions lie at most between an exclusive load and its store, as the kernel takes it:
// 128 bytes (MAX_ATOMIC_CONTEXT_SIZE).
const mostBetween = 32

// betweenExclusives refuses what is behind an exclusive load whose store hasn't come yet: the trap ends the
// reservation, and the sequence would never succeed (is_probed_address_atomic). Plain loads and stores with
// acquire and release count as exclusive there until 6.14, since their bit 23 isn't looked at.
func betweenExclusives(j *Judge, at int) Reason {
	for from := at - 4; from >= max(0, at-4*mostBetween); from -= 4 {
		switch uint32(j.wordAt(from)) & exclusive {
		case exclusiveStore:
			return Reason{}
		case exclusiveLoad:
			return Reason{Kind: BehindExclusive, At: from}
		}
	}
	return Reason{}
}
