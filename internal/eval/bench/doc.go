// Package bench does kpsim bench search: how fast the strategies are, and after how many
// schedules each finds each mutant.
//
// What it is not: it isn't a benchmark of the machine; go test -bench has those.
//
// Its rule: medians are the same each time, speeds are those of this computer.
//
// Its limits: a search that finds nothing within its bound counts as longer than the bound.
package bench
