// Package replay runs a trace file again, and asks questions about its run.
//
// Play follows the file's schedule. Where the program has changed since, it searches for the
// deviations nearby (seek.go): a bounded search over the anchored replays of sched. Rerecord
// rewrites a file after such a change. Necessity removes one deviation after another; Nearest
// makes the nearest run that breaks nothing; Timeline records the machine's state at each event
// of a run, for the viewer.
//
// What it is not: it makes no trace smaller. Package shrink does.
//
// Its rule: a file may come from a stranger. Either it is refused with a one-line error that
// names it, or its run is bounded: in boundaries, and in the number of runs.
//
// Its limits: it searches for a deviation at up to 24 places, in up to 400 runs.
package replay
