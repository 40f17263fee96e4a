// Package unit makes units of work: it is all that a worker does between taking a unit and delivering it.
//
// A unit is a range of shards of an exploration (explore.Deal), an island of a fuzzing session, a proof of one
// scenario, or work that follows from those: a canary, a witness.
//
// What it is not: it knows no network. It reads results of earlier units from a Source.
//
// Its rule: a unit's data is the same on any computer, to the last byte. The time it took isn't part of it.
//
// Its limit: one core makes a unit.
package unit
