package properties_test

import "kpsim/internal/testkit/tracetest"

func init() {
	golden("X1-same", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0xabc).Expect(2, 1, 0xdef)
		tr.On(1, 2).CallEnd(0, 0xabc).CallEnd(1, 0xdef)
		tr.End(true).ExpectNone()
	})
	golden("X1-other-digest", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0xabc).On(1, 2).CallEnd(0, 0xabd)
		tr.ExpectViolation("X1", "with 0xabd; without probes it ends with 0xabc")
	})
	trap("X1-not-compared", "another digest, but a handler changes the call on purpose",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0).On(1, 2).CallEnd(0, 0xabd)
			tr.End(true).ExpectNone()
		})
	trap("X1-other-order", "the digests come in another order: the tasks went in another order",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0xa).Expect(2, 1, 0xb).Expect(3, 0, 0xc)
			tr.On(1, 3).CallEnd(0, 0xc)
			tr.On(1, 2).CallEnd(0, 0xa).CallEnd(1, 0xb)
			tr.End(true).ExpectNone()
		})
	trap("X1-never-ended", "all that ended was as expected, but one call didn't end",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0xa).Expect(2, 1, 0).On(1, 2).CallEnd(0, 0xa)
			tr.End(true).ExpectViolation("X1", "call 1 of task 2 hasn't ended")
		})
	golden("X1-cut-short", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0xa).End(false).ExpectNone()
	})
	golden("X1-unexpected", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0xa).On(1, 3).CallEnd(0, 0xa)
		tr.ExpectViolation("X1", "doesn't make")
	})
	golden("X1-twice", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0xa).On(1, 2).CallEnd(0, 0xa).CallEnd(0, 0xa)
		tr.ExpectViolation("X1", "second time")
	})
}
