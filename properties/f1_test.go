package properties_test

import (
	"fmt"

	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	golden("F1-carried", func(tr *tracetest.Trace) {
		tr.ApiEnter(kpev.Register, 1, f).Emit(kpev.Carries, 0, 0, 1).Emit(kpev.Carries, f, 1, 0).
			ApiReturn(kpev.Register, 1, 0)
		tr.ExpectNone()
	})
	golden("F1-not-carried", func(tr *tracetest.Trace) {
		tr.ApiEnter(kpev.Register, 1, f).Emit(kpev.Carries, 0, 0, 1).ApiReturn(kpev.Register, 1, 0)
		tr.ExpectViolation("F1", "probe 1, which is registered at 0x1000, isn't listed")
	})
	trap("F1-leaves", "register has returned, and the probe isn't listed: another task has begun to unregister it",
		func(tr *tracetest.Trace) {
			tr.ApiEnter(kpev.Register, 1, f).Emit(kpev.Carries, 0, 0, 1).Emit(kpev.Carries, f, 1, 0)
			tr.On(1, 2).ApiEnter(kpev.Unregister, 1, f).Emit(kpev.Carries, 0, 0, 1)
			tr.On(0, 0).ApiReturn(kpev.Register, 1, 0)
			tr.ExpectNone()
		})
	trap("F1-unreported",
		"register has answered, and the last report hasn't got the probe: the engine's mutex was let go since, without one",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Carries, 0, 0, 1)
			tr.ApiEnter(kpev.Register, 1, f).Emit(kpev.Carries, 0, 0, 2).ApiReturn(kpev.Register, 1, 0)
			tr.ExpectNone()
		})
	trap("F1-sibling-only", "a probe is listed at the address, but it isn't the one that was registered last",
		func(tr *tracetest.Trace) {
			tr.ApiEnter(kpev.Register, 1, f).Emit(kpev.Carries, 0, 0, 1).Emit(kpev.Carries, f, 1, 0).
				ApiReturn(kpev.Register, 1, 0)
			tr.ApiEnter(kpev.Register, 2, f).Emit(kpev.Carries, 0, 0, 1).Emit(kpev.Carries, f, 1, 0).
				ApiReturn(kpev.Register, 2, 0)
			tr.ExpectViolation("F1", "probe 2, which is registered at 0x1000, isn't listed")
		})
	trap("F1-stays", "unregister answers 0, and the probe stays listed",
		func(tr *tracetest.Trace) {
			tr.ApiEnter(kpev.Register, 1, f).Emit(kpev.Carries, 0, 0, 1).Emit(kpev.Carries, f, 1,
				0).ApiReturn(kpev.Register, 1, 0)
			tr.ApiEnter(kpev.Unregister, 1, f).Emit(kpev.Carries, 0, 0, 1).Emit(kpev.Carries, f, 1, 0).
				ApiReturn(kpev.Unregister, 1, 0)
			tr.ExpectViolation("F1", "probe 1, which isn't registered, is listed")
		})
	line := func(tr *tracetest.Trace, addr uint64, letter byte, tags uint64) *tracetest.Trace {
		tr.Emit(kpev.Listed, addr, uint64(letter), tags)
		return tr
	}
	golden("F1-empty", func(tr *tracetest.Trace) {
		probed(tr)
		line(tr, 0, 0, 0).End(true).ExpectViolation("F1", "0 lines k for 0x1000")
	})
	golden("F1-armed", func(tr *tracetest.Trace) {
		probed(tr)
		line(tr, f, 'k', 0).End(true).ExpectNone()
	})
	golden("F1-optimized", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		line(tr, f, 'k', kpev.TagOptimized).End(true).ExpectNone()
	})
	for _, b := range []byte{0xcc, 0xe9} {
		trap(fmt.Sprintf("F1-jump-byte-%x", b),
			"a disabled probe lies behind the first byte of a jump, whose second byte looks like a breakpoint or a jump",
			func(tr *tracetest.Trace) {
				probed(tr)
				tr.Register(2, f+1).Disable(2)
				tr.Image(f, 0xe9, b, 0x0f, 0xfc, 0x1e).Store(f+1, b, 0x0f, 0xfc, 0x1e).Store(f, 0xe9)
				line(tr, f, 'k', kpev.TagOptimized)
				line(tr, f+1, 'k', kpev.TagDisabled).End(true).ExpectNone()
			})
	}
	golden("F1-missing", func(tr *tracetest.Trace) {
		probed(tr)
		line(tr, g, 'k', 0).End(true).ExpectViolation("F1", "kprobes/list has 0 lines k for 0x1000, where 1 to 1")
	})
	golden("F1-not-optimized", func(tr *tracetest.Trace) {
		probed(tr)
		line(tr, f, 'k', kpev.TagOptimized).End(true).ExpectViolation("F1",
			"says [OPTIMIZED] of 0x1000, and cc stands there")
	})
	trap("F1-silent", "a line for each probe, but there is a jump and no [OPTIMIZED]", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		line(tr, f, 'k', 0).End(true).ExpectViolation("F1", "doesn't say [OPTIMIZED]")
	})
	trap("F1-letter", "a line for each probe, but that of a return probe says k", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Kind, 1, 1, 0)
		probed(tr)
		line(tr, f, 'k', 0).End(true).ExpectViolation("F1", "0 lines r for 0x1000")
	})
	trap("F1-left", "no probe is armed and none is listed as disabled, but one that was unregistered is listed",
		func(tr *tracetest.Trace) {
			probed(tr)
			unprobed(tr)
			line(tr, f, 'k', 0).End(true).ExpectViolation("F1", "1 lines k for 0x1000, where 0 to 0")
		})
	trap("F1-enabled", "[DISABLED], and so no breakpoint: but it was enabled", func(tr *tracetest.Trace) {
		tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 0)
		line(tr, f, 'k', kpev.TagDisabled).End(true).
			ExpectViolation("F1", "1 of 1 probes at 0x1000 disabled, and 1 of them are enabled")
	})
	trap("F1-disabled", "not [DISABLED], and so a breakpoint: but disable has returned", func(tr *tracetest.Trace) {
		probed(tr)
		tr.ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 0)
		line(tr, f, 'k', 0).End(true).ExpectViolation("F1", "0 of the probes at 0x1000 disabled, and 1 were")
	})
	trap("F1-breakpoint", "[DISABLED], as it was: but the breakpoint is there", func(tr *tracetest.Trace) {
		probed(tr)
		tr.ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 0)
		line(tr, f, 'k', kpev.TagDisabled).End(true).
			ExpectViolation("F1", "says [DISABLED] of 0x1000, and a breakpoint stands there")
	})
	trap("F1-alive", "[GONE] of what isn't armed: but its text is there", func(tr *tracetest.Trace) {
		tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 0)
		line(tr, f, 'k', kpev.TagGone).End(true).ExpectViolation("F1", "says [GONE] of 0x1000, whose text is there")
	})
	trap("F1-queued", "[OPTIMIZED] of a breakpoint, but there is work left", func(tr *tracetest.Trace) {
		probed(tr)
		line(tr, f, 'k', kpev.TagOptimized).End(false).ExpectNone()
	})
	trap("F1-old", "a jump without a tag: the kernel prints none", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		line(tr, f, 'k', kpev.TagNone).End(true).ExpectNone()
	})
	trap("F1-all-off", "neither disabled nor a breakpoint: kprobes/enabled says 0", func(tr *tracetest.Trace) {
		probed(tr)
		tr.Emit(kpev.Enabled, 0, 0, 0)
		disarm(tr, f, push[0])
		tr.Emit(kpev.Enabled, 0, 1, 0)
		line(tr, f, 'k', 0).End(true).ExpectNone()
	})
	trap("F1-one-disabled", "[DISABLED], and a breakpoint stands there: for another probe", func(tr *tracetest.Trace) {
		probed(tr)
		tr.Register(2, f)
		tr.ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 0)
		line(tr, f, 'k', kpev.TagDisabled)
		line(tr, f, 'k', 0).End(true).ExpectNone()
	})
	trap("F1-gone", "[GONE], and a breakpoint stands there: in a module's text that has gone",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem)
			probed(tr)
			tr.Retire(f, 0x100, smpev.ModuleMem)
			line(tr, f, 'k', kpev.TagGone).End(false).ExpectNone()
		})
}
