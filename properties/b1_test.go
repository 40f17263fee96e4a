package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	golden("B1-one-owner", func(tr *tracetest.Trace) {
		probed(tr)
		hit(tr.On(1, 2))
		unprobed(tr)
		tr.End(true).ExpectNone()
	})
	golden("B1-no-owner", func(tr *tracetest.Trace) {
		tr.On(1, 2).Break(f).Resume(f + 1)
		tr.ExpectViolation("B1", "the breakpoint at 0x1000, and it has no owner")
	})
	golden("B1-no-owner-oops", func(tr *tracetest.Trace) {
		tr.On(1, 2).Break(f).Oops(smpev.VecBP, f+1)
		tr.ExpectViolation("B1", "kernel dies")
	})
	golden("B1-step-without-owner", func(tr *tracetest.Trace) {
		tr.On(1, 2).Trap(smpev.VecDB, f+3).Return(smpev.VecDB, f+3)
		tr.ExpectViolation("B1", "the trap of a single step at 0x1003, and nobody steps it")
	})
	trap("B1-stepped", "a trap within a trap: the step's, whose owner is kprobes",
		func(tr *tracetest.Trace) {
			tr.On(1, 2).Trap(smpev.VecDB, f+3).Claim(smpev.VecDB, f+3, kpev.OwnerKprobe).Return(smpev.VecDB, f+3)
			tr.ExpectNone()
		})
	golden("B1-two-owners", func(tr *tracetest.Trace) {
		tr.On(1, 2).Break(f).Own(f, smpev.OwnerPoke).Own(f, kpev.OwnerKprobe)
		tr.ExpectViolation("B1", "two owners: the text patcher, then kprobes")
	})
	trap("B1-same-breakpoint-twice", "two claims of one address in a row, of two tasks that both took it",
		func(tr *tracetest.Trace) {
			a, b := tr.On(1, 2), tr.On(2, 3)
			a.Break(f)
			b.Break(f).Own(f, smpev.OwnerPoke)
			a.Own(f, kpev.OwnerKprobe).Resume(f + 1)
			b.Resume(f + 1)
			tr.ExpectNone()
		})
	trap("B1-nested-in-nmi", "an NMI hits the same breakpoint before the first is claimed",
		func(tr *tracetest.Trace) {
			a := tr.On(1, 2).Break(f).Trap(smpev.VecNMI, 0x9000)
			a.Break(f).Own(f, smpev.OwnerPoke).Resume(f+1).Return(smpev.VecNMI, 0x9000)
			a.Own(f, smpev.OwnerPoke).Resume(f + 1)
			tr.ExpectNone()
		})
	trap("B1-nested-unowned", "as many claims as breakpoints, but the inner one has both",
		func(tr *tracetest.Trace) {
			a := tr.On(1, 2).Break(f).Trap(smpev.VecNMI, 0x9000)
			a.Break(f).Own(f, smpev.OwnerPoke).Resume(f+1).Return(smpev.VecNMI, 0x9000).Resume(f + 1)
			tr.ExpectViolation("B1", "no owner")
		})
	golden("B1-claim-of-nothing", func(tr *tracetest.Trace) {
		tr.On(1, 2).Break(f)
		tr.On(2, 3).Own(f, kpev.OwnerKprobe)
		tr.ExpectViolation("B1", "hasn't taken")
	})
	trap("B1-fault-inside", "a trap that returns with no claim: a page fault, fixed up inside the handler",
		func(tr *tracetest.Trace) {
			a := tr.On(1, 2).Break(f).Trap(smpev.VecPF, 0x9000).Return(smpev.VecPF, 0x9003)
			a.Own(f, kpev.OwnerKprobe).Resume(f + 1)
			tr.ExpectNone()
		})
	trap("B1-claimed-later", "the breakpoint has an owner, but the claim comes when it has returned",
		func(tr *tracetest.Trace) {
			tr.On(1, 2).Break(f).Own(f, smpev.OwnerPoke).Resume(f+5).Own(f, kpev.OwnerKprobe)
			tr.ExpectViolation("B1", "hasn't taken")
		})
}
