package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	golden("L3-off-and-on", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.Sysctl(0, 0)
		unoptimize(tr)
		tr.Sysctl(0, 1).Sysctl(1, 0).Emit(kpev.Printk, uint64(kpev.LineOptimized), 0, 0).Sysctl(1, 1)
		optimize(tr)
		tr.End(true).ExpectNone()
	})
	golden("L3-jump-left", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.Sysctl(0, 0).Sysctl(0, 1)
		tr.ExpectViolation("L3", "a jump still stands at probe 1")
	})
	golden("L3-jump-written", func(tr *tracetest.Trace) {
		tr.Sysctl(0, 0).Sysctl(0, 1)
		probed(tr)
		optimize(tr)
		tr.ExpectViolation("L3", "writes a jump at probe 1")
	})
	trap("L3-still-leaving", "a jump stands, but the write of 0 hasn't returned",
		func(tr *tracetest.Trace) {
			probed(tr)
			optimize(tr)
			tr.Sysctl(0, 0).End(false).ExpectNone()
		})
	trap("L3-overtaken", "the write of 0 has returned last, but one of 1 was under way meanwhile: which came last is open",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.On(0, 1).Sysctl(0, 0)
			tr.On(1, 2).Sysctl(1, 0).Sysctl(1, 1)
			optimize(tr)
			tr.On(0, 1).Sysctl(0, 1)
			tr.End(true).ExpectNone()
		})
	trap("L3-off-twice", "a second write of 0 is under way, but the first has returned",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.On(0, 1).Sysctl(0, 0).Sysctl(0, 1)
			tr.On(1, 2).Sysctl(0, 0)
			optimize(tr)
			tr.ExpectViolation("L3", "writes a jump at probe 1")
		})
	trap("L3-dying", "a jump is left, in a module's text that is about to go",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem).Alloc(0x9000, 0x100, smpev.ModuleMem)
			probed(tr)
			optimize(tr)
			tr.On(0, 1).Sysctl(0, 0)
			tr.On(1, 2).Retire(f, 0x100, smpev.ModuleMem)
			tr.On(0, 1).Sysctl(0, 1)
			tr.On(1, 2).Free(f, 0x100, smpev.ModuleMem)
			tr.End(false).ExpectNone()
		})
	trap("L3-other-module", "a module's text is about to go, but the jump that is left is in another's",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem).Alloc(0x9000, 0x100, smpev.ModuleMem)
			probed(tr)
			optimize(tr)
			tr.Retire(0x9000, 0x100, smpev.ModuleMem).Sysctl(0, 0).Sysctl(0, 1)
			tr.ExpectViolation("L3", "a jump still stands at probe 1")
		})
	trap("L3-no-longer-registered",
		"the jump stands at a probe that is being unregistered: no probe is certainly there",
		func(tr *tracetest.Trace) {
			probed(tr)
			optimize(tr)
			tr.On(0, 1).ApiEnter(kpev.Unregister, 1, 0)
			tr.On(1, 2).Sysctl(0, 0).Sysctl(0, 1)
			tr.End(false).ExpectNone()
		})
}
