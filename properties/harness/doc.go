// Package harness builds a machine from a scenario, runs it under a strategy,
// many times and in parallel, and hands back what was observed: how often a
// property was broken, and a witness that is as small as it can be made.
//
// Of a run that breaks something FindNoReturn says with which choice it was
// lost: the ends of the runs that begin like it are sampled.
//
// What it is not: it judges nothing itself. Monitors do, from events alone.
//
// Its rule: parallelism is many rigs, one to a worker, and never inside one; the
// result doesn't depend on how many workers there are.
//
// Read Rig.Run first, then Explore.
package harness
