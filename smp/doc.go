// Package smp is the simulated machine: CPUs, tasks, memory, text, traps,
// interrupts, and the loop that steps them.
//
// What it is not: it holds no kernel service and no probe. smp/kernel installs
// one Go routine a vector and a few hooks at boot.
//
// Its rule: a boundary lies before each instruction of guest text and at each
// point of a kernel routine; at a boundary with more than one possible move the
// strategy is asked, and nowhere else is anything undetermined.
//
// Read Machine.Run first, then drive, turn and execute.
//
// Two kinds of code run on a CPU. Guest text is bytes: fetched through a model
// of smp/fetch, decoded and executed one instruction a step. Kernel routines are
// linear Go on a fibre; they lose the CPU only at points (kapi.Context), and
// defer nothing that reaches one: a panic, which ends the run, would go through
// it. Frames belong to the task: traps and interrupts push on the stack of the
// task they hit, and switching tasks leaves them there.
//
// An observed machine (Observe, watch.go) tells of each step what it touched of
// what another mover's step may depend on: cells and the conditions on them, the
// data that two threads access, text that is stored to, run queues, pending IPIs,
// sources, since when a CPU's fetches are fresh, what the kernel and the monitors
// remember (TouchService, TouchEvent). Two steps of different movers that don't
// conflict commute: made the other way round they touch the same, and the run
// ends the same; harness has the test. One case is not to the letter: a private
// instruction and a delivery to its CPU commute in that the instruction may be
// executed before the interrupt or after its IRET. A step that makes its CPU deaf
// conflicts with what is sent to it, although the two commute: a delivery may have
// come between them. What isn't said is the clock, which only reports read and the
// instructions that ask for it.
//
// Each CPU has a clock (clock.go). It goes on by what its events cost, and where it waits:
// for who lets it go on, for an IPI to be sent, for its next task to be woken; on a
// machine that has been told costs also for lines of cache (line.go). There, what
// comes after something else in a run because of that is no earlier by the clocks,
// whatever the strategy, unless it is because of data that guest text shares. What
// is not because of the other may be: one CPU's clock can be far ahead, unless the
// strategy follows time (sched.Timed).
//
// A machine can be stepped by hand (interactive.go): its Pause is asked where the run would
// end for want of budget or of movers, and may look at it, wake tasks, and go on.
//
// Its limits: data accesses are sequentially consistent in the order stepped
// (x86 store buffers are not modelled yet); only instruction fetch is weak. Text
// can't be stored to by guest text: a page is written or executed, not both.
// Tasks don't migrate. An idle CPU takes IPIs, and timers and NMIs only from a source
// that says so (Idle): else each would come once more for nothing. A handler
// of an interrupt that touches nothing shared (a tick, an IPI's answer) is one
// step. The saved registers that a trap's routine is given are written back whole
// when it ends: what it stored into the frame by hand is lost. A page fault of
// the stack at an address that isn't canonical is #GP, not #SS; no exception has
// an error code. A machine in 32-bit mode (mode32.go) has no kernel beside it. That
// two threads share a word is known once a run has shown it (SharedGrew); below
// the frame of an interrupt a stack is taken to be the interrupt's own, and text
// that an interrupt runs is taken to read no register that it hasn't set.
package smp
