// Package explore runs a scenario under a strategy, many times and in parallel, and
// returns what the runs showed together: how often each property was broken, a witness of
// each, and statistics.
//
// An exploration is 16 shards, or more of a long one (Deal). Each has a strategy of its own,
// makes its runs in order, and records what they show in a Part, which is plain data. A Seat
// makes shards on one machine. Merge adds Parts up, in one process or, by way of result files
// or of a campaign, from many computers. Stats estimate how much of
// all behaviours was seen. FirstWitness and Tournament measure how soon a search finds
// what it finds; SelfCheck compares replays of its runs.
//
// What it is not: it judges nothing. Monitors do, from events. It proves nothing; package
// proof does.
//
// Its rule: one rig a worker. The result depends neither on the number of workers nor on
// what their machines ran before.
//
// Its limits: a short exploration keeps at most 16 workers busy. The estimates assume that runs are
// independent draws, which a strategy that plans ahead doesn't make, and speak of the
// sample, which has seen less than all runs have.
package explore
