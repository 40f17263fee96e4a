// Package extract makes a litmus test of a run: what its CPUs did with the words of memory
// that they share, as straight lines of loads, stores and fences, and the values that the
// loads saw as the condition.
//
// What it is: a recorder of a run that is made again (what compiled code loads and stores,
// and when each store took effect), a cut, which keeps the words by which the run isn't
// sequentially consistent, or all if it is, and a writer in herd7's syntax for X86_64.
//
// What it is not: it has no memory model. Whether a model allows what the test asks is for
// those to say that run it: kpsim litmus, herd7.
//
// Its rule: the test shows nothing that the run hasn't done. Loads may be left out, and
// words, but then in all threads; a fence is put only where the CPU held no store in the
// run. So the condition can be met under the model that the run was made under.
//
// # Limits
//
// Of compiled code only: what the kernel's routines in Go do with their variables (cells)
// isn't told instruction by instruction, so that a run whose order is in those can't be
// said. Branches are as the run took them, and values are constants: which value a later
// store has because of an earlier load isn't part of the test, as neither x86 nor its model
// asks. A word is as wide as its accesses; one that is accessed in pieces is left out, and
// so is one that the kernel changes. A thread has 15 loads at most, one a register. What
// the kernel does on a CPU between two accesses is one mfence, if the CPU held nothing
// after it, else nothing.
package extract
