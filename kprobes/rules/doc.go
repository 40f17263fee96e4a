// Package rules answers as a kernel would when a byte of a function is probed: the
// errno of register_kprobe, whether the instruction is stepped, boosted or emulated,
// and whether a jump may replace it, with the reason.
//
// What it is not: it probes nothing and runs nothing. Functions come as bytes with the
// facts about their text; verdicts are plain values.
//
// Its rule: judge as the kernel does, not as the processor would. The kernel has an
// instruction decoder of its own, which takes some bytes for shorter or longer
// instructions than a processor would. Where the two differ, the kernel's answer is the
// right one here.
//
// The engine and kpsim check use these answers, so that both agree on what may be probed.
//
// The answers of 6.1.192 and 6.12.113, and of 6.1.176 on i386, were recorded (TestOracle).
// Those of other editions follow from what is known about their kernels (TestErrnoByEdition,
// TestFactsByEdition, TestStep, TestSlot, TestOptimize). Editions differ in what
// register_kprobe checks, in which instructions a detour may copy, and in how the copy
// is stepped. As everywhere, an edition is the last kernel of its era with
// later bug fixes applied.
//
// Its limits: in the editions 2.6 and 4.15 the decoder's tables are those of 6.1, which
// know instructions that came after 4.19 (endbr64, and vectors); how 4.19 treats an
// instruction longer than 15 bytes is a guess. 4.19 boosts a jump through a
// register or memory after stepping it once; it isn't reported as boosted. Functions are
// looked up by symbol; a lookup by address, for which 4.15 returns -EINVAL in freed init
// text, isn't modelled. One function is judged at a time; the engine handles a second probe within
// the region.
//
// The files: config (what a kernel is built with), named (functions known by
// name), rules (kernels, functions, verdicts), reason (reasons), decode, table*
// (the kernel's decoder), class (kprobes' view of an opcode), judge (verdicts), copy
// (out-of-line copies).
package rules
