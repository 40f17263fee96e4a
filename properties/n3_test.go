package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/smp/smpev"
)

func init() {
	const p, q = 0x3000, 0x4000
	bpf := func(h tracetest.Hand, what, program uint64) { h.Emit(smpev.Bpf, g, what, program) }
	changes := func(h tracetest.Hand, program uint64, what ...uint64) {
		for _, w := range what {
			bpf(h, w, program)
		}
	}
	const entry, exit = smpev.BpfAttaches + smpev.BpfEntry, smpev.BpfAttaches + smpev.BpfExit
	begin := func(tr *tracetest.Trace) {
		tr.Image(g, calls...).Expect(2, 0, 0).Expect(2, 1, 0)
		tr.Emit(smpev.Bpf, g, smpev.BpfSite, 0)
	}
	golden("N3-called", func(tr *tracetest.Trace) {
		begin(tr)
		changes(tr.On(0, 1), p, entry, smpev.BpfAttached)
		tr.On(1, 2).Exec(g, calls...)
		changes(tr.On(1, 2), p, smpev.BpfEntry, smpev.BpfRan)
		tr.On(1, 2).CallEnd(0, 0)
		changes(tr.On(0, 1), p, smpev.BpfDetaches, smpev.BpfDetached)
		tr.On(1, 2).Exec(g, nop5...).CallEnd(1, 0)
		tr.ExpectNone()
	})
	trap("N3-lost", "a call doesn't call a program that is attached", func(tr *tracetest.Trace) {
		begin(tr)
		changes(tr.On(0, 1), p, entry, smpev.BpfAttached)
		tr.On(1, 2).Exec(g, nop5...).CallEnd(0, 0)
		tr.ExpectViolation("N3", "the program 0x3000 of 0x1010 has been called for 0 of 1")
	})
	trap("N3-again", "a program is called twice", func(tr *tracetest.Trace) {
		begin(tr)
		changes(tr.On(0, 1), p, entry, smpev.BpfAttached)
		tr.On(1, 2).Exec(g, calls...)
		changes(tr.On(1, 2), p, smpev.BpfEntry, smpev.BpfRan, smpev.BpfEntry)
		tr.ExpectViolation("N3", "again: 2 for 1 calls")
	})
	trap("N3-gone", "a call that begins afterwards calls a program that was detached", func(tr *tracetest.Trace) {
		begin(tr)
		changes(tr.On(0, 1), p, entry, smpev.BpfAttached, smpev.BpfDetaches, smpev.BpfDetached)
		tr.On(1, 2).Exec(g, calls...)
		changes(tr.On(1, 2), p, smpev.BpfEntry)
		tr.ExpectViolation("N3", "that began while it wasn't attached")
	})
	trap("N3-goes", "a program is called by a call that began before it was detached", func(tr *tracetest.Trace) {
		begin(tr)
		changes(tr.On(0, 1), p, entry, smpev.BpfAttached)
		tr.On(1, 2).Exec(g, calls...)
		changes(tr.On(0, 1), p, smpev.BpfDetaches, smpev.BpfDetached)
		changes(tr.On(1, 2), p, smpev.BpfEntry, smpev.BpfRan)
		tr.On(1, 2).CallEnd(0, 0)
		tr.ExpectNone()
	})
	trap("N3-begun", "a program comes while a call is on its way to ftrace, which calls it", func(tr *tracetest.Trace) {
		begin(tr)
		tr.On(1, 2).Exec(g, calls...)
		changes(tr.On(0, 1), p, entry, smpev.BpfAttached)
		changes(tr.On(1, 2), p, smpev.BpfEntry, smpev.BpfRan)
		tr.On(1, 2).CallEnd(0, 0)
		tr.ExpectNone()
	})
	trap("N3-exit-late", "the function returns after its fexit program was detached", func(tr *tracetest.Trace) {
		begin(tr)
		changes(tr.On(0, 1), p, exit, smpev.BpfAttached)
		tr.On(1, 2).Exec(g, calls...)
		changes(tr.On(0, 1), p, smpev.BpfDetaches, smpev.BpfDetached)
		bpf(tr.On(1, 2), smpev.BpfReturns, 0x5000)
		changes(tr.On(1, 2), p, smpev.BpfExit)
		tr.ExpectViolation("N3", "returned after the program was detached")
	})
	trap("N3-exit-begun", "it has returned, and then its fexit program is detached", func(tr *tracetest.Trace) {
		begin(tr)
		changes(tr.On(0, 1), p, exit, smpev.BpfAttached)
		tr.On(1, 2).Exec(g, calls...)
		bpf(tr.On(1, 2), smpev.BpfReturns, 0x5000)
		changes(tr.On(0, 1), p, smpev.BpfDetaches, smpev.BpfDetached)
		changes(tr.On(1, 2), p, smpev.BpfExit, smpev.BpfRan)
		tr.On(1, 2).CallEnd(0, 0)
		tr.ExpectNone()
	})
	trap("N3-exit-beside", "another program comes during a call, whose image skips its fexit program",
		func(tr *tracetest.Trace) {
			begin(tr)
			changes(tr.On(0, 1), p, exit, smpev.BpfAttached)
			changes(tr.On(0, 1), q, entry)
			tr.On(1, 2).Exec(g, calls...)
			bpf(tr.On(1, 2), smpev.BpfReturns, 0x5000)
			tr.On(1, 2).CallEnd(0, 0)
			changes(tr.On(0, 1), q, smpev.BpfAttached)
			tr.ExpectNone()
		})
	trap("N3-skips", "a program leaves the function out, and the next of its kind with it", func(tr *tracetest.Trace) {
		begin(tr)
		for _, program := range []uint64{p, q} {
			changes(tr.On(0, 1), program, smpev.BpfAttaches+smpev.BpfModRet, smpev.BpfAttached)
		}
		tr.On(1, 2).Exec(g, calls...)
		changes(tr.On(1, 2), q, smpev.BpfModRet, smpev.BpfRan, smpev.BpfSkips)
		tr.On(1, 2).CallEnd(0, 0)
		tr.ExpectNone()
	})
	golden("N3-refused", func(tr *tracetest.Trace) {
		begin(tr)
		changes(tr.On(0, 1), p, entry, smpev.BpfRefused)
		tr.On(1, 2).Exec(g, nop5...).CallEnd(0, 0)
		tr.ExpectNone()
	})
	trap("N3-overlap", "two calls for a program overlap, so it isn't known which was first", func(tr *tracetest.Trace) {
		begin(tr)
		changes(tr.On(0, 1), p, entry)
		changes(tr.On(1, 2), p, smpev.BpfDetaches, smpev.BpfDetached)
		changes(tr.On(0, 1), p, smpev.BpfAttached)
		tr.On(1, 2).Exec(g, nop5...).CallEnd(0, 0)
		tr.ExpectNone()
	})
	golden("N3-leak", func(tr *tracetest.Trace) {
		tr.Image(g, calls...)
		tr.On(0, 1).Emit(smpev.Alloc, 0x5000, 256, smpev.BpfMem)
		changes(tr.On(0, 1), p, entry, smpev.BpfAttached, smpev.BpfDetaches, smpev.BpfDetached)
		tr.End(true).ExpectViolation("N3", "1 of their images haven't been freed")
	})
}
