package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

const (
	isArmed     = kpev.StateArmed
	isOptimized = isArmed | kpev.StateJumped | kpev.StateOptimized
	isQueued    = isArmed | kpev.StateOptimized | kpev.StateOptimizing
)

func init() {
	state := func(tr *tracetest.Trace, bits uint64) *tracetest.Trace {
		tr.Emit(kpev.State, f, bits, detour)
		return tr
	}
	golden("T4-states", func(tr *tracetest.Trace) {
		probed(tr)
		state(tr, isQueued)
		optimize(tr)
		state(tr, isOptimized)
		state(tr, isOptimized|kpev.StateUnoptimizing)
		unoptimize(tr)
		state(tr, isArmed)
		disarm(tr, f, push[0])
		state(tr, 0).End(false).ExpectNone()
	})
	golden("T4-not-armed", func(tr *tracetest.Trace) {
		probed(tr)
		disarm(tr, f, push[0])
		state(tr, isArmed).ExpectViolation("T4", "leaves 0x1000 armed, and 55 stands there")
	})
	golden("T4-no-jump", func(tr *tracetest.Trace) {
		probed(tr)
		state(tr, isOptimized).ExpectViolation("T4", "no jump to its detour stands there: cc 48 89 e5 53")
	})
	trap("T4-elsewhere", "a jump stands there, but it leads to another detour", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.Emit(kpev.State, f, isOptimized, detour+0x40)
		tr.ExpectViolation("T4", "no jump to its detour")
	})
	trap("T4-marked", "the text is an armed probe's, but the mark is an optimized one's", func(tr *tracetest.Trace) {
		probed(tr)
		state(tr, isArmed|kpev.StateOptimized).ExpectViolation("T4", "with a mark and a text that differ")
	})
	trap("T4-queued-jump", "the text is a jump, but it is still queued to be one", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		state(tr, isQueued|kpev.StateJumped).ExpectViolation("T4", "queued to be optimized, and is so already")
	})
	trap("T4-freed-jump", "queued to be freed, but the jump is still there", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		state(tr, isOptimized|kpev.StateFreeing).ExpectViolation("T4", "queued to be freed with its jump")
	})
	trap("T4-covered", "disarmed, and another byte stands there: of a neighbour's jump", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.Emit(kpev.State, f+1, 0, 0)
		tr.End(false).ExpectNone()
	})
	trap("T4-gone", "not armed, and a breakpoint stands there: in a module's text that has gone",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem)
			probed(tr)
			tr.Retire(f, 0x100, smpev.ModuleMem)
			state(tr, kpev.StateGone).End(false).ExpectNone()
		})
	trap("T4-gone-armed", "a breakpoint stands there, as the state says: but the text has gone",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem)
			probed(tr)
			tr.Retire(f, 0x100, smpev.ModuleMem)
			state(tr, isArmed|kpev.StateGone).ExpectViolation("T4", "armed, though its text is gone")
		})
	trap("T4-ftrace", "armed, and no breakpoint stands there: ftrace calls it", func(tr *tracetest.Trace) {
		tr.Register(1, h)
		tr.Emit(kpev.State, h, isArmed|kpev.StateFtrace|kpev.StateCalled, 0)
		tr.End(false).ExpectNone()
	})
	trap("T4-gone-called", "not armed, as gone text is not: but ftrace will call when there is text again",
		func(tr *tracetest.Trace) {
			tr.Register(1, h)
			tr.Emit(kpev.State, h, kpev.StateGone|kpev.StateFtrace|kpev.StateCalled, 0)
			tr.ExpectViolation("T4", "in ftrace's filter, though its text is gone")
		})
}
