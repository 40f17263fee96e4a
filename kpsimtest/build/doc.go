// Package build writes scenarios in Go, with the functions and the parameters of the language of .star files:
//
//	s := build.New("mine")
//	s.Machine().CPUs(2).Quiesce(build.QuiesceSched)
//	f := s.Text("f", "55 48 89 e5 53 5b 5d c3")
//	k := s.Kprobe("k").At(f)
//	s.Task("prober").Ops(build.Register(k), build.WaitOptimized(), build.Unregister(k))
//	s.Task("caller").CPU(1).Ops(build.Call(f), build.Schedule())
//	kpsimtest.Never(t, s)
//
// What makes a part of the scenario is a method of Scenario; an operation of a task and a step of a handler are
// functions. Required parameters stand in the brackets, the others are methods of the result. A mistake names the
// line of Go where the part or the operation was made.
//
// What it is not: another language. Each call is one of a .star file, with its checks, its defaults, and its paragraph
// in docs/scenarios.md.
//
// Its rule: all but build.go is made from the rows of the language (go test -run Current -update).
//
// Its limits: what a task does is a list, as in a .star file; a scenario is finished by the first search of it.
package build
