// Package lang is the scenario language: it builds scenarios from Starlark, and
// prints scenarios as Starlark.
//
//	s, err := lang.Load("mine.star", src, open) // docs/scenarios.md is the reference
//	lang.Print(s)                               // the program that builds s again
//	lang.Parse("mine.kps", text)                // reads that without Starlark: a trace may come from a stranger
//
// What it is not: no Starlark runs during a simulation, and the meaning of a
// scenario is not here but where it is run.
//
// Its rules: a printed scenario is self-contained: functions of object files are
// flattened to their bytes. Load(Print(s)) equals s for every s that Check
// accepts (a slice of length zero is nil, except a handler's: [] is a handler
// that does nothing). Each function of the language is one row of chapters, from
// which the reference is made.
//
// Its limits: a program has some 64 MB of values and a million steps, and work
// on a long value counts as many (bounds.go). Whatever it says, Load ends within
// a second or two of a CPU.
package lang
