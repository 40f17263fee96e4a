// Package smp is the simulated machine: CPUs, tasks, memory, text, traps,
// interrupts, and the loop that steps them.
//
// What it is not: it holds no kernel service and no probe. smp/kernel installs
// one Go routine a vector and a few hooks at boot.
//
// Its rule: a boundary lies before each instruction of guest text and at each
// yield point of a kernel routine. At a boundary with more than one possible move
// the strategy is asked (sim.Point). Nothing else is undetermined.
//
// Read Machine.Run first, then drive, turn and execute.
//
// # The types
//
// A Machine is built (New, tasks, sources, hooks, routines with an address), frozen
// (Freeze), and then run any number of times (Reset, Run). It keeps the loop (run.go), and
// its parts are types of their own:
//
//	turns        says what can move, and whose step is next          turns.go spin.go
//	ending       how a run ended, and why                            ending.go
//	Processors   the CPUs, which come and go                         cpus.go hotplug.go count.go
//	Tasks        with their stacks, and who gets a CPU               tasks.go switch.go
//	Waits        routines that wait until a condition holds          waits.go
//	Interrupts   sources, and the IPIs between CPUs                  source.go
//	traps        takes CPUs into handlers, and back                  trap.go
//	routines     contexts of routines and their fibres               routine.go
//	Gates        addresses of kernel routines                        gates.go
//	Text         what CPUs fetch, and what it means                  text.go
//	Memory       pages of data and text, and which text is watched   mem.go pages.go
//	alias        text that text stores to, and what it will be then  alias.go foresee.go
//	WeakMemory   stores that CPUs hold, versions of cells            weak.go buffer.go views.go
//	Clocks       what events cost, what the CPUs' clocks show        clock.go
//	Names        of addresses, movers, places, objects, answers      names.go
//	Footprint    tells an observer what each step touches            watch.go touch.go reader.go words.go
//	State        hashes what a state is made of, for proofs          state.go
//	Tracer       is told of instructions and what they access        trace.go
//	Interactive  drives a run by hand                                interactive.go
//	Inspector    reads a machine that is paused or has ended         interactive.go
//
// A Ctx is the kapi.Context of a routine under way. What only the kernel asks of it is in views
// of the same context: Hotplug, Patcher, Pages, Stacks and User. The processor is an arch.Arch.
//
// # Two kinds of code
//
// Guest text is bytes: fetched through a model of smp/fetch, decoded and executed one
// instruction a step. Kernel routines are linear Go on a fibre. They lose the CPU only
// at yield points (kapi.Context), and defer nothing that reaches one: a panic, which
// ends the run, would go through it. Frames belong to the task: traps and interrupts
// push on the stack of the task they hit, and switching tasks leaves them there.
//
// # Words
//
// A boundary is where the strategy may be asked; a step is what one mover does from one
// boundary to the next. A yield point is a boundary of a kernel routine. A routine's
// numbered steps (Ctx.Step) name its yield points in traces: its place. Single-stepping
// is the processor's (Arch.StepFlag, traced). A sim.Point is a question.
//
// # Observing
//
// An observed machine reports what each step touched that another mover's step may
// depend on: cells and the conditions on them, data that two threads access, text that
// is stored to, run queues, pending IPIs, sources, since when a CPU's fetches are
// fresh, what the kernel and the monitors remember (TouchService, TouchEvent). Two
// steps of different movers that don't conflict commute: in the other order they touch
// the same, and the run ends the same; internal/search has the test. There is one
// exception. A private instruction and a delivery to its CPU commute in the sense that
// the instruction may be executed before the interrupt or after its IRET. A step that
// turns its CPU's interrupts off conflicts with what is sent to the CPU, although the
// two commute: a delivery may have come between them. The clock isn't reported; only
// reports read it, and the instructions that ask for it.
//
// # Time
//
// Each CPU has a clock. It advances by what its events cost, and where the CPU waits:
// for another CPU to let it go on, for an IPI to be sent, for its next task to be
// woken; on a machine that has been told costs also for lines of cache. There, what
// comes after something else in a run because of it is no earlier by the clocks,
// whatever the strategy, unless the cause is data that guest text shares. What isn't
// caused may be earlier: one CPU's clock can be far ahead, unless the strategy follows
// time (sched.Timed). So a routine that asks how long something has taken (Clocks.Passed) goes
// by what each CPU with something to do has spent since: the least of that has passed.
//
// A timer comes to an idle CPU if its source is Idle; under Config.NoHZ not before a task
// wants that CPU.
//
// # Limits
//
// Under Config.Memory SC data accesses are sequentially consistent in the order stepped.
// Under TSO a CPU holds at most 32 stores, at most 63 CPUs do, nothing is forwarded to fetch, a
// store to text drains first and takes effect at once, one to the CPU's own stack isn't held
// where nothing older is, and no loads walk page tables. Under LKMM only cells are weak, and
// loads are made in order. A page is written or executed, not both: guest text stores to
// text by an alias (Memory.Alias), under SC and LKMM only. Tasks migrate only from
// a CPU that goes offline. An idle CPU takes IPIs,
// but timers and NMIs only from a source that says so (Idle): else each would come
// once more for nothing. An interrupt handler that touches nothing shared (a tick, an
// IPI's answer) is one step. The saved registers that a trap's routine is given are
// written back whole when it ends: what it stored into the frame by hand is lost. A
// page fault of the stack at an address that isn't canonical is #GP, not #SS; no
// exception has an error code. A machine in 32-bit mode has no kernel. Whether two
// threads share a word is known once a run has shown it (SharedGrew); below the frame
// of an interrupt a stack is taken to be the interrupt's own, and text that an
// interrupt runs is taken to read no register that it hasn't set.
package smp
