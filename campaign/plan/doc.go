// Package plan is what a campaign is, as data: its searches, and the units of work that they are divided into.
//
// What it is not: it runs nothing but each scenario's default run, to learn how long runs are.
//
// Its rule: the division depends only on the search, and not on the workers.
//
// Its limit: a campaign is one message to each worker, so it must fit into memory.
package plan
