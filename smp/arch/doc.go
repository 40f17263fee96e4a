// Package arch is what code that belongs to no processor knows of one.
//
// Arch describes a processor: its registers, its breakpoint, its branches of fixed
// length, the frame that a trap leaves, how bytes are decoded. Each processor has a
// folder below this one and gives a row for each of its modes: x86.AMD64 and x86.I386.
// Package target names the row that the simulated kernel is built for.
//
// What it is not: it has no instruction, no register name and no opcode. The rule
// "arch" of the layer tests finds such literals outside smp/arch/x86 and files called
// arch_x86*.go or *_x86.go.
//
// Its rule: a row is data. It is made once and never changed, and its functions keep
// no state.
//
// The seam is data everywhere but in two places, where it is static. The machine
// executes some 10^8 instructions a second, so smp names the types of its processor's
// instructions and system registers, and the bits that each boundary looks at, in
// smp/arch_x86.go; it calls Inst.Exec without an interface. An engine that writes
// machine code, as kprobes does for its detours and trampolines, or emulates it, has
// files arch_x86*.go of its own.
//
// A third processor is a folder with a row; a file like smp/arch_x86.go, chosen by a
// build tag; and the arch files of the engines that are to run on it. smp/image, which
// reads x86's objects, and kprobes/rules, which has the kernel's own decoder, have no
// seam: each would be written anew. Trap vectors in traces are numbered as x86 does
// (smpev): another processor's causes get the number of the same meaning.
//
// Its limits: sixteen general registers, an instruction pointer and one word of flags;
// a fixed branch of at most eight bytes; little-endian memory.
package arch
