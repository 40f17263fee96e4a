// Package byhand is what a scenario's tasks do to text themselves, as a JIT, a hook or an instrumentation tool does:
// stores of chosen bytes, breakpoints of their own, memory for code, waits. Each is one call of a patcher that a user
// describes step by step; package act has an operation for each.
//
// What it is not: a patcher. It takes no lock, refuses nothing, and serialises no CPU unless it is told to. Whether the
// order of the steps is right is what a search finds out. The kernel's own patchers are elsewhere (smp/kernel, engine).
//
// Its rule: what stores to text says before which instructions the text then has (smpev.Image), in the step in
// which it has read what surrounds the bytes. So a CPU that runs what stood there before, or what stands there
// afterwards, runs a whole instruction, and one that comes between two stores of one call may not.
//
// Its limits: memory for code comes and goes in whole pages, at addresses that the scenario gives. Tasks are the
// kernel's, and what membarrier and a signal do to a thread of user mode is an IPI to its CPU.
package byhand
