// Package extract makes a litmus test of a run: what its CPUs did with the words of memory
// that they share, as straight lines of loads, stores and fences, and the values that the
// loads saw as the condition.
//
// What it is: a recorder of a run that is made again (what compiled code loads and stores, what
// kernel routines do with their variables, and when each store took effect), a cut, which keeps
// the words by which the run isn't sequentially consistent, or all if it is, and a writer in
// herd7's syntax: X86_64, or C for the kernel's memory model if variables of the kernel's
// routines are among the words.
//
// What it is not: it has no memory model. Whether a model allows what the test asks is for
// those to say that run it: kpsim litmus, herd7.
//
// Its rule: the test shows nothing that the run hasn't done. Accesses may be left out, and what
// orders them; a fence is put only where the run has had one, or where the CPU held no store.
// So the condition can be met under the model that the run was made under.
//
// # Limits
//
// Branches are as the run took them, and values are constants: on which loads a store depends
// isn't part of the test. x86 doesn't ask that; under the kernel's model the test may allow more
// than the program, and so may one of a run in which an interrupt's entry, a lock's own rules or
// a grace period keep an order, which have no verb here. Under sc what kernel routines do isn't
// known, but that they ran: it is one mfence if the CPU held nothing after it. Of variables the
// values are numbers, by the order of their stores; what initialises them during a run, or
// changes run queues, isn't told. A word of compiled code is as wide as its accesses; one that
// is accessed in pieces is left out, and so is one that the kernel changes. A thread of X86_64
// has 15 loads at most, one a register.
package extract
