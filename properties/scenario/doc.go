// Package scenario says what is run: machine, text, probes, programs. Starlark
// comes in, a plain Go value is made of it, Starlark goes out again.
//
// What it is not: it runs nothing. No Starlark runs during a simulation.
//
// Its rule: a scenario that is printed is self-contained. Functions of object
// files are flattened to their bytes, so that a trace can be mailed.
package scenario
