package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/smp/smpev"
)

func init() {
	const old, inner, new = 0xffffffff81000010, 0xffffffff81000000, 0xffffffff81000030
	golden("U1-mixed", func(tr *tracetest.Trace) {
		tr.On(1, 2).Emit(smpev.LiveSwitch, 2, 1, smpev.LiveForced).Emit(smpev.LiveCall, inner, new, old+0xe)
		tr.ExpectViolation("U1",
			"cpu1 task2 calls 0xffffffff81000000, which goes on at 0xffffffff81000030, and will return to 0xffffffff8100001e, "+
				"which is of another version of its live patch")
	})
	trap("U1-old-in-new", "a task that was switched back calls the old function from a new one",
		func(tr *tracetest.Trace) {
			tr.On(1, 2).Emit(smpev.LiveCall, inner, inner, new+4)
			tr.ExpectViolation("U1", "of another version")
		})
	trap("U1-both", "two tasks call two versions, each its own", func(tr *tracetest.Trace) {
		tr.On(0, 1).Emit(smpev.LiveCall, inner, new, 0)
		tr.On(1, 2).Emit(smpev.LiveCall, inner, inner, 0)
		tr.ExpectNone()
	})
}
