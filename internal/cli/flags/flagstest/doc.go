// Package flagstest tries what each flag of a command line does that is given twice.
//
// What it is: a walk over a parser's commands, for the tests of the programs that have one.
//
// What it is not: a test by itself; no program imports it.
//
// Its rule: it needs no list of commands or flags, so that none is forgotten.
package flagstest
