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
// Its rule: what the kernel as it is does as well is never held against the change. What runs
// broke with the change only, or far more often, is held against it if chance doesn't explain
// that, with all comparisons of a review counted (odds.go); what few runs broke is played on the
// kernel as it is, and looked for in runs of the witness' program on both.
//
// # Limits
//
// Programs with data that isn't there aren't compared by answers.
// Which runs break what is compared in numbers: a race that the kernel has, and the change
// makes easier to hit, is told by that only. Findings that read alike are taken for one.
package change
