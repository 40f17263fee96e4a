// Package cause decides which violations count as one find.
//
// What it is: the cause of a witness is the known finds that it resembles (like.go). If it
// resembles none, it is the words of the message and of the explanation's last sentence, without
// numbers, places and the scenario's names. fuzz, explore, review and campaigns treat two
// witnesses of one engine with the same property and cause as one find.
//
// Behind makes an exploration go on after known finds, so that they hide nothing.
//
// What it is not: it proves nothing. A fault that shows in two ways has two causes here, and two
// faults that end in the same words have one.
//
// Its rule: a cause depends on the witness alone, not on where it was found.
//
// Its limit: the known faults of a kernel are those of docs/findings.md that have a sign or a
// mutant. For --as-shipped they are the faults that it restores. What always follows a known
// find can't be told from a second fault; it counts as broken.
package cause
