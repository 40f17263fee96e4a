// Package smpev is the event vocabulary of the machine, its kernel and the
// rig: all that a monitor may know of them.
//
// What it is: the kinds, a row each (kinds.go), and the words of their numbers.
//
// What it is not: it has no word of an engine. An engine has a vocabulary of its own.
//
// Its rule: all that is known of a kind is in its row. No other package lists its arguments.
//
// Its limits: a kind is never renumbered, because traces have the numbers in their digests.
package smpev
