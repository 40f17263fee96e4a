// Package flagstest tests every flag of a command line by giving it twice.
//
// What it is: a walk over a parser's commands, for the tests of programs that have one.
//
// What it is not: a test by itself; no program imports it.
//
// Its rule: it needs no list of commands or flags, so it can't miss one.
package flagstest
