// Package scenario says what is run: machine, text, probes, programs. Starlark
// comes in, a plain Go value is made of it, Starlark goes out again.
//
//	s, err := scenario.Load("mine.star", src, open) // docs/scenarios.md is the reference
//	s.String()                                      // the program that builds s again
//	scenario.Parse("mine.kps", text)                // reads that without Starlark: a trace comes by mail
//	scenario.LoadBuiltin("safe-full")               // library/safe-full.star
//	s.Smaller()                                     // what can be left out of s (shrink.go)
//
// What it is not: it runs nothing. No Starlark runs during a simulation.
//
// Its rules: a scenario that is printed is self-contained. Functions of object
// files are flattened to their bytes, so that a trace can be mailed. And
// Load(String(s)) equals s for every s that Check accepts (a slice of length
// zero is nil, except a handler's: [] is a handler that does nothing).
//
// Its limits: names of properties and mutants are known to others
// (Expect.CheckNames). A program has some 64 MB of values and a million steps,
// and work on a long value counts as many (bounds.go): whatever it says, Load
// ends within a second or two of a CPU.
package scenario
