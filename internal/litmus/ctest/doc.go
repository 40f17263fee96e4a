// Package ctest reads litmus tests in C, in the syntax of the kernel's memory model,
// and interprets their threads.
//
// What it is: a parser of the C that herd7 reads for that model (READ_ONCE, smp_*,
// atomic_*, xchg, cmpxchg, spinlocks, RCU, SRCU, if), and a Thread, which calls a Machine
// for each access, barrier and lock. The Machine is the memory: package lkmm in the
// tests here, cells of the simulated machine elsewhere.
//
// What it is not: it has no memory model. But a Thread may perform a relaxed load late,
// after stores that don't depend on it, if the Machine says so: that is load buffering,
// which a Machine that performs what it is asked at once can't show. And a Thread knows
// on which loads an address, a value or a branch depends, and says so.
//
// Its rule: never silently wrong. What isn't covered is an error that names the file, the
// line and the remedy.
//
// Verdicts under lkmm aren't a Thread's: package axioms has them. A Thread shows a schedule.
//
// The exam: the public collection of the memory model's maintainer, whose tests say in
// comments what herd7 found. TestCollection runs it if KPSIM_LITMUS_C names its folder, in
// some minutes. Of 2,173 that are Never none is seen, 226 of which were too large to be
// searched to the end; of 2,462 that are Sometimes 2,354 are seen (95.6 %). Of the
// others 54 were too large, all with RCU and seven threads or more, 41 need a load that
// guesses past an if, 8 what compilers do to plain accesses, and 5 are named with their
// reason in the test.
//
// # Limits
//
// No loops, structs with members, arrays, functions or macros. A Thread's plain accesses are as
// READ_ONCE and WRITE_ONCE. It shows no load that is late past a branch on its value, or past
// another value of its local. All numbers are signed and of 64 bits. A condition's branch orders the
// stores in its body and none after it. At most 64 threads, 256
// locations, 1,024 instructions a thread, seven SRCU structs. LISA isn't read.
package ctest
