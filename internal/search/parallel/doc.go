// Package parallel deals jobs out to goroutines, one a processor.
//
// What it is not: it orders no results. Each job writes to a place of its own.
//
// Its rule: the jobs' results depend neither on the number of workers nor on time. A
// panic of a job ends the others and is panicked again in the caller's goroutine, as a
// *Crash.
package parallel
