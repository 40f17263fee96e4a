// Package rules says what a kernel answers when a byte of a function is to be
// probed: the errno of register_kprobe, whether the instruction is stepped,
// boosted or emulated, and whether a jump may replace it, with the reason.
//
// What it is not: it probes nothing, and it runs nothing. Functions come as
// bytes with the facts of their text; verdicts are plain values.
//
// Its rule: as the kernel sees it, not as the processor does. The kernel has an
// instruction decoder of its own, which takes some bytes for shorter or longer
// instructions than a processor would, and which decides. Where the two differ
// the kernel's answer is the right one here.
//
// The answers of Linux 6.1.192 and 6.12.113 were recorded (TestOracle). Those of
// other editions follow from what is known of their kernels (TestErrnoByEdition,
// TestFactsByEdition, TestStep, TestSlot, TestOptimize): they differ in what
// register_kprobe checks, in which instructions a detour may copy, and in how
// the copy is stepped. As everywhere an edition is the last kernel of its era
// without the era's faults, those that were mended later as such.
//
// Its limits: 64-bit mode. In the editions 2.6 and 4.15 the decoder's tables are
// those of 6.1, which knows instructions that came after 4.19 (endbr64, and
// vectors); and what 4.19 makes of one that is longer than 15 bytes is a guess.
// A jump through a register or memory, which 4.19 boosts once it has stepped it,
// isn't called boosted. Functions are asked for by symbol: by address, freed
// init text is -EINVAL in 4.15. One function is judged at a time; a second probe
// within the region is the engine's business.
//
// The files: rules (kernels, functions, verdicts), reason (why), decode, table*
// (the kernel's decoder), class (what kprobes makes of an opcode), judge
// (verdicts), copy (what is written out of line).
package rules
