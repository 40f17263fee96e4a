// Package engine is the seam between patchers of live code and everything that uses them: searches, the scenario
// language, the shell, interface files, monitors and proofs use an Engine and know no other.
//
// What it is not: it has no protocol, and no engine.
//
// # To add an engine
//
// Write a package that exports a Row, and add the row to engine/all. A scenario asks for it with machine(engine =
// NAME). The package also needs a row in layers_test.go, its name in the root's doc.go and, if its doc.go has limits,
// a link in docs/limits.md: tests check each. docs/new-engine.md shows a small one.
//
// A Row says which probes, verbs, handlers and switches the engine has; a scenario that uses others is refused with a
// line that says so. New makes the engine from a Config: the kernel's services (Deps), the probes as plain data, and
// the handler to call at a hit. Renew makes it anew for the next run, in its own memory; hook it to Deps.Traps and
// make its cells and locks there, in the same order each time. Plain implements the methods that a simple engine
// doesn't need.
//
// When its package is initialised the engine defines its own:
//
//   - numbers in events, by smpev.Whys.Define (places of sync), smpev.Owners.Define
//     (the owner of a trap) and smpev.Memory.Define (the uses of executable memory);
//     traces and pages show the names
//   - kinds of work and their costs, by kapi.DefineWork
//   - stubs, by kapi.DefineStub
//   - events, by traces.Define, from traces.EngineBlock on
//
// All engines share the numbers of each sort, and one that is defined twice panics at the start. Free are places of
// sync from 11 on, owners 5 and from 7, memory from 6 (all to 63), work from 16 to 31, stubs from offset 0xa0 on.
// Deps.Text.Arch has the bytes of a breakpoint, a nop and a jump.
//
// Row.Memory gives the kinds of executable memory to the kernel when it boots.
//
// # Rules
//
// State that CPUs share is in cells (kapi.Var, List, Table, Array): each access is a point at which the CPU may be
// lost. Use the verb that a kernel uses there; an order that the kernel keeps is defined by name
// (kapi.DefineBarrier). A lock's holder reads what only it writes by Owned: other CPUs, and Peek, may not see its own
// stores yet. State adds all of it to a proof's state; a field of a struct counts unless its tag `state:"…"` says
// otherwise (the words are in internal/search/proof/layout.go), and a proof refuses a field that it can't read: an
// interface, a function.
//
// A hit allocates nothing. No routine defers code that reaches a point. Nothing depends on a clock, a map's order or
// a goroutine.
//
// Verbs, handlers and API events have kpev's words, whatever the engine: the rig emits ApiEnter, ApiReturn and
// Handler itself. What the engine says about itself is a claim, made by Deps.Tell and Claim; no property believes it.
//
// # Limits
//
// Settings in machine() are those of kprobes; other engines have none but patch. Mutants are of kprobes. Properties
// that need claims of kprobes say nothing about other engines.
package engine
