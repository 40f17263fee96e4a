// Package kpsim is the map of the house. It holds no code; the rules that the
// map states are tests beside it (layers_test.go).
//
// kpsim simulates an x86 machine with several CPUs on which code is patched
// while it runs: kprobes, return probes, jprobes and their jump optimization as
// five editions of the kernel's document have them, ftrace, modules, jump labels,
// static calls, whatever is plugged in beside them. Functions are real machine
// code, executed instruction by instruction; the kernel around them is Go. From
// one seed or one recording a run is the same to the last event, on every
// computer.
//
// # Rooms
//
// A package imports downwards only. Each one's own doc.go says what it is, what
// it is not, its rule and its limits.
//
//	L7  cmd/kpsim              flags and subcommands; a shell
//	    kpsimtest              searches from a go test: what other modules import
//	    cmd/kpsim/docstest     the pages for people, as tests
//	    cmd/kpsim/scripttest   kpsim as it is typed, as tests; internal/proctest runs it
//	    internal/cli           what commands share: terminal, files, ^C, progress, names
//	    internal/cli/flags     ranges, errors in plain words, completion
//	    internal/cli/inputs    what a command line names: scenarios, traces, lists of names
//	    internal/page          the look of HTML pages; pagetest holds them to it
//	    internal/viewer        a run as a page to step through
//	L6  internal/search        runs of a scenario: explored, replayed, shrunk, proved, by hand; its doc.go is a map
//	    internal/search/rig    one run: machine, kernel, engine and monitors
//	    internal/eval/matrix      which waits and syncs patching needs: a table that is searched
//	    internal/eval/overhead    what a probe's hit costs: the documents' figures, from runs
//	    internal/eval/overhead/pages  kpsim overhead: tables, JSON, pages
//	    internal/scenario      what is run, as plain data; lang: Starlark in and out,
//	                           library, gen: drawn ones, edit: smaller ones, vet
//	    internal/nearest       what a misspelt name may have meant
//	    kprobes/mutants      what is broken on purpose, and who must notice
//	L5  properties             what must hold: one monitor a property, fed by events
//	L4  kprobes                the engine under test
//	    engine                 how an engine is asked; engine/all lists them, kprobes/plug is its row
//	    engine/ftrace, engine/jumplabel, engine/staticcall
//	                           other clients of the waist that rewrite text
//	    smp/kernel             locks, RCU, stop_machine, text poking, work: kapi on smp
//	L3  smp                    CPUs, tasks, interrupts, traps, memory
//	    smp/kapi               the narrow waist: what an engine may ask for
//	L2  smp/arch, smp/arch/target   what any processor has | the one that the kernel is built for
//	    smp/arch/x86, smp/fetch     x86's instructions | which bytes a CPU's fetch may see
//	    smp/image, smp/cycles  code from objects and hex | what things cost
//	    kprobes/rules          what a kernel says of probing each byte
//	    kprobes/survey         the same of a whole object
//	    smp/smpev, kprobes/kpev, traces/view, traces/export, traces/tracetest
//	                           the words for events | for reading traces, for other tools, for tests
//	L1  sched, traces          who goes next | what happened
//	L0  sim                    choice, clock, fibre, random numbers
//
// Two walls carry the house. An engine sees kapi and nothing below it, so that
// a second engine needs no change under the waist. A property sees events and
// nothing else, so that it can't be wrong in the same way as the engine.
//
// # One source of nondeterminism
//
// Every question of who goes next, which bytes a fetch sees, when an interrupt
// comes, goes through one method, sim.Chooser's Choose. Answer 0 is always the
// boring one, so a run is the boring run plus a short list of deviations; that
// list is what is recorded, shrunk, replayed and read. Nothing else may differ
// between two runs, hence the bans in the packages of a run: no clock, no
// goroutine, no channel, no range over a map, no float.
//
// # The main loop
//
// smp.Machine.Run: while something can move, ask who (sim.Point: CPUs that can
// step, interrupt sources that can fire), let it take one step, count the step.
// Guest code moves by instructions. Kernel routines are Go functions on fibres
// and can lose the CPU only where they touch what others see: a shared cell, a
// byte of text, a lock, a wait. A run ends Passed, Violated (the engine is
// wrong), Stuck, Exhausted (the budget is; that is no pass) or Bug (we are).
//
//	scenario ─► rig ─► machine ── asks ──► strategy
//	                      │ emits
//	                      ▼
//	                   traces ──► monitors ─► verdict ─► shrink ─► NAME.kps
//
// # Where building changed the plan
//
// A Point has three sets of moves, not two: a CPU with an IPI pending may go on
// or take it, and 64 CPUs and 64 sources leave no bits for that. It names the
// mover of alternative 0, which strategies and labels need.
//
// A routine that gives way doesn't park: it drives the machine itself, on its
// own fibre, and parks only when the turn is that of a routine below it. So most
// runs switch no fibre at all. Handlers of interrupts that touch nothing shared
// (a tick, an IPI's answer) run in one step, without a fibre.
//
// No routine may defer what reaches a point: a fibre is unwound by a panic.
//
// A store to text is what memcpy makes of it: pieces of 8, 4, 2 or 1 bytes, none
// across an aligned quadword. So five bytes are two stores, and an NMI can come
// between them although stop_machine has stopped everything else.
//
// The disassembler of golang.org/x/arch no longer decides whether an instruction
// exists: it is wrong or ignorant in hundreds of encodings. smp/arch/x86 has tables of its
// own, held against objdump form by form; x/arch is a second opinion in the tests,
// and gives text.
//
// What may be probed is decided by kprobes/rules, with the kernel's own decoder,
// which isn't the processor's; the engine and kpsim check ask the same rules, and
// have them relocate what is copied: smp/arch/x86 no longer does.
//
// Decoded instructions are compared with the bytes they were made of where a
// chunk of text is watched, and not at all elsewhere: there is no page version.
//
// Of two witnesses the one is kept in which an interrupt holds the CPU where it
// is, before one with fewer deviations in which a CPU merely stands still.
//
// A machine can be observed: each step then says what it touched that another
// mover's step may depend on (sim.Observer). Partial-order reduction, behaviours
// and guided search stand on that; a search that isn't observed doesn't pay for it.
// What the monitors relate counts, too, since a proof is about their verdicts.
//
// A proof goes from state to state, not from schedule to schedule. Routines run on
// fibres, whose stacks nobody can look at; what one has in its local variables is
// told by what it has read since it began.
//
// A trace holds the scenario as it was shrunk, not as it was found.
//
// # Limits
//
// Data accesses take effect in the order they are stepped: store buffers aren't
// modelled, only instruction fetch is weak. At most 64 CPUs. General-purpose and
// system instructions, no vectors and no x87; text of 32 bits runs on a machine
// without a kernel. What a package leaves out is said in its own doc.go.
package kpsim
