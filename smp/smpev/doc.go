// Package smpev is the event vocabulary of the machine, its kernel and the
// rig: all that a monitor may know of them.
//
// What it is: the kinds, with a row for each (kinds.go), and the words of their numbers.
//
// What it is not: it has no word of an engine. An engine has a vocabulary of its own.
//
// Its rule: all that is known of a kind is in its row. No other package lists its arguments.
//
// Its limits: at most 64 kinds. None is renumbered, because traces have the numbers in their
// digests: a new one comes last.
package smpev
