// Package kpev is the event vocabulary of kprobes: everything a monitor may learn about
// the engine.
//
// What it is: the kinds, a row each (kinds.go), and the words of their numbers. The rig emits
// the kinds whose rows have Rig set: it calls the API, runs the handlers, and knows the
// scenario. The engine emits the others; State, Listed and Carries come from its adapter,
// which reads the engine's state (kprobes/plug; linux).
//
// What it is not: what the engine says isn't the truth. Monitors check its claims and never
// believe them.
//
// Its rule: all that is known of a kind is in its row (kinds.go), and the rows have the order of
// the constants. A new kind comes last.
//
// Its limits: a kind is never renumbered, because traces have the numbers in their digests.
package kpev
