// Package served has kpsim run many command lines in one process, one after another, for tests
// that run thousands: to start a process costs more than most of them.
//
// What it is not: it is no part of kpsim. proctest adds a call of Serve to the program that it
// compiles.
package served
