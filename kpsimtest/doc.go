// Package kpsimtest searches scenarios of races from your own go test.
//
//	func TestProbe(t *testing.T) {
//		kpsimtest.Never(t, "probe.star", kpsimtest.Runs(20000))
//	}
//
// A scenario is the name of a file that ends in .star, relative to the package's
// folder, the name of one that is built in, or the Starlark text itself. Never fails
// if a schedule breaks a property, and Sometimes if none does. A failure writes the
// shrunk witness to the package's testdata and prints the line that explains it.
//
// The same scenario, options and release of kpsim always give the same result:
// such a test doesn't flake. What is wrong with a scenario or an option fails the
// test; a bug of the simulator panics.
//
// What it is not: the command. Statistics, pages and shares are kpsim's alone.
//
// Its rule: this is the only package that other modules import, besides traces,
// smp/smpev and kprobes/kpev for the events that Monitor hands over. What else
// isn't internal may change in any release.
//
// Its limits: Never is no proof unless Deviations makes it one, and that holds for
// that many deviations. A Monitor's findings aren't shrunk.
package kpsimtest
