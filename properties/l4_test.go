package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

// enabledFile adds a write of kprobes/enabled that begins and returns.
func enabledFile(tr *tracetest.Trace, on uint64) {
	tr.Emit(kpev.Enabled, on, 0, 0).Emit(kpev.Enabled, on, 1, 0)
}

func init() {
	golden("L4-off-and-on", func(tr *tracetest.Trace) {
		probed(tr)
		tr.Emit(kpev.Enabled, 0, 0, 0)
		disarm(tr, f, push[0])
		tr.Emit(kpev.Enabled, 0, 1, 0).Emit(kpev.Enabled, 1, 0, 0)
		arm(tr, f)
		tr.Emit(kpev.Printk, uint64(kpev.LineArmed), 0, 0)
		tr.Emit(kpev.Enabled, 1, 1, 0).End(true).ExpectNone()
	})
	golden("L4-breakpoint-left", func(tr *tracetest.Trace) {
		probed(tr)
		enabledFile(tr, 0)
		tr.ExpectViolation("L4", "returns from kprobes/enabled = 0, and cc still stands at probe 1")
	})
	golden("L4-armed", func(tr *tracetest.Trace) {
		enabledFile(tr, 0)
		tr.ApiEnter(kpev.Register, 1, f)
		arm(tr, f)
		tr.ExpectViolation("L4", "writes cc at probe 1")
	})
	trap("L4-twice", "a second write of 0 returns while the first is still at it: the second needn't wait",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.On(0, 1).Emit(kpev.Enabled, 0, 0, 0)
			tr.On(1, 2).Emit(kpev.Enabled, 0, 0, 0).Emit(kpev.Enabled, 0, 1, 0)
			tr.On(0, 1)
			disarm(tr, f, push[0])
			tr.Emit(kpev.Enabled, 0, 1, 0).End(true).ExpectNone()
		})
	trap("L4-overtaken", "the write of 0 has returned last, but one of 1 was under way meanwhile",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.On(0, 1).Emit(kpev.Enabled, 0, 0, 0)
			tr.On(1, 2).Emit(kpev.Enabled, 1, 0, 0)
			tr.On(0, 1).Emit(kpev.Enabled, 0, 1, 0)
			tr.End(false).ExpectNone()
		})
	trap("L4-off-before", "a second write of 0 is under way, but the first has returned",
		func(tr *tracetest.Trace) {
			tr.On(0, 1).Emit(kpev.Enabled, 0, 0, 0).Emit(kpev.Enabled, 0, 1, 0)
			tr.On(1, 2).Emit(kpev.Enabled, 0, 0, 0)
			tr.On(0, 1).ApiEnter(kpev.Register, 1, f)
			arm(tr, f)
			tr.ExpectViolation("L4", "writes cc at probe 1")
		})
	trap("L4-raw", "a breakpoint is written at a probe while all is off: by a patcher of the site it shares, on its way "+
		"to a call",
		func(tr *tracetest.Trace) {
			tr.Image(g, nop5...).Image(g, label...)
			enabledFile(tr, 0)
			tr.Register(1, g).Store(g, bp...).Store(g, label[0])
			tr.End(false).ExpectNone()
		})
	trap("L4-dying", "the breakpoint stays: in a module's text that is about to go",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem)
			probed(tr)
			tr.Retire(f, 0x100, smpev.ModuleMem)
			enabledFile(tr, 0)
			tr.End(false).ExpectNone()
		})
}
