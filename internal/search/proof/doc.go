// Package proof runs every schedule of a kind instead of drawing some: all schedules, or all that have at most a
// given number of deviations.
//
// By states (states.go): a schedule ends where another one reached the same state. A state is the machine, the
// kernel, the engine, the probes and the monitors, read by reflection (state.go, layout.go), without the fields that
// tags `state:"…"` leave out; a kernel routine's local variables are represented by the values that the routine has
// read. By classes (verify.go): of all schedules that differ only in the order of commuting steps one is run.
//
// What it is not: a proof of Linux. It is about one scenario in one model.
//
// Its rule: one in 256 merged states is continued from both histories, which must agree. A search that was cut short
// is never called complete.
//
// By states and without a bound, several workers run ahead of the search (crew.go, sched.Team), which uses their
// results instead of making those runs itself.
//
// Its limits: 64 CPUs, interrupts and sources for classes; one core for all classes, and for states under a bound.
package proof
