// Package search runs a scenario under a strategy, many times and in parallel, and
// hands back what was observed: how often a
// property was broken, and a witness that is as small as it can be made.
//
// A violating run is shrunk (shrink.go, shrink_moves.go), deviations and scenario,
// as long as its cause stays (cause.go); Necessity says what each deviation left
// is for. A trace of another time is replayed, looked for nearby (seek.go),
// rerecorded.
//
// Of a run that breaks something FindNoReturn says with which choice it was
// lost: the ends of the runs that begin like it are sampled.
//
// Verify runs every schedule of a kind instead of drawing some (verify.go). To do so
// in full it tells states apart (verify_states.go, state.go): everything that kernel,
// engine and monitors remember is found by its type (layout.go), less what
// state_rules.go leaves out.
//
// What it is not: it judges nothing itself. Monitors do, from events alone.
//
// An exploration is 16 shards, each a strategy of its own that makes its runs in
// order; what one has shown is a Part, plain data. Merge adds Parts up, in one
// process or, by way of result files, from many computers. With the findings go
// Stats: how many behaviours a sample of the runs were and how likely one more
// run is a new one, which kinds of event were never seen, and where interrupts
// came; and, by FirstWitness, how soon a search finds what it finds.
//
// A Session (session.go) is one run that somebody steps by hand: kpsim shell stands on
// it. The machine has a goroutine of its own, which stands between two calls.
//
// Its rule: parallelism is many rigs, one to a worker, and never inside one; the
// result doesn't depend on how many workers there are, nor on what their machines
// have run before.
//
// Its limits: no more than 16 workers have something to do at once. The estimates
// take runs for independent draws, which a strategy that plans ahead doesn't
// make, and speak of the sample, which has seen less than all runs have.
//
// Read rig.Rig.Run first, then Explore.
package search
