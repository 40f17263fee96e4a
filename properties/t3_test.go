package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	golden("T3-sails-past", func(tr *tracetest.Trace) {
		probed(tr)
		tr.On(1, 2).Exec(f, push...)
		tr.ExpectViolation("T3", "original 55 at 0x1000, though probe 1")
	})
	trap("T3-registering", "the breakpoint is in memory, but register hasn't returned",
		func(tr *tracetest.Trace) {
			tr.ApiEnter(kpev.Register, 1, f)
			arm(tr, f)
			tr.On(1, 2).Exec(f, push...)
			tr.ApiReturn(kpev.Register, 1, 0)
			tr.ExpectNone()
		})
	trap("T3-gone", "the probe was enabled and never disabled, but its module's text went, and runs again as it was",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem)
			probed(tr)
			tr.Retire(f, 0x100, smpev.ModuleMem).Free(f, 0x100, smpev.ModuleMem)
			tr.Alloc(f, 0x100, smpev.ModuleMem).Store(f, push[0])
			tr.On(1, 2).Exec(f, push...)
			tr.End(true).ExpectNone()
		})
	trap("T3-gone-meanwhile", "register returns last, but the module's text went before that",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem)
			tr.ApiEnter(kpev.Register, 1, f)
			arm(tr, f)
			tr.Retire(f, 0x100, smpev.ModuleMem).ApiReturn(kpev.Register, 1, 0).Free(f, 0x100, smpev.ModuleMem)
			tr.Alloc(f, 0x100, smpev.ModuleMem).Store(f, push[0])
			tr.On(1, 2).Exec(f, push...)
			tr.End(true).ExpectNone()
		})
	trap("T3-gone-enabled", "enable begins and returns while the module's text goes",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem)
			probed(tr)
			tr.Disable(1).Retire(f, 0x100, smpev.ModuleMem).Enable(1).Free(f, 0x100, smpev.ModuleMem)
			tr.Alloc(f, 0x100, smpev.ModuleMem).Store(f, push[0])
			tr.On(1, 2).Exec(f, push...)
			tr.End(true).ExpectNone()
		})
	trap("T3-disabling", "the breakpoint is in memory, but disable has begun",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.ApiEnter(kpev.Disable, 1, f)
			tr.On(1, 2).Exec(f, push...)
			tr.ExpectNone()
		})
	golden("T3-enabled-again", func(tr *tracetest.Trace) {
		probed(tr)
		tr.Disable(1).On(1, 2).Exec(f, push...)
		tr.Enable(1).On(1, 2).Exec(f, push...)
		tr.ExpectViolation("T3", "probe 1")
	})
	trap("T3-sibling-left", "a probe was unregistered there, and another one is still enabled",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.Register(2, f).Unregister(1)
			tr.On(1, 2).Exec(f, push...)
			tr.ExpectViolation("T3", "probe 2")
		})
	golden("T3-failed-register", func(tr *tracetest.Trace) {
		tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 22)
		tr.On(1, 2).Exec(f, push...)
		tr.ExpectNone()
	})
	trap("T3-overlapping-calls", "enable returns last, but disable began meanwhile on another CPU",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.Disable(1)
			tr.ApiEnter(kpev.Enable, 1, 0)
			tr.On(1, 2).Disable(1)
			tr.ApiReturn(kpev.Enable, 1, 0)
			tr.On(1, 2).Exec(f, push...)
			tr.ExpectNone()
		})
	golden("T3-elsewhere", func(tr *tracetest.Trace) {
		probed(tr)
		tr.On(1, 2).Exec(f+1, mov...).Exec(f+4, 0x53)
		tr.ExpectNone()
	})
}
