package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	golden("K1-foreign", func(tr *tracetest.Trace) {
		tr.On(1, 2).Lock(1).Emit(kpev.Foreign, 0, 0, 0)
		tr.ExpectViolation("K1", "cpu1 task2 takes kprobe_mutex, and what it owns has changed while nobody held it")
	})
	golden("O1-oops", func(tr *tracetest.Trace) {
		tr.On(1, 2).Trap(smpev.VecUD, f).Oops(smpev.VecUD, f)
		tr.ExpectViolation("O1", "cpu1 task2 dies of #UD at 0x1000")
	})
	trap("O1-owned", "the breakpoint has its one owner, and the kernel dies of it all the same",
		func(tr *tracetest.Trace) {
			tr.On(1, 2).Break(f).Own(f, kpev.OwnerKprobe).Oops(smpev.VecBP, f+1)
			tr.ExpectViolation("O1", "dies of #BP")
		})
	trap("O1-fixed-up", "a fault in the kernel, but one with an exception-table entry",
		func(tr *tracetest.Trace) {
			tr.On(1, 2).Trap(smpev.VecGP, f).Return(smpev.VecGP, f+7)
			tr.ExpectNone()
		})

	golden("K1-paired", func(tr *tracetest.Trace) {
		tr.Lock(1).Lock(2).Unlock(2).Unlock(1).MightSleep(0)
		tr.On(1, 2).Lock(1).Lock(2).Unlock(1).Unlock(2)
		tr.End(true).ExpectNone()
	})
	golden("K1-without", func(tr *tracetest.Trace) {
		tr.Lock(1).Unlock(1).LockHow(1, smpev.LockNeeded)
		tr.ExpectViolation("K1", "needs lock1, and doesn't hold it")
	})
	golden("K1-recursion", func(tr *tracetest.Trace) {
		tr.Lock(1).Lock(1)
		tr.ExpectViolation("K1", "recursion")
	})
	golden("K1-two-holders", func(tr *tracetest.Trace) {
		tr.Lock(1).On(1, 2).Lock(1)
		tr.ExpectViolation("K1", "which task0 holds")
	})
	golden("K1-not-the-owner", func(tr *tracetest.Trace) {
		tr.Lock(1).On(1, 2).Unlock(1)
		tr.ExpectViolation("K1", "which task0 holds")
	})
	golden("K1-unlock-of-nothing", func(tr *tracetest.Trace) {
		tr.Lock(1).Unlock(1).Unlock(1)
		tr.ExpectViolation("K1", "nobody holds")
	})
	golden("K1-atomic", func(tr *tracetest.Trace) {
		tr.MightSleep(1)
		tr.ExpectViolation("K1", "sleeping while atomic")
	})
	trap("K1-reverse-order", "each task releases what it took, and nobody waited: this time",
		func(tr *tracetest.Trace) {
			tr.Lock(1).Lock(2).Unlock(2).Unlock(1)
			tr.On(1, 2).Lock(2).Lock(1)
			tr.ExpectViolation("K1", "takes lock1 under lock2: the order so far is the reverse")
		})
	trap("K1-circle", "no two locks were ever taken in both orders, but three go round",
		func(tr *tracetest.Trace) {
			tr.Lock(1).Lock(2).Unlock(2).Unlock(1)
			tr.Lock(2).Lock(3).Unlock(3).Unlock(2)
			tr.Lock(3).Lock(1)
			tr.ExpectViolation("K1", "the reverse")
		})
	trap("K1-reverse-apart", "the order is another, but nothing is held meanwhile",
		func(tr *tracetest.Trace) {
			tr.Lock(1).Lock(2).Unlock(1).Unlock(2)
			tr.Lock(2).Unlock(2).Lock(1).Unlock(1)
			tr.On(1, 2).Lock(2)
			tr.On(2, 3).Lock(1)
			tr.ExpectNone()
		})
	trap("K1-many", "the two are far apart among a hundred locks",
		func(tr *tracetest.Trace) {
			for id := uint64(1); id < 100; id++ {
				tr.Lock(id).Lock(id + 1).Unlock(id + 1).Unlock(id)
			}
			tr.Lock(100).Lock(1)
			tr.ExpectViolation("K1", "takes lock1 under lock100: the order so far is the reverse")
		})
	golden("K1-held-at-end", func(tr *tracetest.Trace) {
		tr.Lock(1).End(true).ExpectViolation("K1", "still holds lock1")
	})

	const spin, irq, nmi, on, waits, shared = smpev.LockSpins, smpev.LockInIRQ, smpev.LockInNMI, smpev.LockIRQsOn,
		smpev.LockWaits, smpev.LockShared
	golden("K1-interrupted", func(tr *tracetest.Trace) {
		tr.LockHow(1, spin|on).Unlock(1)
		tr.On(1, 2).LockHow(1, spin|irq)
		tr.ExpectViolation("K1", "handlers of interrupts take")
	})
	trap("K1-interrupts-off", "a handler and tasks take the lock, but tasks keep interrupts out",
		func(tr *tracetest.Trace) {
			tr.LockHow(1, spin).Unlock(1)
			tr.On(1, 2).LockHow(1, spin|irq).Unlock(1)
			tr.LockHow(1, spin).Unlock(1)
			tr.End(true).ExpectNone()
		})
	trap("K1-handlers-open", "handlers alone take the lock, and one of them has turned interrupts on",
		func(tr *tracetest.Trace) {
			tr.LockHow(1, spin|irq|on).Unlock(1)
			tr.On(1, 2).LockHow(1, spin|irq).Unlock(1)
			tr.End(true).ExpectNone()
		})
	golden("K1-nmi", func(tr *tracetest.Trace) {
		tr.LockHow(1, spin|nmi).Unlock(1)
		tr.On(1, 2).LockHow(1, spin) // interrupts off: no matter
		tr.ExpectViolation("K1", "NMIs take")
	})
	golden("K1-readers", func(tr *tracetest.Trace) {
		tr.LockHow(1, shared).On(1, 2).LockHow(1, shared).Unlock(1)
		tr.Unlock(1).End(true).ExpectNone()
	})
	golden("K1-writer-among-readers", func(tr *tracetest.Trace) {
		tr.LockHow(1, shared).On(1, 2).Lock(1)
		tr.ExpectViolation("K1", "which task0 holds")
	})
	trap("K1-nested-reader", "it reads already: but a writer may wait between the two",
		func(tr *tracetest.Trace) {
			tr.LockHow(1, shared).LockHow(1, shared)
			tr.ExpectViolation("K1", "recursion")
		})
	trap("K1-waits-for-holder", "the lock is another's; it waits, and that is what locks are for",
		func(tr *tracetest.Trace) {
			tr.Lock(1).On(1, 2).LockHow(1, waits)
			tr.Unlock(1).On(1, 2).Lock(1).Unlock(1).End(true).ExpectNone()
		})
	golden("K1-waits-for-itself", func(tr *tracetest.Trace) {
		tr.Lock(1).LockHow(1, waits)
		tr.ExpectViolation("K1", "waits for lock1, which it has itself")
	})
	trap("K1-flush", "the work doesn't run when it is waited for, and didn't hold the lock when it ran: once it will",
		func(tr *tracetest.Trace) {
			tr.On(1, 2).Lock(smpev.WaitWork).Lock(1).Unlock(1).Unlock(smpev.WaitWork)
			tr.Lock(1).LockHow(smpev.WaitWork, waits)
			tr.ExpectViolation("K1", "waits for lock65536 under lock1, and that waits for this")
		})
	trap("K1-flush-apart", "the work takes the lock, and is waited for without it",
		func(tr *tracetest.Trace) {
			tr.On(1, 2).Lock(smpev.WaitWork).Lock(1).Unlock(1).Unlock(smpev.WaitWork)
			tr.Lock(1).Unlock(1).LockHow(smpev.WaitWork, waits)
			tr.End(true).ExpectNone()
		})
	trap("K1-grace-circle", "a reader spins for a lock under which somebody waits for readers",
		func(tr *tracetest.Trace) {
			tr.Lock(1).LockHow(smpev.WaitGrace, waits).Unlock(1)
			tr.On(1, 2).LockHow(smpev.WaitGrace, shared).LockHow(1, spin)
			tr.ExpectViolation("K1", "goes round in a circle")
		})
	golden("K1-grace-in-section", func(tr *tracetest.Trace) {
		tr.LockHow(smpev.WaitGrace, shared).LockHow(smpev.WaitGrace, waits)
		tr.ExpectViolation("K1", "waits for lock131072, which it has itself")
	})
}
