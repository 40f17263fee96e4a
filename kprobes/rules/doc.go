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
// The answers of Linux 6.1.192 and 6.12.113 were recorded (oracle_test.go).
// Those of other editions follow from what is known of their kernels: they
// differ in what register_kprobe checks, in which instructions a detour may
// copy, and in how the copy is stepped.
//
// Its limits: 64-bit mode. In the editions 2.6, 4.15 and 5.14 the decoder's
// tables are those of 6.1, which knows some newer vector instructions.
//
// The files: rules (kernels, functions, verdicts), reason (why), decode, table*
// (the kernel's decoder), class (what kprobes makes of an opcode), judge
// (verdicts), copy (what is written out of line).
package rules
