// Package search is the map of what runs scenarios; the tests of more than one of its
// packages are here.
//
//	rig            one run: machine, kernel, engine, programs, probes, monitors
//	replay         a trace's run again; what each deviation is for; the nearest run that passes
//	shrink         a violating run made small
//	explore        many runs: shards, merging, statistics, tournaments, self-checks
//	results        result files of explorations
//	proof          every schedule instead of some
//	cause          which violations are taken for one
//	fuzz           drawn programs, guided by what they show
//	mutantsearch   how soon each mutant is found
//	blame          the choice by which a run was lost
//	twoengines     a run on two engines, compared
//	change         what a changed kernel does that the kernel as it is doesn't
//	session        a run by hand
//	parallel       jobs on all processors
//	searchtest     what their tests share
//
// Read rig.Rig.Run first, then explore.Run. Each imports only what is above it here, and
// parallel.
//
// Its rule: parallelism is many rigs, one to a worker, never inside one.
package search
