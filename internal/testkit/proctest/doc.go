// Package proctest has what tests need that run kpsim as a user does: the program, compiled once for
// all tests of a package; processes of it that serve the command lines of scripts, one after another;
// and how a command has ended.
//
// What it is not: a test, or a part of kpsim.
package proctest
