// Package replay runs a trace file again, and asks questions about its run.
//
// Play goes along the file's schedule. Where the program has changed since, it looks for
// the deviations nearby (seek.go): a bounded search over the anchored replays of sched.
// Rerecord writes a file anew after such a change. Necessity removes one deviation after
// the other; Nearest makes the nearest run that breaks nothing; Timeline takes down the
// machine's state at each event of a run, for the viewer.
//
// What it is not: it makes no trace smaller. Package shrink does.
//
// Its rule: a file may come from a stranger. It is refused with an error of one line that
// names it, or its run is bounded: in boundaries, and in the number of runs.
//
// Its limits: a deviation is looked for at 24 places at most, in 400 runs at most.
package replay
