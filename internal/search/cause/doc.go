// Package cause says which violations are taken for one.
//
// What it is: the cause of a witness is the known finds that it looks like (like.go) or, where
// it looks like none, the words of its message and of the last sentence of its explanation,
// without numbers, places and the scenario's names. fuzz, explore, review and campaigns take
// two witnesses of one engine with the same property and the same cause for one find.
//
// What it is not: it proves nothing. A fault that shows in two ways has two causes here, and
// two faults that end in the same words have one.
//
// Its rule: a cause depends on the witness alone, not on where it was found.
//
// Its limit: the faults that a kernel is known for are those of docs/findings.md that have a
// sign or a mutant, and of --as-shipped the faults that it brings back.
package cause
