// Package plan is what a campaign is, as data: its searches, and the units of work that they are
// divided into.
//
// What it is not: it runs nothing but each scenario's default run, to know how long runs are.
//
// Its rule: how a search is divided depends on what is searched, and not on who will make it.
//
// Its limit: a campaign is one message to each worker, so it is to fit into memory.
package plan
