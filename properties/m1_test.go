package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

// ofModule says that f is in the text of module 3, which registered probes hold or don't.
func ofModule(tr *tracetest.Trace, keeps uint64) {
	tr.Emit(smpev.Module, f, 0x10, 3).Emit(kpev.Keeps, keeps, 0, 0)
}

func init() {
	golden("M1-held-for-good", func(tr *tracetest.Trace) {
		ofModule(tr, 0)
		tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 0)
		tr.ApiEnter(kpev.Unregister, 1, f).ApiReturn(kpev.Unregister, 1, 0)
		tr.On(1, 2).Emit(smpev.Denies, 3, 0, 0)
		tr.ExpectViolation("M1", "cpu1 task2 is refused to unload module 3, which nobody holds")
	})
	trap("M1-registered", "a probe is registered in the module, but only old kernels hold it for that",
		func(tr *tracetest.Trace) {
			ofModule(tr, 0)
			tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 0)
			tr.On(1, 2).Emit(smpev.Denies, 3, 0, 0)
			tr.ExpectViolation("M1", "which nobody holds")
		})
	trap("M1-old", "rmmod is refused, and no call of the API is under way: in this edition a registered probe holds its "+
		"module",
		func(tr *tracetest.Trace) {
			ofModule(tr, 1)
			tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 0)
			tr.On(1, 2).Emit(smpev.Denies, 3, 0, 0)
			tr.Emit(smpev.Holds, 3, 1, 0).End(true)
			tr.ExpectNone()
		})
	trap("M1-elsewhere", "in this edition a registered probe holds its module, but the one that there is is in the kernel",
		func(tr *tracetest.Trace) {
			ofModule(tr, 1)
			tr.ApiEnter(kpev.Register, 1, g).ApiReturn(kpev.Register, 1, 0)
			tr.On(1, 2).Emit(smpev.Denies, 3, 0, 0)
			tr.ExpectViolation("M1", "which nobody holds")
		})
	trap("M1-registering",
		"rmmod is refused, and nothing is registered: a call that finds no text to probe holds the module meanwhile",
		func(tr *tracetest.Trace) {
			ofModule(tr, 0)
			tr.ApiEnter(kpev.Register, 1, f)
			tr.On(1, 2).Emit(smpev.Denies, 3, 0, 0)
			tr.ApiReturn(kpev.Register, 1, 22).Emit(smpev.Holds, 3, 0, 0).End(true)
			tr.ExpectNone()
		})
	trap("M1-loading", "rmmod is refused, and there is no probe: insmod hasn't ended",
		func(tr *tracetest.Trace) {
			ofModule(tr, 0)
			tr.On(1, 2).Emit(smpev.Denies, 3, 1, 0)
			tr.ExpectNone()
		})
	insmod, rmmod := uint64(smpev.AskedLoad), uint64(smpev.AskedUnload)
	golden("M1-gone", func(tr *tracetest.Trace) {
		ofModule(tr, 0)
		tr.Emit(smpev.Asked, 3, insmod, 0).Emit(smpev.Asked, 3, insmod+smpev.AskedEnds, 0)
		tr.On(1, 2).Emit(smpev.Asked, 3, rmmod, 0).Emit(smpev.Asked, 3, rmmod+smpev.AskedEnds, 2)
		tr.ExpectViolation("M1", "answers 2 to rmmod of module 3, which is loaded")
	})
	golden("M1-absent", func(tr *tracetest.Trace) {
		ofModule(tr, 0)
		tr.On(1, 2).Emit(smpev.Asked, 3, rmmod, 0).Emit(smpev.Asked, 3, rmmod+smpev.AskedEnds, 16)
		tr.ExpectViolation("M1", "answers 16 to rmmod of module 3, which isn't loaded")
	})
	golden("M1-exists", func(tr *tracetest.Trace) {
		ofModule(tr, 0)
		tr.On(1, 2).Emit(smpev.Asked, 3, insmod, 0).Emit(smpev.Asked, 3, insmod+smpev.AskedEnds, 17)
		tr.ExpectViolation("M1", "answers 17 to insmod of module 3, which isn't loaded")
	})
	trap("M1-loaded-twice", "two insmods overlap, and both succeed: no order of the two allows that",
		func(tr *tracetest.Trace) {
			ofModule(tr, 0)
			tr.Emit(smpev.Asked, 3, insmod, 0)
			tr.On(1, 2).Emit(smpev.Asked, 3, insmod, 0).Emit(smpev.Asked, 3, insmod+smpev.AskedEnds, 0)
			tr.On(0, 1).Emit(smpev.Asked, 3, insmod+smpev.AskedEnds, 0)
			tr.ExpectViolation("M1", "of insmod and rmmod more have succeeded")
		})
	trap("M1-rmmod-busy", "rmmod is refused of a module that is there, and nobody holds it: its insmod isn't over",
		func(tr *tracetest.Trace) {
			ofModule(tr, 0)
			tr.Emit(smpev.Asked, 3, insmod, 0)
			tr.On(1, 2).Emit(smpev.Asked, 3, rmmod, 0).Emit(smpev.Asked, 3, rmmod+smpev.AskedEnds, 16)
			tr.On(0, 1).Emit(smpev.Asked, 3, insmod+smpev.AskedEnds, 0)
			tr.ExpectNone()
		})
	trap("M1-there", "the module is there as the run begins: a second insmod of it can't succeed",
		func(tr *tracetest.Trace) {
			ofModule(tr, 0)
			tr.Emit(smpev.Asked, 3, insmod+smpev.AskedEnds, 0)
			tr.On(1, 2).Emit(smpev.Asked, 3, insmod, 0).Emit(smpev.Asked, 3, insmod+smpev.AskedEnds, 0)
			tr.ExpectViolation("M1", "answers 0 to insmod of module 3, which is loaded")
		})
	trap("M1-refused", "register was refused, nobody unloads the module, and a hold is left of it",
		func(tr *tracetest.Trace) {
			ofModule(tr, 1)
			tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 22)
			tr.Emit(smpev.Holds, 3, 1, 0).End(true)
			tr.ExpectViolation("M1", "at the end module 3 is held 1 times, and 0 probes in it may hold it")
		})
}
