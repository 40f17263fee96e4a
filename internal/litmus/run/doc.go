// Package run runs litmus tests on the simulated machine: all schedules, but of those
// that reach the same state of the machine only one.
//
// What it is: a Program, which is a test as the machine runs it (X86 is one of machine
// code: each thread is a function that a task of a CPU of its own calls; C is one in C:
// each thread is a routine that interprets it, over cells), and Search, which finds its
// final states and for each a schedule. Judge asks package axioms instead, about tests in C.
//
// What it is not: it has no memory model of its own. What a test may see is what
// package smp does. It parses nothing and prints nothing. RCU's sections and grace periods
// in C are package lkmm's, which promise what that model does; the kernel's own (package
// smp/kernel) promises more.
//
// Its rule: the outcomes are exactly those that the machine can reach. The tests compare
// them with an abstract machine of their own, with runs of every schedule, and with the
// verdicts of herd7.
//
// # Limits
//
// A schedule in which threads wait for each other in a loop for ever has no outcome;
// Result.Endless says that there is one. An instruction that reads and writes memory
// without a lock is one step under sc: two of them don't lose an update there.
//
// In C the machine performs a load after stores that don't depend on it, but not after a branch
// that its value decides, nor after a second use of its local (package ctest); so of some outcomes
// that Judge finds there is no schedule to tell. Tests with RCU aren't run under tso. Under lkmm a
// test of five threads can have more states than Search can visit.
package run
