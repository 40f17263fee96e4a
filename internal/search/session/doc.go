// Package session drives one run by hand. kpsim shell is built on it.
//
// The machine has a goroutine of its own and stands still between two calls of a Session. A
// thread on each CPU does what is requested for it. Otherwise a Session follows a trace or a
// strategy.
//
// What it is not: it reads no commands and prints nothing.
//
// Its limits: 256 probes may be added; a command may take a million boundaries.
package session
