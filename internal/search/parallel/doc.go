// Package parallel distributes jobs to goroutines, one per processor.
//
// What it is not: it doesn't order results. Each job writes to a place of its own.
//
// Its rule: the results depend neither on the number of workers nor on time. A job's panic ends
// the others and is raised again in the caller's goroutine, as a *Crash.
package parallel
