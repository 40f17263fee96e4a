// Package litmus is kpsim litmus: it reads litmus tests, runs them exhaustively on the
// simulated machine, and prints what such tests' readers expect.
//
// What it is: the command's flags, files and output. Package x86test reads the tests,
// package run runs them.
//
// What it is not: a memory model. A verdict is about the machine of package smp, as it
// runs any code.
//
// Its rule: the output depends on neither the number of workers nor the computer.
package litmus
