// Package unit makes units of work: it is all that a worker does between taking a unit and
// delivering it.
//
// What it is not: it knows no network. What units before have shown it asks of a Source.
//
// Its rule: a unit's data is the same on any computer, to the last byte. How long it took isn't
// part of it.
//
// Its limit: one unit is made by one core.
package unit
