package properties_test

import (
	"kpsim/smp/smpev"
	"kpsim/traces/tracetest"
)

func init() {
	golden("O1-oops", func(tr *tracetest.Trace) {
		tr.On(1, 2).Trap(smpev.VecUD, f).Oops(smpev.VecUD, f)
		tr.ExpectViolation("O1", "cpu1 task2 dies of #UD at 0x1000")
	})
	trap("O1-owned", "the breakpoint has its one owner, and the kernel dies of it all the same",
		func(tr *tracetest.Trace) {
			tr.On(1, 2).Break(f).Own(f, smpev.OwnerKprobe).Oops(smpev.VecBP, f+1)
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
			tr.ExpectViolation("K1", "takes lock 1 under lock 2: the order so far is the reverse")
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
	golden("K1-held-at-end", func(tr *tracetest.Trace) {
		tr.Lock(1).End(true).ExpectViolation("K1", "still holds lock 1")
	})
}
