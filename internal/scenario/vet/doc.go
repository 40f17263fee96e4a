// Package vet finds what is known about a scenario without running it: which probes the rules of
// its kernel refuse, which probes never get a jump and why, and which statements change no run.
//
// What it is not: it doesn't check that a scenario is well formed; scenario.Check does. Only
// Unused returns an error.
//
// Its rule: it reports only what holds in every schedule.
//
// Its limit: it doesn't follow a program, so an operation that is never reached counts as done.
package vet
