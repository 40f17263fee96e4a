// Package vet says what is known of a scenario without a run: which probes the
// rules of its kernel refuse, which probes never get a jump and why, and what it
// says that changes no run.
//
// What it is not: it doesn't check that a scenario is well formed; that is
// scenario.Check. Nothing here is an error but Unused.
//
// Its rule: it says only what holds in every schedule.
//
// Its limit: it doesn't follow a program, so an operation that is never reached
// counts as done.
package vet
