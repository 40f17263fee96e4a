// Package unit makes units of work: it is all that a worker does between taking a unit and delivering it.
//
// What it is not: it knows no network. It reads results of earlier units from a Source.
//
// Its rule: a unit's data is the same on any computer, to the last byte. The time it took isn't part of it.
//
// Its limit: one core makes a unit.
package unit
