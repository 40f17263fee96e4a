// Package x86 decodes and executes x86 instructions.
//
// It gives two rows of arch.Arch: AMD64 and I386.
//
// What it is not: it knows no machine. Registers and memory are handed in, and
// what an instruction asks of the machine is handed back as an Outcome. The
// state that a trap doesn't save (System) belongs to a CPU; instructions that
// need it ask memory for it.
//
// Its rule: never silently wrong. What it can't decode or execute is an error
// that names the bytes. An instruction does all that it does, or nothing.
//
// Its limits. 64-bit mode is whole for the general-purpose and the system
// instructions, BMI and ADX too; 32-bit protected mode is so for flat segments.
// Refused when executed: SSE, AVX, x87, MMX and fwait; I/O, for there are no
// ports; system calls; monitor and mwait, virtual machines, transactions, CET;
// lar and lsl, and selectors that aren't loaded already, for descriptors aren't
// modelled; hardware breakpoints; real and virtual-8086 mode. Refused too is
// what vendors disagree about: near branches with 66 in 64-bit mode, movsxd to
// 16 bits, far pointers of 64 bits, loope and loopne with f2 or f3.
//
// All code runs at privilege level 0. Paging is memory's business: control
// registers are checked and kept. A jump to an address that isn't canonical
// faults at its target, as on AMD's processors. What the SDM leaves undefined is
// said in undefined.go. Data accesses are done at once, in the order the machine
// steps; a repeated string instruction is one element a step.
//
// The files: layout (where the parts of an instruction lie), exist and tables (which
// opcodes there are), text and names (how they are written), decode and choose* (what
// they mean), inst (what is asked of an instruction), a file for each family of
// instructions (what they do), state (system registers, segments), rows (the two
// descriptions, and what patching writes), frame (the registers that a trap saves).
package x86
