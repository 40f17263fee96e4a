package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/smp/smpev"
)

func init() {
	const ftrace, hand = 4 << 1, 9 << 1
	golden("T6-over-a-jump", func(tr *tracetest.Trace) {
		tr.On(0, 1).Emit(smpev.Shares, f, 5, hand|smpev.SharesWrote)
		tr.On(1, 2).Emit(smpev.Shares, f, 5, ftrace|smpev.SharesWrote)
		tr.ExpectViolation("T6", "hasn't read that since")
	})
	trap("T6-read-before", "ftrace has read the site, before another patcher wrote to it", func(tr *tracetest.Trace) {
		tr.On(1, 2).Emit(smpev.Shares, f, 5, ftrace)
		tr.On(0, 1).Emit(smpev.Shares, f+4, 1, hand|smpev.SharesWrote)
		tr.On(1, 2).Emit(smpev.Shares, f, 5, ftrace|smpev.SharesWrote)
		tr.ExpectViolation("T6", "hasn't read that since")
	})
	trap("T6-read-since", "another's bytes stand there, and ftrace has read them", func(tr *tracetest.Trace) {
		tr.On(0, 1).Emit(smpev.Shares, f, 5, hand|smpev.SharesWrote)
		tr.On(1, 2).Emit(smpev.Shares, f, 5, ftrace).Emit(smpev.Shares, f, 5, ftrace|smpev.SharesWrote)
		tr.ExpectNone()
	})
	trap("T6-its-own", "ftrace writes over what it has written without a look", func(tr *tracetest.Trace) {
		tr.On(1, 2).Emit(smpev.Shares, f, 5, ftrace|smpev.SharesWrote)
		tr.On(1, 2).Emit(smpev.Shares, f, 5, ftrace|smpev.SharesWrote)
		tr.ExpectNone()
	})
	trap("T6-beside", "two patchers write to one instruction, to different bytes", func(tr *tracetest.Trace) {
		tr.On(0, 1).Emit(smpev.Shares, f, 2, hand|smpev.SharesWrote)
		tr.On(1, 2).Emit(smpev.Shares, f+2, 3, ftrace|smpev.SharesWrote)
		tr.ExpectNone()
	})
}
