// Package scenario defines what is run (machine, text, probes, programs), and what is expected
// of all schedules. It is plain data with its checks, and rows that say what there is: settings of a
// machine, parts, steps of handlers with what each does, sources of interrupts.
//
//	sc, err := lang.Load("mine.star", src, open) // from a program
//	sc, err := library.Load("safe-full")         // a built-in one
//	err := scenario.Check(sc)                    // of one that was built in Go
//
// What it is not: it runs no scenario (rig does), and knows no file and no language. lang reads
// and prints scenarios, library has the built-in ones, gen draws them, edit makes
// them smaller, vet says what can be known of one without a run.
//
// Its rule: a scenario is self-contained: all text and data are in it by their
// bytes.
//
// Its limits: those of check.go. Names of properties and mutants are known to
// others (Expect.CheckNames).
package scenario
