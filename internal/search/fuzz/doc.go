// Package fuzz searches among drawn programs (gen.Of), guided by their coverage. A program that
// reaches something new is kept, and others are made from it: some parts are drawn again, made
// plainer, or taken from another program. Each program is run with a few schedules, and with more
// while they show something new.
//
// What it is not: it draws no scenario (gen), decides no schedule (sched) and judges nothing
// (properties).
//
// Its rule: the result depends on the seed, not on the workers or on time. Programs are made in
// batches of fixed size. A batch is planned from the results of earlier batches, and its own
// results are taken in the order of its programs.
//
// A session can be divided among computers that share only results, in rounds of islands
// (rounds.go). An island is a small session run by one goroutine, which starts from the results
// of all rounds except the one before its own. Its result is data (island.go). Islands are folded
// in order and checked, because they come from strangers. An island contains nothing that the
// session can plan or draw itself. Whether its runs are as stated can only be checked by
// repeating them.
//
// Its limit: coverage is derived from events (coverage.go), from the probed instructions and, for
// a kernel's own engine, from its basic blocks. Statement coverage of the Go engine needs a
// binary built with -cover (package cover).
package fuzz
