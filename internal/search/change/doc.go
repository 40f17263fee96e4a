// Package change finds what a changed kernel's engine does and the unchanged kernel doesn't.
//
// What it is: a kernel with a mutant, or with objects laid over it, runs the same programs and
// scenarios as the unchanged kernel. Serial programs don't depend on a schedule, so they are also
// compared, to the last register, with kpsim's own engine, which implements the rules. For other
// scenarios it compares which properties the runs broke, and how often.
//
// What it is not: it doesn't know whether a change was intended.
//
// Its rule: a behaviour that the unchanged kernel shares is never reported. A property that runs
// break only with the change, or far more often, is reported if chance doesn't explain it, taking
// all comparisons of a review into account (odds.go). If few runs broke it, their schedule is
// replayed on the unchanged kernel, and both are run near that schedule, and with the witness' program.
//
// What the unchanged kernel shows is kept (baseline.go) under the digests of the kernel and of the program. If the
// runs of a scenario don't come to a function that differs there, the changed kernel makes only a handful of them:
// changes of data that no changed function reads are left to the serial programs.
//
// A review searches many scenarios in rounds (Beside), and divides a budget among them (budget.go). What runs cost is
// counted in instructions, never in time.
//
// # Limits
//
// Programs with absent data aren't compared by answers. Scenarios are compared by the numbers of
// runs that break something: a race of the kernel that the change makes easier to hit shows only
// in these numbers. Findings that read alike count as one.
package change
