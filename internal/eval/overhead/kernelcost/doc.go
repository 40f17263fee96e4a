// Package kernelcost counts what a kernel's own code executes in a hit of a probe, and in
// the calls that put probes in and take them out.
//
// What it is: Of runs each kind of hit on one CPU by the uneventful schedule, with the
// engine that was compiled for the kernel (package linux), with objects laid over it or
// with a mutant. It counts instructions and lines of cache, and prices them by the costs
// of package overhead.
//
// What it is not: it measures no time, and searches for nothing. A run that breaks a
// property is counted all the same.
//
// Its rule: what is counted was executed. What isn't executed is told apart and priced by
// the model: an exception's entry and exit, handlers, and the functions that are done in
// Go, each of which is taken to be as many instructions as lie between its entry and its
// first return.
//
// # Limits
//
// Text is as it lies on disk: no alternative is applied, and indirect calls go through
// retpolines, each a mispredicted return, if the kernel was built with them. Returns go
// without a thunk. The trampoline of ftrace is a service. Of a call that registers a probe
// much is done in Go (locks, memory, symbols, writing text): the services say how often.
// Lines are 64 bytes; that they may have to be fetched is in no price, as the documents'
// figures are of warm caches.
package kernelcost
