// Package review says what a change of a kernel's engine does: kpsim review.
//
// What it is: two kernels, or one with and without objects laid over it, run the same
// scenarios, the same kept and drawn programs under as many schedules, and the same hits.
// What only one of them does is put together on one page, for the terminal, a browser or a
// mail, with the witnesses beside it. Two kpsims that were built from two checkouts are compared
// by what they print as JSON.
//
// What it is not: it compiles nothing, and it doesn't know whether a change was meant. That
// nothing was found is no proof.
//
// Its rule: both sides are run alike, and a finding on one was looked for on the other, in four
// times as many runs. The change is accused only by odds that count all comparisons (package
// change).
//
// # Limits
//
// Machine code is compared, not C: a compiler that orders a function anew makes much of it
// differ. Lines are known as far as the objects, or a vmlinux beside the kernel, have debug
// information. A line counts as reached if one of its instructions was executed. What each
// hit costs is counted on one CPU and an uneventful schedule (package kernelcost).
package review
