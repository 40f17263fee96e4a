// Package report prints one run: kpsim run, replay, explain, view, export, shrink and
// rerecord.
//
// What it is: one type a command, which has its flags and a method Run. Shared are how a
// finding is worded, how a deviation that no longer fits is described, and how a replayed
// run is prepared for traces/view.
//
// What it is not: it searches nothing (package findings does), and lays out no page
// (internal/viewer does).
//
// Its rules. A trace is replayed before anything is said of it, and what differs from the
// file is said. A trace is rewritten whole or left as it was.
//
// Its limits: a trace whose run doesn't end within its budget is explained as
// far as it goes.
package report
