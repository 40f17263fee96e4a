// Package proctest has what tests need that run kpsim as a user does: the program,
// compiled once for all tests of a package, and how it has ended.
//
// What it is not: a test, or a part of kpsim.
package proctest
