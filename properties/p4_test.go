package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	// jumped has probe 1 at f, and its jump there.
	jumped := func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
	}
	golden("P4-jump", func(tr *tracetest.Trace) {
		jumped(tr)
		tr.End(true).ExpectNone()
	})
	golden("P4-disabled", func(tr *tracetest.Trace) {
		jumped(tr)
		tr.ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 0)
		tr.End(true).ExpectViolation("P4", "a jump stands at 0x1000, and probe 1 is disabled, as all are")
	})
	trap("P4-disabled-away", "it is disabled, and the optimizer has its work before it", func(tr *tracetest.Trace) {
		jumped(tr)
		tr.ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 0)
		tr.End(false).ExpectNone()
	})
	trap("P4-enabled-too", "one of its address is disabled, and another isn't", func(tr *tracetest.Trace) {
		jumped(tr)
		tr.Register(2, f)
		tr.ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 0)
		tr.End(true).ExpectNone()
	})
	trap("P4-enabled-meanwhile", "it was disabled, but somebody else enabled it at the same time",
		func(tr *tracetest.Trace) {
			jumped(tr)
			tr.ApiEnter(kpev.Disable, 1, f)
			tr.On(1, 2).ApiEnter(kpev.Enable, 1, f).ApiReturn(kpev.Enable, 1, 0)
			tr.On(0, 0).ApiReturn(kpev.Disable, 1, 0)
			tr.End(true).ExpectNone()
		})
	trap("P4-both-disabled", "the jump was one probe's, and the other was disabled from the beginning: but now both are",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Kind, 2, 0, kpev.IsDisabled)
			jumped(tr)
			tr.Register(2, f)
			tr.ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 0)
			tr.End(true).ExpectViolation("P4", "is disabled, as all are")
		})
	trap("P4-post", "all are enabled, but one that has joined has a post_handler", func(tr *tracetest.Trace) {
		tr.Emit(kpev.NoJump, 2, 0, 0)
		jumped(tr)
		tr.Register(2, f)
		tr.End(true).ExpectViolation("P4", "a jump stands at 0x1000, and probe 2 is there, which forbids it")
	})
	trap("P4-post-gone", "a probe with a post_handler was there, and has gone", func(tr *tracetest.Trace) {
		tr.Emit(kpev.NoJump, 2, 0, 0)
		jumped(tr)
		unoptimize(tr)
		tr.Register(2, f)
		tr.Unregister(2)
		optimize(tr)
		tr.End(true).ExpectNone()
	})
	trap("P4-post-lost", "a probe with a post_handler is registered, but its module has gone since, and is there again",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.NoJump, 2, 0, 0)
			tr.Alloc(f, 0x100, smpev.ModuleMem)
			tr.Register(2, f)
			tr.Retire(f, 0x100, smpev.ModuleMem).Free(f, 0x100, smpev.ModuleMem)
			tr.Alloc(f, 0x100, smpev.ModuleMem).Store(f, push...)
			jumped(tr)
			tr.End(true).ExpectNone()
		})
	trap("P4-post-elsewhere", "a probe with a post_handler is registered, but elsewhere", func(tr *tracetest.Trace) {
		tr.Emit(kpev.NoJump, 2, 0, 0)
		jumped(tr)
		tr.Register(2, f+5)
		arm(tr, f+5)
		tr.End(true).ExpectNone()
	})
	trap("P4-under-disabled", "another probe lies under the jump, but it is disabled", func(tr *tracetest.Trace) {
		jumped(tr)
		tr.Register(2, f+1)
		tr.ApiEnter(kpev.Disable, 2, f+1).ApiReturn(kpev.Disable, 2, 0)
		tr.End(true).ExpectNone()
	})
	trap("P4-under", "the jump is whole, but over the place of another probe that is enabled",
		func(tr *tracetest.Trace) {
			jumped(tr)
			tr.Register(2, f+1)
			tr.End(true).ExpectViolation("P4", "a jump stands at 0x1000, and probe 2 lies under it")
		})
	trap("P4-off", "the same, but kprobes/enabled is 0, and nothing is armed", func(tr *tracetest.Trace) {
		jumped(tr)
		tr.Emit(kpev.Enabled, 0, 0, 0)
		tr.Register(2, f+1)
		tr.End(true).ExpectNone()
	})
}
