// Package kapi is the narrow waist: what an engine that patches live code may
// ask of the kernel below it, as interfaces, plain values, and the cells that
// CPUs share.
//
// What it is not: it says nothing of how anything is done. smp/kernel
// implements it on the simulated machine; an engine (kprobes) imports kapi and
// nothing below.
//
// Where routines read or write a cell without a point and others may see it, they
// say so: Look, Touch.
//
// Its rule: a second engine beside kprobes needs no change here. Every access
// to a cell is a point at which the CPU may be lost.
package kapi
