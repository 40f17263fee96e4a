// Package engine is the seam between what patches live code and everything that
// asks it to: searches, the scenario language, the shell, interface files,
// monitors and proofs ask an Engine and know no other.
//
// What it is not: it has no protocol, and no engine.
//
// # To add an engine
//
// Write a package that exports a Row, and add the row to engine/all. A scenario asks
// for it with machine(engine = NAME). The package also needs a row in layers_test.go,
// its name in the root's doc.go and, if its doc.go has limits, a link in docs/limits.md:
// tests ask for each. docs/new-engine.md shows a small one.
//
// A Row says which probes, verbs, handlers and switches the engine has; a scenario
// that asks for others is refused with a line that says so. New makes the engine
// from a Config: the kernel's services (Deps), the probes as plain data, and the
// handler to call at a hit. Renew makes it anew for the next run, in the memory that
// it has; hook it to Deps.Traps and make its cells and locks there, in the same
// order each time. Plain implements what a simple engine does without.
//
// When its package is initialised the engine defines what it has of its own:
//
//   - numbers in events, by smpev.Whys.Define (places of sync), smpev.Owners.Define
//     (the owner of a trap) and smpev.Memory.Define (what executable memory is for);
//     traces and pages show the names
//   - kinds of work and what they cost, by kapi.DefineWork
//   - stubs, by kapi.DefineStub
//   - events of its own, by traces.Define, from traces.EngineBlock on
//
// Numbers of one sort are all engines' together, and one that is taken twice panics at
// the start. Free are places of sync from 11 on, owners 5 and from 7, memory from 4 (all to 63),
// work from 16 to 31, stubs from offset 0xa0 on. Deps.Text.Arch says what
// a breakpoint, a nop and a jump are.
//
// Kinds of executable memory are given by Row.Memory to the kernel when it boots.
//
// # Rules
//
// State that CPUs share is in cells (kapi.Var, List, Table, Array): each access is a point at which
// the CPU may be lost. Its verb is the one that a kernel has there, and what keeps an order is
// defined by name (kapi.DefineBarrier). What a lock's holder alone writes he reads by Owned: his
// own stores may not be seen by others yet, nor by Peek. State adds all of it to a proof's state; a
// field of a struct counts unless its tag `state:"…"` says otherwise (the words are in
// internal/search/proof/layout.go), and a proof refuses a field that it can't read: an interface, a
// function.
//
// A hit allocates nothing. No routine defers what reaches a point. Nothing depends on
// a clock, a map's order or a goroutine.
//
// Verbs, handlers and API events have kpev's words, whatever the engine: the rig emits
// ApiEnter, ApiReturn and Handler itself. What the engine says about itself is a
// claim, made by Deps.Tell and Claim; no property believes it.
//
// # Limits
//
// Settings in machine() are those of kprobes; other engines have none but patch.
// Mutants are of kprobes. Properties that need claims of kprobes say nothing about
// other engines.
package engine
