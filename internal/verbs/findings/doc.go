// Package findings runs searches and prints what they show: kpsim explore, merge, verify,
// fuzz and compare.
//
// What it is: one type for each command, which has its flags and a method Run. explore.go loads
// and checks scenarios, search.go runs them and saves witnesses, judge.go makes a row of
// each property, thorough.go says how much a Never means, print.go prints rows. merge.go
// combines the files that explore --out has written. beforehand.go and unhit.go say what a scenario
// can't show.
//
// What it is not: it decides nothing about a run; internal/search does.
//
// Its rules. Standard output is the same each time, but for schedules_per_s in JSON. Every
// scenario is loaded, checked and run once before the first is explored. A witness is
// written whole; one that can't be saved is printed.
//
// Its limits: how many runs a scenario gets by default follows from its length, not from
// what was found in it.
package findings
