// Package kapi is the narrow waist: what an engine that patches live code may
// ask of the kernel below it, as interfaces, plain values, and the cells that
// CPUs share.
//
// What it is not: it says nothing of how anything is done. smp/kernel
// implements it on the simulated machine; an engine (kprobes) imports kapi and
// nothing below.
//
// A routine that reads or writes a cell without a point, where others may see it,
// says so: Look, Touch, Mark.
//
// Its rule: it has no word of an engine (a test at the root looks), so that another
// engine needs no change here. What an engine has of its own it defines when its
// package is initialised: kinds of work (DefineWork), stubs (DefineStub), and the
// numbers in events that smpev names; kinds of memory are given to the kernel when
// it is built (Memory). Every access to a cell is a point at which the CPU may be
// lost.
package kapi
