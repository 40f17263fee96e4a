// Package rig runs a scenario once: it builds the machine, the kernel, the engine and
// the monitors that the scenario asks for, and runs them under a chooser.
//
// A Rig is built once and run many times. It first runs the scenario's twin, without
// probes, by the default schedule, and later compares calls with the twin's. Its parts:
//
//   - what is built once: Plan (machine, kernel, addresses), listing (the linked text),
//     patchers (jump labels, static calls, ftrace, and other code that rewrites text)
//   - what a run begins anew: wiring (the engine), probes, tasks, checks, setup
//   - what follows the runs: Judges (the properties' monitors), Linear, Census, Arrivals,
//     features (for strategies that learn), relate (for observers)
//
// build (boot.go) puts them together, and reset (rig.go) sets them to the beginning of a run.
// Tasks' operations and probes' handlers are kernel routines (program.go, probes.go).
// An instruction that no processor executes, or a fault that no handler resolves, is an
// error of the scenario or kills the kernel: blame.go decides. Linear (linear.go)
// compares the answers of calls that overlap with a sequential model of the API.
//
// What it is not: it judges nothing. Monitors do, from events. It chooses no schedule and
// compares no runs: the packages above do.
//
// Its rule: a run depends on the scenario, the mutant and the chooser's answers, and on
// nothing that the rig ran before. One goroutine uses a rig.
//
// Its limits: see the package smp for what the machine leaves out.
package rig
