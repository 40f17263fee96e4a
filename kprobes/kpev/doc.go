// Package kpev is the event vocabulary of kprobes: what a monitor may know of
// the engine.
//
// What it is: the kinds, their words, and what A, B and C of each are. The rig calls the
// engine and runs its handlers, and so emits NoPre, ApiEnter, ApiReturn, Handler, Sysctl,
// NoJump and Returner. It also asks the engine for State and Listed. The others are the
// engine's own claims.
//
// What it is not: nothing here is the truth. Monitors check the engine's claims and never
// believe them.
//
// Its rule: an event that is added goes into the table in the order of the constants.
//
// Its limits: a kind is never renumbered, because traces have the numbers in their digests.
package kpev
