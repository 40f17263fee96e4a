package properties_test

import (
	"kpsim/kprobes/kpev"
	"kpsim/traces/tracetest"
)

// pooled registers a return probe of two instances, 11 and 12, of holder 10.
func pooled(tr *tracetest.Trace) {
	tr.Emit(kpev.Kind, 1, 1, 0)
	tr.ApiEnter(kpev.Register, 1, f).Emit(kpev.InstanceNew, 11, 1, 10).Emit(kpev.InstanceNew, 12, 1, 10).ApiReturn(kpev.Register, 1, 0)
}

func init() {
	golden("R2-life", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.On(1, 2).Emit(kpev.InstanceGet, 11, 1, 0).Emit(kpev.InstancePut, 11, 1, 0).Emit(kpev.InstanceGet, 11, 1, 0).Emit(kpev.InstancePut, 11, 1, 0)
		tr.Unregister(1).Emit(kpev.InstanceFree, 11, 1, 10).Emit(kpev.InstanceFree, 12, 1, 10).Emit(kpev.HolderFree, 10, 1, 0)
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
			tr.On(1, 2).Emit(kpev.InstancePut, 11, 1, 0).Emit(kpev.InstanceFree, 11, 1, 10).Emit(kpev.HolderFree, 10, 1, 0)
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
			tr.Unregister(1).Emit(kpev.InstanceFree, 12, 1, 10).Emit(kpev.InstanceFree, 11, 1, 10).Emit(kpev.HolderFree, 10, 1, 0)
			tr.Emit(kpev.HolderDrop, 10, 0, 0)
			tr.ExpectViolation("R2", "memory 10, which is freed")
		})
	golden("R2-looked-at", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.Unregister(1).Emit(kpev.InstanceFree, 12, 1, 10).Emit(kpev.InstanceGet, 12, 1, 1)
		tr.ExpectViolation("R2", "looks at instance 12 of probe 1, which is freed")
	})
	golden("R2-holder-twice", func(tr *tracetest.Trace) {
		pooled(tr)
		tr.Emit(kpev.HolderFree, 10, 1, 0).Emit(kpev.HolderFree, 10, 1, 0)
		tr.ExpectViolation("R2", "twice")
	})
}
