// Package report implements the commands that print one run: kpsim run, replay, explain, view,
// export, shrink and rerecord.
//
// What it is: each command is a type with its flags and a method Run. The commands share the
// wording of a finding, the description of a deviation that no longer fits, and the preparation
// of a replayed run for traces/view.
//
// What it is not: it doesn't search (package findings does), and it doesn't lay out pages
// (internal/ui/viewer does).
//
// Its rules. A trace is replayed before anything is said about it, and every difference from the
// file is reported. A trace is either rewritten completely or left unchanged.
//
// Its limits: if the run of a trace exceeds its budget, explain describes it as far as it goes.
package report
