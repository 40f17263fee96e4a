// Package kpsimtest searches scenarios for races from your own go test.
//
//	func TestProbe(t *testing.T) {
//		kpsimtest.Never(t, "probe.star", kpsimtest.Runs(20000))
//	}
//
// A scenario is the name of a file that ends in .star, relative to the package's folder, the name of a built-in one,
// the Starlark text itself, or one that package build makes in Go and package draw draws with rapid. Never fails if a
// schedule breaks a property, Sometimes if none does, and Reaches if none executes a function.
// A failure writes the shrunk witness to testdata/TEST and prints the line that explains it.
//
// The same scenario, options and release of kpsim always give the same result: such a test doesn't flake. A wrong
// scenario or option fails the test; a bug of the simulator panics.
//
// What it is not: the command. Only kpsim itself has statistics, pages and shares.
//
// Its rule: this package, build and draw are the only ones that other modules import, besides traces, smp/smpev and
// kprobes/kpev for the events that Monitor and Each pass. Other packages may change in any release.
//
// Its limits: Never isn't a proof unless Deviations makes it one, up to that number of deviations. A Monitor's
// findings aren't shrunk.
package kpsimtest
