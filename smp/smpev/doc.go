// Package smpev is the event vocabulary of the machine, its kernel and the
// rig: all that a monitor may know of them.
//
// What it is: the kinds, their words, and what A, B and C of each are.
//
// What it is not: it has no word of an engine. An engine has a vocabulary of its own.
//
// Its rule: an event that is added goes into the table in the order of the constants.
//
// Its limits: a kind is never renumbered, because traces have the numbers in their digests.
package smpev
