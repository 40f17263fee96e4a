// Package bench implements kpsim bench search: how fast the strategies are, and after how many schedules each finds
// each mutant.
//
// What it is not: a benchmark of the machine; go test -bench is that.
//
// Its rule: medians are the same each time, speeds are those of this computer.
//
// Its limits: a search that finds nothing within its bound counts as longer than the bound.
package bench
