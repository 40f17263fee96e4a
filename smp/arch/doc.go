// Package arch is what code that belongs to no processor knows of one.
//
// Arch describes a processor: its registers, its breakpoint, its branches of fixed
// length, the frame that a trap leaves, what a CPU may fetch of text that changes, how
// bytes are decoded. Op is what a machine looks at of an instruction, System the state that
// a trap doesn't save. Each processor has a folder below this one and gives a row for each of
// its modes: x86.AMD64 and x86.I386, riscv64.RV64, arm64.ARM64, ppc64.PPC64. Package target
// lists them.
//
// What it is not: it has no instruction, no register name and no opcode. The rule
// "arch" of the layer tests finds such literals outside the folders of processors and files
// called arch_x86*.go or *_x86.go.
//
// Its rule: a row is data. It is made once and never changed, and its functions keep
// no state. Which processor a machine has comes from the machine: there is no processor of
// the program, and no switch over processors. Where code needs to know more of a processor, the
// row gets a field that says what is so, and not which processor it is.
//
// A machine executes some 10^8 instructions a second, and a call through an interface costs an
// eighth of that. So a processor's instruction begins with an Op, whose Run is called by its
// pointer. Everything else goes by interface.
//
// Another processor is a folder here, with
//
//   - instructions (Inst, decoded once; Run chosen then), which refuse by name what they don't
//     execute,
//   - a System, and the frame of a trap,
//   - a row,
//
// and a line in target's rows. Functions and patchers that are given as bytes run then, under all
// fetch models, and are searched, proved, replayed and shown. What a kernel does by itself on
// that processor (target.Service) is refused by name until an engine has it: a row of kprobes and
// a decoder of kprobes/rules, the engines that write sites, smp/image's relocations. Jump labels need fields of the
// row alone: Labels, BreakpointFirst. TestToy builds such a processor of ten instructions from
// testdata/toy.
//
// Trap vectors in traces are numbered as x86 does (smpev): another processor's causes get the
// number of the same meaning.
//
// Its limits: 34 general registers, an instruction pointer and one word of flags; a fixed branch of
// at most eight bytes; little-endian memory; instructions of at most 15 bytes.
package arch
