// Package fuzz searches among drawn programs (gen.Of), guided by what they show: a program
// that reaches something new is kept, and others are made from it, by drawing some of its
// parts anew, by plainer parts, or by parts of another. Each has few schedules, and more as
// long as these show something new.
//
// What it is not: it draws no scenario (gen), decides no schedule (sched) and judges
// nothing (properties).
//
// Its rule: what is found depends on the seed, and not on the workers or on time. Programs
// are made in batches of one size; a batch is planned from what the batches before it have
// shown, and what it has shown is taken in the order of its programs.
//
// A session can be divided among computers that share nothing but results: in rounds of
// islands (rounds.go). An island is a small session that one goroutine runs, from what all
// rounds but the one before its own have shown. Its result is data (island.go); islands are
// folded in order, and what is folded comes from strangers, so it is checked. An island says
// nothing that the session can plan or draw for itself. That its runs are what it says only
// running it again can tell.
//
// Its limit: coverage is what events tell (coverage.go), the instructions that were probed,
// and of a kernel's own engine its basic blocks. Which statements of the Go engine ran only
// a binary that was built with -cover knows (package cover).
package fuzz
