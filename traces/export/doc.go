// Package export writes a run for other tools: ftrace's text, trace-cmd's file,
// Chrome's trace events, JSON lines. The command has two more formats: columns for a
// mail (view.Columns) and a litmus test (internal/litmus/extract).
//
// What it is not: a format of its own. Only a trace file (package traces) can be
// replayed; none of these can.
//
// Its rule: use each tool's own words where it has some (a switch of tasks is
// sched_switch), and the page's words where it has none. Only data of the scene is
// written.
//
// # Limits
//
// A timestamp is the run's time, in cycles as if at 1 GHz: the clock of the
// CPU, but later than the previous event of any CPU. So events are in the order in
// which they happened, and a CPU that stood still has no events in between. Timestamps
// aren't durations. In ftrace's formats whether interrupts are off isn't known, nor how
// deep preemption is disabled; all priorities are 120; times have no clock but the run's.
package export
