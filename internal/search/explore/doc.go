// Package explore runs a scenario under a strategy, many times and in parallel. It returns how
// often each property was broken, a witness of each, and statistics.
//
// An exploration is divided into 16 shards, or more if it is long (Deal). Each shard has a
// strategy of its own, makes its runs in order, and records them in a Part, which is plain data.
// A Seat makes shards on one machine. Merge adds Parts up, in one process or, through result
// files or a campaign, from many computers. Stats estimates how much of all behaviour was seen.
// FirstWitness and Tournament measure how soon a search finds a violation; SelfCheck compares
// replays of its runs.
//
// What it is not: it judges nothing; monitors do, from events. It proves nothing; package proof
// does.
//
// Its rule: each worker has one rig. The result depends neither on the number of workers nor on
// what their machines ran before.
//
// Its limits: a short exploration keeps at most 16 workers busy. The estimates assume that runs
// are independent draws, which isn't so for strategies that plan ahead. They describe the sample,
// which has seen less than all runs have.
package explore
