package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

// contexts heads a log; begun is a handler's context.
func contexts(tr *tracetest.Trace, detour, returns uint64) {
	tr.Emit(kpev.Contexts, detour, returns, 0)
	probed(tr)
}

func begun(h tracetest.Hand, which, bits uint64) tracetest.Hand {
	return h.Emit(kpev.Context, 1, which, bits)
}

func init() {
	const off, irqs, were = kpev.PreemptOff, kpev.IRQsOff, kpev.WereOff
	golden("C1-breakpoint", func(tr *tracetest.Trace) {
		contexts(tr, 0, 0)
		begun(begun(tr.On(1, 2).Break(f), kpev.Pre, off|irqs), kpev.Entry, off|irqs|were)
		tr.ExpectNone()
	})
	golden("C1-breakpoint-open", func(tr *tracetest.Trace) {
		contexts(tr, 0, 0)
		begun(tr.On(1, 2).Break(f), kpev.Pre, off)
		tr.ExpectViolation("C1", "in a breakpoint with interrupts on")
	})
	golden("C1-finds", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Finds, 1, f+1, f+3)
		tr.On(1, 2).Break(f).Emit(kpev.Sees, 1, kpev.Pre, f)
		tr.ExpectViolation("C1",
			"runs the pre_handler of probe 1 with the instruction pointer at 0x1000; it should be 0x1001")
	})
	golden("C1-finds-post", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Finds, 1, f+1, f+3)
		tr.On(1, 2).Break(f).Emit(kpev.Sees, 1, kpev.Pre, f+1).Emit(kpev.Sees, 1, kpev.Post, f+1)
		tr.ExpectViolation("C1", "runs the post_handler of probe 1 with the instruction pointer at 0x1001")
	})
	trap("C1-finds-elsewhere",
		"a post_handler is in another function: the probed instruction has jumped there, so nothing is said of it",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Finds, 1, f+1, 0)
			tr.On(1, 2).Break(f).Emit(kpev.Sees, 1, kpev.Pre, f+1).Emit(kpev.Sees, 1, kpev.Post, g)
			tr.ExpectNone()
		})
	golden("C1-preemptible", func(tr *tracetest.Trace) {
		contexts(tr, 0, 0)
		begun(tr.On(1, 2), kpev.Return, 0)
		tr.ExpectViolation("C1", "with preemption on")
	})
	trap("C1-detour", "interrupts are on in a pre_handler, which is behind a detour",
		func(tr *tracetest.Trace) {
			contexts(tr, 0, 0)
			begun(tr.On(1, 2), kpev.Pre, off)
			tr.ExpectNone()
		})
	trap("C1-detour-closed", "interrupts are off in a handler, which is safer than what the edition has",
		func(tr *tracetest.Trace) {
			contexts(tr, 0, 0)
			begun(tr.On(1, 2), kpev.Pre, off|irqs)
			tr.ExpectViolation("C1", "they stay on there")
		})
	trap("C1-were-off", "interrupts are off behind a detour, as they were where it was hit",
		func(tr *tracetest.Trace) {
			contexts(tr, 0, 0)
			begun(tr.On(1, 2), kpev.Pre, off|irqs|were)
			tr.ExpectNone()
		})
	golden("C1-opened", func(tr *tracetest.Trace) {
		contexts(tr, 0, 0)
		begun(tr.On(1, 2), kpev.Return, off|were)
		tr.ExpectViolation("C1", "which were off where it was hit")
	})
	golden("C1-old-detour", func(tr *tracetest.Trace) {
		contexts(tr, 1, 0)
		begun(tr.On(1, 2), kpev.Post, off)
		tr.ExpectViolation("C1", "in this edition they are off there")
	})
	golden("C1-old-return", func(tr *tracetest.Trace) {
		contexts(tr, 0, 1)
		begun(tr.On(1, 2), kpev.Return, off)
		tr.ExpectViolation("C1", "in this edition they are off there")
	})
	trap("C1-fault", "interrupts are on in a fault_handler: the fault was where they were",
		func(tr *tracetest.Trace) {
			contexts(tr, 0, 0)
			begun(tr.On(1, 2).Break(f).Trap(smpev.VecPF, slot), kpev.Fault, off)
			tr.ExpectNone()
		})
	trap("C1-nested", "interrupts are on in a handler behind a detour, on top of a timer's handler that has opened them",
		func(tr *tracetest.Trace) {
			contexts(tr, 0, 0)
			begun(tr.On(1, 2).Trap(smpev.VecTimer, f+5), kpev.Pre, off)
			tr.ExpectNone()
		})
	golden("C1-jprobe", func(tr *tracetest.Trace) {
		contexts(tr, 0, 1)
		begun(begun(tr.On(1, 2), kpev.Jump, off|irqs), kpev.Jump, off)
		tr.ExpectViolation("C1", "runs the entry of probe 1 with interrupts on")
	})
}
