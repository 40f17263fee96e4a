package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
)

// pooled registers a return probe of two instances, 11 and 12, of holder 10.
func pooled(tr *tracetest.Trace) {
	tr.Emit(kpev.Kind, 1, 1, 0)
	tr.ApiEnter(kpev.Register, 1, f).Emit(kpev.InstanceNew, 11, 1, 10).Emit(kpev.InstanceNew, 12, 1, 10).
		ApiReturn(kpev.Register, 1, 0)
}

// takes has a call find an instance of probe 1.
func takes(h tracetest.Hand, instance uint64) {
	h.Emit(kpev.Seeks, 1, 0, 0).Emit(kpev.Lies, instance, 1, 0).Emit(kpev.InstanceGet, instance, 1, 0)
}

func init() {
	golden("R2-life", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.On(1, 2).Emit(kpev.InstanceGet, 11, 1, 0).Emit(kpev.InstancePut, 11, 1, 0).Emit(kpev.InstanceGet, 11, 1, 0).
			Emit(kpev.InstancePut, 11, 1, 0)
		tr.Unregister(1).Emit(kpev.InstanceFree, 11, 1, 10).Emit(kpev.InstanceFree, 12, 1, 10).Emit(kpev.HolderFree, 10,
			1, 0)
		tr.End(true)
		tr.ExpectNone()
	})
	golden("R2-taken-twice", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.On(1, 2).Emit(kpev.InstanceGet, 11, 1, 0)
		tr.On(2, 3).Emit(kpev.InstanceGet, 11, 1, 0)
		tr.ExpectViolation("R2", "takes instance 11 of probe 1, which a call has")
	})
	golden("R2-back-twice", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.On(1, 2).Emit(kpev.InstanceGet, 11, 1, 0).Emit(kpev.InstancePut, 11, 1, 0).Emit(kpev.InstancePut, 11, 1, 0)
		tr.ExpectViolation("R2", "which no call has")
	})
	golden("R2-freed-in-use", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.On(1, 2).Emit(kpev.InstanceGet, 11, 1, 0)
		tr.Unregister(1).Emit(kpev.InstanceFree, 11, 1, 10)
		tr.ExpectViolation("R2", "frees instance 11")
	})
	golden("R2-taken-freed", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.Unregister(1).Emit(kpev.InstanceFree, 11, 1, 10)
		tr.On(1, 2).Emit(kpev.InstanceGet, 11, 1, 0)
		tr.ExpectViolation("R2", "which is freed")
	})
	trap("R2-in-flight", "unregister has returned, and an instance is freed later, by the call that had it",
		func(tr *tracetest.Trace) {
			pooled(tr)
			tr.On(1, 2).Emit(kpev.InstanceGet, 11, 1, 0)
			tr.Unregister(1).Emit(kpev.InstanceFree, 12, 1, 10)
			tr.On(1, 2).Emit(kpev.InstancePut, 11, 1, 0).Emit(kpev.InstanceFree, 11, 1, 10).Emit(kpev.HolderFree, 10, 1,
				0)
			tr.End(true)
			tr.ExpectNone()
		})
	golden("R2-left-behind", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.Unregister(1).Emit(kpev.InstanceFree, 12, 1, 10)
		tr.End(true)
		tr.ExpectViolation("R2", "instance 11 is left behind")
	})
	trap("R2-dropped-late", "what instances belong to is freed, and a reference to it is dropped afterwards",
		func(tr *tracetest.Trace) {
			pooled(tr)
			tr.Unregister(1).Emit(kpev.InstanceFree, 12, 1, 10).Emit(kpev.InstanceFree, 11, 1, 10).
				Emit(kpev.HolderFree, 10, 1, 0)
			tr.Emit(kpev.HolderDrop, 10, 0, 0)
			tr.ExpectViolation("R2", "memory 10, which is freed")
		})
	golden("R2-looked-at", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.Unregister(1).Emit(kpev.InstanceFree, 12, 1, 10).Emit(kpev.InstanceGet, 12, 1, 1)
		tr.ExpectViolation("R2", "looks at instance 12 of probe 1, which is freed")
	})
	golden("R2-missed-free", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.On(1, 2).Break(f).Emit(kpev.Seeks, 1, 0, 0).Emit(kpev.RetMissed, 1, 0, 0)
		tr.ExpectViolation("R2", "counts a miss, though instance 11 is free")
	})
	trap("R2-last-free",
		"one of two instances is in flight, and a call that finds none has looked while the other was free",
		func(tr *tracetest.Trace) {
			pooled(tr)
			takes(tr.On(1, 2), 11)
			tr.On(2, 3).Break(f).Emit(kpev.Seeks, 1, 0, 0).Emit(kpev.RetMissed, 1, 0, 0)
			tr.ExpectViolation("R2", "though instance 12 is free")
		})
	trap("R2-taken-meanwhile",
		"instances were free when a call began to look, and others have taken them before it came to them",
		func(tr *tracetest.Trace) {
			pooled(tr)
			one, two := tr.On(1, 2), tr.On(2, 3)
			two.Break(f).Emit(kpev.Seeks, 1, 0, 0)
			takes(one, 11)
			takes(one, 12)
			two.Emit(kpev.RetMissed, 1, 0, 0)
			tr.ExpectNone()
		})
	trap("R2-on-its-way",
		"an instance is free, and another CPU has come past it: one is on its way back to where it has looked",
		func(tr *tracetest.Trace) {
			pooled(tr)
			one, two := tr.On(1, 2), tr.On(2, 3)
			takes(one, 11)
			two.Break(f).Emit(kpev.Seeks, 1, 0, 0)
			one.Emit(kpev.InstancePut, 11, 1, 0).Emit(kpev.Lies, 11, 1, 1)
			takes(one, 12)
			two.Emit(kpev.RetMissed, 1, 0, 0)
			tr.ExpectNone()
		})
	trap("R2-half-back",
		"an instance has been given back, but isn't where a call would find it yet, and hides those behind it",
		func(tr *tracetest.Trace) {
			pooled(tr)
			takes(tr.On(1, 2), 11)
			tr.On(1, 2).Emit(kpev.InstancePut, 11, 1, 0)
			tr.On(2, 3).Break(f).Emit(kpev.Seeks, 1, 0, 0).Emit(kpev.RetMissed, 1, 0, 0)
			tr.ExpectNone()
		})
	trap("R2-held-back", "where memory is weak an instance that another CPU gave back isn't seen yet",
		func(tr *tracetest.Trace) {
			pooled(tr)
			one := tr.On(1, 2)
			takes(one, 11)
			takes(one, 12)
			one.Emit(kpev.InstancePut, 11, 1, 0).Emit(kpev.Lies, 11, 1, 2)
			tr.On(2, 3).Break(f).Emit(kpev.Seeks, 1, 0, 0).Emit(kpev.RetMissed, 1, 0, 0)
			tr.ExpectNone()
		})
	golden("R2-own-back", func(tr *tracetest.Trace) {
		pooled(tr)
		one := tr.On(1, 2)
		takes(one, 11)
		takes(one, 12)
		one.Emit(kpev.InstancePut, 11, 1, 0).Emit(kpev.Lies, 11, 1, 2)
		one.Break(f).Emit(kpev.Seeks, 1, 0, 0).Emit(kpev.RetMissed, 1, 0, 0)
		tr.ExpectViolation("R2", "finds no instance of return probe 1, and counts a miss, though instance 11 is free")
	})
	trap("R2-leaving", "instances are free, but the return probe is being unregistered: its calls aren't followed any "+
		"more",
		func(tr *tracetest.Trace) {
			pooled(tr)
			tr.On(1, 2).Break(f).Emit(kpev.Seeks, 1, 0, 0)
			tr.ApiEnter(kpev.Unregister, 1, f)
			tr.On(1, 2).Emit(kpev.RetMissed, 1, 0, 0)
			tr.ExpectNone()
		})
	golden("R2-one-less", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Wants, 1, 3, 0)
		pooled(tr)
		tr.ExpectViolation("R2", "registers return probe 1, which follows 2 calls at a time, and asks for 3")
	})
	trap("R2-one-less-again", "the registration before had more", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Wants, 1, 2, 0)
		pooled(tr)
		tr.Unregister(1).Emit(kpev.InstanceFree, 11, 1, 10).Emit(kpev.InstanceFree, 12, 1, 10).Emit(kpev.HolderFree, 10,
			1, 0)
		tr.ApiEnter(kpev.Register, 1, f).Emit(kpev.InstanceNew, 13, 1, 20).ApiReturn(kpev.Register, 1, 0)
		tr.ExpectViolation("R2", "which follows 1 calls at a time, and asks for 2")
	})
	golden("R2-stays", func(tr *tracetest.Trace) {
		pooled(tr)
		takes(tr.On(1, 2), 11)
		tr.On(1, 2).Emit(kpev.InstancePut, 11, 1, 0).Emit(kpev.Stays, 11, 1, 2)
		tr.ExpectViolation("R2", "gives back instance 11 of probe 1, which is still among the calls in flight of task2")
	})
	trap("R2-holder-left", "all instances are freed, and what they belong to isn't",
		func(tr *tracetest.Trace) {
			pooled(tr)
			tr.Unregister(1).Emit(kpev.InstanceFree, 11, 1, 10).Emit(kpev.InstanceFree, 12, 1, 10).
				Emit(kpev.HolderDrop, 10, 3, 1)
			tr.End(true)
			tr.ExpectViolation("R2", "return probe memory 10 is left behind")
		})
	golden("R2-holder-twice", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.Emit(kpev.HolderFree, 10, 1, 0).Emit(kpev.HolderFree, 10, 1, 0)
		tr.ExpectViolation("R2", "twice")
	})
}
