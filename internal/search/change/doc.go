// Package change says what a changed kernel's engine does that the kernel as it is doesn't.
//
// What it is: a kernel with objects laid over it, or with a mutant, runs the same programs
// and scenarios as the kernel without. Serial programs, in which no schedule decides
// anything, are compared to the last register with kpsim's own engine, too, which is
// written after the rules. Of other scenarios it is compared which properties the runs
// broke, and how often.
//
// What it is not: it doesn't know whether a change was meant.
//
// Its rule: what the kernel as it is does as well is never held against the change. A
// property that runs broke with the change only is confirmed: without it, four times as many
// runs are made, and sixty-four times if few broke it, unless the runs are long.
//
// # Limits
//
// Programs with data that isn't there aren't compared by answers.
// Which runs break what is compared in numbers: a race that the kernel has, and the change
// makes easier to hit, is told by that only.
package change
