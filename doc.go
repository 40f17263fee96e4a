// Package kpsim is the map of the source. It has no code. The tests beside it
// (layers_*_test.go) check the rules that the map states.
//
// kpsim simulates a machine with several CPUs on which code is patched while
// it runs: kprobes, return probes, jprobes and their jump optimization as five
// editions of the kernel's document describe them, ftrace, modules, jump labels,
// static calls. Functions are real machine code, executed instruction by
// instruction; the kernel around them is Go. One seed or one recording gives the
// same run, to the last event, on every computer.
//
// # Rooms
//
// A package imports what its row in layers_test.go allows: mainly packages further down in
// this list. Each package's doc.go says what it is, what it is not, its rule and its limits.
//
//	cmd/kpsim           the command: one row for each verb, which is a command such as explore
//	                    docstest and scripttest test the pages and the command lines,
//	                    packagetest what scripts/package makes
//	internal/verbs      what a verb does:
//	                    findings (explore, merge, verify, fuzz, compare), small (all programs of a few calls),
//	                    report (one run), shell (by hand),
//	                    check (objects), kernelinfo (kernels), format (files), catalogue (list, editions, version),
//	                    start (new, and what kpsim says without a verb)
//	internal/eval       verbs about many searches:
//	                    matrix (which waits and syncs are needed), overhead (the cost of a hit; kernelcost: of a
//	                    kernel's own), each with its pages; mutants (which property notices a fault),
//	                    bench (how fast searches are), review (a change beside what was),
//	                    bisect (the first bad patch of a series), watch (a review at each save)
//	internal/litmus     litmus tests: x86test reads those of x86, ctest those in C,
//	                    axioms has the kernel's memory model for those, run runs them,
//	                    extract makes one of a run
//	internal/ui         what people see:
//	                    cli (terminal, files, ^C, progress; its flags have ranges, errors, completion; its
//	                    manual makes man pages; its inputs opens scenarios, traces, names, with kernels, and
//	                    drawable for names of drawn machines),
//	                    table (texts, JSON and tables of pages from columns), verdict (KTAP, JUnit XML, SARIF),
//	                    page (HTML; its plot draws plots),
//	                    viewer (a run step by step);
//	                    internal/patches reads patches and applies them, internal/edits makes objects of them,
//	                    internal/kept keeps what was made once;
//	                    internal/version knows which kpsim this is, internal/nearest suggests names,
//	                    internal/regular opens files, internal/lazyregexp compiles expressions when they are used
//	internal/testkit    what only tests use, as no program that is shipped does:
//	                    thorough says how much they do, proctest runs kpsim (served: many times in one process),
//	                    pagetest checks pages, flagstest flags; gentest draws scenarios with rapid,
//	                    searchtest loads them, tracetest writes logs by hand, kerneltest finds kernels,
//	                    archtest draws what processors execute
//	kpsimtest           searches from a go test; with its build (scenarios in Go) and draw (by rapid)
//	                    the only packages for other modules
//	campaign            a module of its own: searches on many computers; its doc.go is a map of
//	                    build, plan, unit, board, gate, hub, lead, work, desk, web, load, faults and
//	                    cmd/kpsim-campaign
//	internal/search     runs of a scenario; its doc.go is a map
//	                    rig (one run), explore, replay, calls (of a kernel's engine), shrink, proof, blame, cause,
//	                    fuzz, mutantsearch, session (by hand), results (files), parallel (workers), twoengines,
//	                    change (a kernel with and without a change),
//	                    small (all serial programs of a few calls),
//	                    pairs (of an operation and a state of its object)
//	internal/scenario   what is run, as plain data; settings, parts, steps of handlers, sources are rows
//	                    act (what a task can do: one row for each operation), lang (Starlark), library (built-in),
//	                    forms (of instructions that kernels simulate), gen (drawn), edit (smaller ones), vet (checks),
//	                    onlinux (a scenario for a kernel's own engine), tidy (formats its files)
//	properties          what must hold: one monitor for each property, fed by events
//	kprobes             the engine under test; its scenariotest plays scenarios on it
//	                    plug makes it an engine.Engine; mutants are planted faults; kpev has its events;
//	                    era declares its settings and the editions that preset them;
//	                    rules says what a kernel lets be probed, survey asks that for a whole object
//	linux               the kernel's own compiled engine: an engine.Engine whose code is the kernel's
//	                    boot boots it once for all machines; linuxev has its events,
//	                    source says where in its C an instruction is;
//	                    vmlinux opens kernels (sections, symbols, types, tables),
//	                    vmlinux/shelf finds them, vmlinux/xz unpacks some,
//	                    overlay links edited objects over one, compile makes them,
//	                    closure says which of its functions run and what they call beside,
//	                    mutate lists faults to put into their bytes
//	engine              the interface to any engine; all lists the engines;
//	                    ftrace, jumplabel and staticcall are further patchers on the waist,
//	                    livepatch, fprobe and bpf are clients of ftrace,
//	                    debugger is another owner of breakpoints, uprobe takes those of user mode
//	smp                 CPUs, tasks, interrupts, traps, memory
//	                    kernel (locks, RCU, stop_machine, text poking, work) implements kapi on them;
//	                    byhand is the steps of patchers that scenarios describe, store by store;
//	                    kapi is the narrow waist, all that an engine may ask for; smpev has the events;
//	                    image (objects, hex; objfile reads ELF), fetch (which bytes a CPU may see),
//	                    cycles (costs),
//	                    lkmm (which stores to a cell a CPU may see under the kernel's memory model);
//	                    arch is what any processor has, arch/x86, arch/riscv64, arch/arm64 and
//	                    arch/ppc64 decode and execute, arch/target names them, arch/x86/native compares
//	                    with the real one
//	traces              events, digests, schedules, trace files
//	                    view (columns, story, scene), export (other tools)
//	sched               strategies, replays, search state
//	sim                 choice, clock, fibre, random numbers
//
// scripts has programs for developers: remove-lines removes lines and runs the tests; covered says
// which statements searches run; drawn-faults puts drawn faults into kpsim and runs the searches
// (on guards them); compare-builds compares the output of two builds; package makes packages;
// oracle and on-a-kernel boot real kernels; fetch-kernel-source and kernel-objects compile a
// kernel's edited probes, taken-back runs them without their fixes; measure-probes times probes
// on a machine; hostile, fetch-modules and at-work serve tests.
//
// Where Linux has a function for something, the comment of ours names it; kprobes and smp/kernel
// have tables of the names.
//
// Two boundaries matter most. An engine sees kapi, arch and the words for events, never
// smp or smp/kernel, so a second engine needs no change below kapi, the narrow waist.
// A property sees events and nothing else, so it can't be wrong in the same way as the engine.
//
// # One source of nondeterminism
//
// Every question (which mover goes next, which bytes a fetch sees, when an
// interrupt comes) goes through one method, sim.Chooser's Choose. Answer 0 is
// always the uneventful one. So a run is the default run plus a short list of
// deviations, and that list is recorded, shrunk, replayed and read. Nothing else
// may differ between two runs. Hence the bans in the packages of a run: no clock,
// no goroutine, no channel, no range over a map, no float.
//
// # The main loop
//
// smp.Machine.Run: while something can move, ask which (sim.Point: CPUs that can
// step, CPUs that can take a pending IPI, interrupt sources that can fire), let it take one step, count the step.
// Guest code moves by instructions. Kernel routines are Go functions on fibres;
// they can lose the CPU only where they touch something shared: a cell, a byte of
// text, a lock, a wait. A run ends Passed, Violated (the engine is wrong), Stuck,
// Exhausted (the budget is spent; that is no pass) or Refused (the text holds an
// instruction that isn't executed). A bug of the simulator panics.
//
//	scenario ─► rig ─► machine ── asks ──► strategy
//	                      │ emits
//	                      ▼
//	                   traces ──► monitors ─► verdict ─► shrink ─► NAME.kps
//
//	NAME.kps ─► replay.Play (runs it again, events kept) ─┬─► view.Interleaving (replay)
//	                                                      ├─► view.Story (explain)
//	                                                      └─► view.Lay ─► viewer (view), export
//
// docs/events.md lists the events.
//
// # The way of an event
//
// Two examples. TextStore is a store to text: Text.store of smp/text.go emits it. Before the first
// one a patcher emits Image, the instruction that it is about to install (announce in
// smp/kernel/poke.go). Handler is a handler of a probe that begins: the rig emits it
// (internal/search/rig/probes.go), whatever the engine.
//
//	its row: arguments, text, weight    smp/smpev/kinds.go, kprobes/kpev/kinds.go
//	Emit: digest, list, sinks           traces.Log
//	who watches it                      properties.Monitors: the Scene first, then each Monitor
//	                                    whose Property has its kind in Kinds and not in Reads
//	its text                            teller.say (traces/view/say.go): Says or Text of its row,
//	                                    or special, where the text depends on earlier events
//	a row of replay                     teller.take; teller.merge puts several events into one row
//	a sentence of explain               traces/view/story.go and its other files; the event's own
//	                                    text only where no template fits (tellOther)
//	a line of export, a step of view    view.Step.Says: every event, not merged
//
// # Decisions that surprise
//
// A routine that loses the CPU doesn't park. It drives the machine itself, on its
// own fibre, and parks only when the turn goes to a routine below it, one that is
// driving the machine already. So most runs never switch fibres. Handlers of interrupts that touch nothing
// shared (a tick, an IPI's answer) run in one step, without a fibre.
//
// A routine must not defer code that reaches a point: fibres are unwound by a panic.
//
// A store to text is split as memcpy splits it: pieces of 8, 4, 2 or 1 bytes, none
// across an aligned quadword. So five bytes are two or three stores, and an NMI can come
// between them although stop_machine has stopped everything else.
//
// The disassembler of golang.org/x/arch doesn't decide whether an instruction
// exists, because it is wrong about hundreds of encodings. smp/arch/x86 has its own
// tables, compared with objdump form by form. x/arch provides text, and a second
// opinion in the tests.
//
// kprobes/rules decides what may be probed, with the kernel's own decoder, which
// differs from the processor's. The engine and kpsim check use the same rules, which
// also relocate copied instructions.
//
// Decoded instructions are cached. The cache compares them with the bytes in memory
// where a chunk of text is watched, and nowhere else: there is no page version.
//
// Of two witnesses, one in which an interrupt holds the CPU is preferred to one with
// fewer deviations in which a CPU merely stands still.
//
// A machine can be observed: each step then reports what it touched that another
// mover's step may depend on (sim.Observer). Partial-order reduction, behaviours and
// guided search need that; other searches don't pay for it. What a monitor remembers
// counts too, because a proof is about its verdict.
//
// A proof goes from state to state, not from schedule to schedule. Routines run on
// fibres, whose stacks can't be read; their local variables are represented by what
// they have read since they began.
//
// A trace has the scenario as it was shrunk, not as it was found.
//
// # Limits
//
// Data accesses take effect in the order in which they are stepped, unless the machine's
// memory is x86's (tso) or, for cells alone, the kernel's (lkmm): docs/memory.md. At most 64 CPUs. General-purpose
// and system instructions, no vectors and no x87.
// docs/limits.md collects the limits of the packages.
package kpsim
