// Package kernelcost counts the instructions that a kernel's own code executes in a hit of a probe, and in the calls
// that register and unregister probes.
//
// What it is: Of runs each kind of hit on one CPU by the uneventful schedule, with the engine that was compiled for
// the kernel (package linux), with objects laid over it or with a mutant. It counts instructions and lines of cache,
// and prices them by the costs of package overhead.
//
// What it is not: it measures no time, and searches for nothing. A run that breaks a property is counted all the
// same.
//
// Its rule: only executed code is counted. Everything else is counted separately and priced by the model: an
// exception's entry and exit, handlers, and the functions implemented in Go, each of which counts as many
// instructions as lie between its entry and its first return.
//
// # Limits
//
// Text is as on disk: no alternative is applied, and indirect calls go through retpolines, each a mispredicted
// return, if the kernel was built with them. Returns go without a thunk. The trampoline of ftrace is a service. Much
// of a call that registers a probe is done in Go (locks, memory, symbols, writing text): the services say how often.
// Lines are 64 bytes; no price includes fetching them, because the documents' figures are with warm caches.
package kernelcost
