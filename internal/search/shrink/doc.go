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
// Before that, a run of more than 250 deviations is coalesced: each CPU does in one go what it did
// in turn with others (coalesce.go). Where that doesn't help, strategies that switch rarely look
// for another run of the same violation (retell.go).
//
// Its limits: at most 1,900 runs and 14 million questions for a property (witness.go), and as many
// again where more than 250 deviations are left; a witness may not be minimal then.
package shrink
