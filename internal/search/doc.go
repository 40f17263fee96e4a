// Package search is the map of the packages that run scenarios; the tests of more than one of them are here.
//
//	rig            one run: machine, kernel, engine, programs, probes, monitors
//	replay         repeats a trace's run; the purpose of each deviation; the nearest run that passes
//	shrink         makes a violating run small
//	explore        many runs: shards, merging, statistics, tournaments, self-checks
//	results        result files of explorations
//	proof          every schedule instead of some
//	cause          which violations count as one
//	fuzz           drawn programs, guided by their coverage
//	mutantsearch   how soon each mutant is found
//	blame          the choice by which a run was lost
//	twoengines     a run on two engines, compared
//	change         how a changed kernel differs from the unchanged one
//	pairs          pairs of an operation and a state of its object, as coverage
//	small          all serial programs of a few calls, compared with a reference
//	session        a run by hand
//	parallel       jobs on all processors
//
// Read rig.Rig.Run first, then explore.Run. Each imports only packages above it here, and parallel.
//
// Its rule: parallelism is many rigs, one to a worker, never inside one.
package search
