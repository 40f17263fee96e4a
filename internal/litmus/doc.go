// Package litmus is kpsim litmus: it reads litmus tests, runs them exhaustively on the
// simulated machine, and prints what such tests' readers expect.
//
// What it is: the command's flags, files and output. Packages x86test and ctest read the tests,
// package run runs them.
//
// What it is not: a memory model. A verdict under sc and tso is about the machine of package smp, as
// it runs any code; under lkmm it is that of package axioms.
//
// Its rule: the output depends on neither the number of workers nor the computer.
package litmus
