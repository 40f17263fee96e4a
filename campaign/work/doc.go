// Package work is a worker: it takes units, one per core, and delivers their results.
//
// What it is not: it decides nothing, and keeps nothing but files that many units need.
//
// Its rule: a unit is acknowledged when its result is stored, not before. A worker may be killed at any time.
//
// Its limit: a unit that was begun is made, even if its campaign is cancelled meanwhile.
package work
