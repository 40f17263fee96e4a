// Package cycles has the cost of each event of the machine, in cycles of the CPU on
// which it happens.
//
// What it is not: it doesn't know how events come about, and no search strategy reads a
// clock.
//
// Its rule: a figure is the sum of the events that happened, never a separate formula.
//
// Its limits: the nominal profile's numbers are assumptions, meant only as orders of
// magnitude. Those of real machines, and their sources, are in internal/eval/overhead.
// Of the caches only the lines of shared cells, run queues and watched text are
// modelled, on machines with costs: a cell has a line of its own, all CPUs are equally
// far from each other, and memory that guest text shares has no lines.
package cycles
