// Package review finds the effects of a change to a kernel's engine: kpsim review.
//
// What it is: two kernels, or one with and without objects laid over it, run the same scenarios,
// the same kept and drawn programs, and the same hits: few runs of everything first, then more where
// the change is reached (rounds.go). The differences are put on one page, for the terminal, a browser
// or a mail, with their witnesses.
// Two kpsims built from two checkouts are compared by their JSON output. A patch is applied to a copy of the source and
// compiled first (patch.go). What the unchanged kernel shows is kept (change.Baseline), which changes no result.
//
// What it is not: it doesn't know whether a change was intended. Finding nothing proves nothing.
//
// Its rule: both sides run the same, and a finding on one is searched for on the other in up to
// four times as many runs. How much is run depends on a budget in instructions, not on time. A change
// is only reported if the odds, with all comparisons counted, exclude chance (package change).
//
// # Limits
//
// Machine code is compared, not C: if a compiler reorders a function, much of it differs. Lines
// need debug information in the objects, or in a vmlinux beside the kernel. A line counts as
// reached if one of its instructions was executed. The cost of a hit is counted on one CPU in an
// uneventful schedule (package kernelcost).
package review
