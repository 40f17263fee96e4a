// Package sim is the ground floor: choice, clock, fibre, random numbers.
//
// What it is: the one method through which all nondeterminism enters a run (Chooser), the coroutines that kernel
// routines run on (Fibre), simulated time, and a generator of random numbers whose streams never change.
//
// What it is not: it knows no CPU, no kernel, no probe. A mover is a number.
//
// Its rule: a run is a function of its list of answers. Nothing here reads a clock, starts a goroutine by itself, or
// depends on a Go release.
//
// Its limits: at most 64 CPUs and 64 interrupt sources a machine.
package sim
