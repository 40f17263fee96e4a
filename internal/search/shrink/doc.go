// Package shrink makes violating runs small: first the deviations of the schedule, then
// the scenario, then it moves deviations to where they read simpler, until nothing helps.
//
// A run counts as the same violation as long as its cause stays (cause.go): the property,
// the kind of the violating event, the place, and the state of the site concerned.
// Witnesses shrinks the runs that a search found (Found, plain data); File shrinks a trace
// file.
//
// What it is not: it finds nothing. It plays runs that a search has made.
//
// Its rule: the result replays, and depends on nothing but the run and the effort allowed.
//
// Its limits: at most 1,900 runs and 14 million questions for a property (witness.go); a
// witness may not be minimal then.
package shrink
