// Package shrink makes violating runs small. It removes deviations of the schedule, then parts of
// the scenario, then moves deviations to where they read simpler, until nothing helps.
//
// A run counts as the same violation as long as its cause stays (cause.go): the property, the
// kind of the violating event, the place, and the state of the site concerned. Witnesses shrinks
// the runs that a search found (Found, plain data); File shrinks a trace file.
//
// What it is not: it doesn't search. It replays runs that a search has made.
//
// Its rule: the result replays, and depends only on the run and the allowed effort.
//
// A run of more than 250 deviations is first coalesced: each CPU makes in one go the steps that
// it made in turn with others (coalesce.go). Where that doesn't help, strategies that switch
// rarely search for another run of the same violation (retell.go).
//
// Its limits: it makes at most 1,900 runs with 14 million questions for a property (witness.go),
// and as many again while more than 250 deviations are left. A witness may then not be minimal.
package shrink
