// Package mutate lists faults that can be put into a kernel's own code, as bytes.
//
// What it is: a lister that decodes the closure of a kernel. Each mutant replaces one
// instruction by others of the same length: a call is skipped, a condition inverted, a
// jump taken always or never, a store dropped, a comparison off by one, an interrupt flag
// left as it is. A mutant has a readable name and needs no source.
//
// What it is not: it changes no image and runs nothing. Package linux lays the bytes of a
// mutant over a kernel.
//
// Its rule: a name says what is broken and where, by symbol, callee and offset. So a build
// of a kernel has the same mutants on every computer, and a seed draws the same ones (Draw).
//
// # Left out
//
// No mutants are made of stateless helpers (the set plain), functions of .init.text, stores
// to the stack frame, the check of the stack canary, jumps to a WARN or BUG, and prints.
//
// # Limits
//
// On riscv64 no comparison is off by one. Beside x86 a fence of instructions (fence.i, isb, isync) is dropped, too. A
// store on condition of Power is dropped as one that succeeds.
//
// A mutant may be equivalent to the kernel; this package can't tell. Instructions in
// replacements of alternatives aren't mutated.
package mutate
