// Package kpev is the event vocabulary of kprobes: everything a monitor may learn about
// the engine.
//
// What it is: the kinds, their words, and the meaning of A, B and C of each. The rig calls
// the engine and runs its handlers, and so emits NoPre, ApiEnter, ApiReturn, Handler,
// Sysctl, NoJump and Returner. It also asks the engine for State and Listed. The others are
// the engine's own claims.
//
// What it is not: these events aren't the truth. Monitors check the engine's claims and
// never believe them.
//
// Its rule: all that is known of a kind is in its row (kinds.go), and the rows have the order of
// the constants. A new kind comes last.
//
// Its limits: a kind is never renumbered, because traces have the numbers in their digests.
package kpev
