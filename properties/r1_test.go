package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// The place of a return address on a stack, and where it returns to.
const (
	stack = 0x8000
	back  = 0x1017
	tramp = 0x5000
)

// returning heads a log with a return probe on f, that has both handlers.
func returning(tr *tracetest.Trace, probe uint64) {
	tr.Expect(2, 0, 7)
	tr.Emit(kpev.Kind, probe, 1, 2)
	tr.Emit(kpev.Returner, tramp, 0, 0)
	probed(tr)
}

// enters is a hit that its entry_handler sees.
func enters(h tracetest.Hand, probe, addr uint64) tracetest.Hand {
	return h.Break(f).Emit(kpev.Handler, probe, kpev.Entry, f).Emit(kpev.RetEntry, probe, stack, addr).
		Own(f, kpev.OwnerKprobe).Resume(f + 1)
}

// leaves is the end of the call.
func leaves(h tracetest.Hand, probe, addr uint64) tracetest.Hand {
	return h.Emit(kpev.Handler, probe, kpev.Return, f).Emit(kpev.RetReturn, probe, stack, addr)
}

func init() {
	golden("R1-pair", func(tr *tracetest.Trace) {
		returning(tr, 1)
		leaves(enters(tr.On(1, 2), 1, back), 1, back).Emit(kpev.Trampoline, stack, back, 0).CallEnd(0, 7)
		tr.ExpectNone()
	})
	golden("R1-wrong-address", func(tr *tracetest.Trace) {
		returning(tr, 1)
		leaves(enters(tr.On(1, 2), 1, back), 1, tramp)
		tr.ExpectViolation("R1", "returns to 0x5000; it returns to 0x1017")
	})
	trap("R1-two-on-one",
		"the second one's entry_handler sees the trampoline on the stack, and yet the call returns elsewhere",
		func(tr *tracetest.Trace) {
			returning(tr, 1)
			hand := enters(tr.On(1, 2), 1, back)
			hand.Emit(kpev.RetEntry, 2, stack, tramp)
			leaves(hand, 1, back)
			hand.Emit(kpev.RetReturn, 2, stack, back).Emit(kpev.Trampoline, stack, back, 0)
			tr.ExpectNone()
		})
	trap("R1-two-on-one-wrong", "the second one is told what lay on the stack, which is the trampoline",
		func(tr *tracetest.Trace) {
			returning(tr, 1)
			hand := enters(tr.On(1, 2), 1, back)
			hand.Emit(kpev.RetEntry, 2, stack, tramp)
			leaves(hand, 1, back)
			hand.Emit(kpev.RetReturn, 2, stack, tramp)
			tr.ExpectViolation("R1", "handler of probe 2")
		})
	trap("R1-silent-first",
		"the return probe that comes first has no entry_handler, so that the next one's sees the trampoline",
		func(tr *tracetest.Trace) {
			returning(tr, 1)
			hand := tr.On(1, 2).Break(f).Emit(kpev.Hooked, 11, stack, back).Emit(kpev.RetEntry, 1, stack, tramp)
			hand.Emit(kpev.RetReturn, 1, stack, back)
			tr.ExpectNone()
		})
	golden("R1-silent-wrong-address", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Returner, tramp, 0, 0)
		probed(tr)
		tr.On(1, 2).Break(f).Emit(kpev.Hooked, 11, stack, back).Emit(kpev.RetReturn, 1, stack, tramp)
		tr.ExpectViolation("R1", "tells the handler of probe 1 that its call returns to 0x5000; it returns to 0x1017")
	})
	trap("R1-silent-two",
		"neither has an entry_handler, the second one has kept the trampoline, and both are told where the call returns to",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Returner, tramp, 0, 0)
			probed(tr)
			hand := tr.On(1, 2).Break(f).Emit(kpev.Hooked, 11, stack, back).Emit(kpev.Hooked, 12, stack, tramp)
			hand.Emit(kpev.RetReturn, 2, stack, back).Emit(kpev.RetReturn, 1, stack, back).Emit(kpev.Trampoline, stack,
				back, 0)
			tr.End(false).ExpectNone()
		})
	trap("R1-silent-two-wrong", "and here the second one is told what it has kept",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Returner, tramp, 0, 0)
			probed(tr)
			hand := tr.On(1, 2).Break(f).Emit(kpev.Hooked, 11, stack, back).Emit(kpev.Hooked, 12, stack, tramp)
			hand.Emit(kpev.RetReturn, 2, stack, tramp)
			tr.ExpectViolation("R1", "handler of probe 2")
		})
	golden("R1-told-and-goes-elsewhere", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Returner, tramp, 0, 0)
		probed(tr)
		hand := tr.On(1, 2).Break(f).Emit(kpev.Hooked, 11, stack, back).Emit(kpev.RetReturn, 1, stack, back)
		hand.Emit(kpev.Trampoline, stack, back+1, 0)
		tr.ExpectViolation("R1", "lets a call return to 0x1018")
	})
	golden("R1-not-followed", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Returner, tramp, 0, 0)
		probed(tr)
		tr.On(1, 2).Break(f).Emit(kpev.RetReturn, 1, stack, back)
		tr.ExpectViolation("R1", "that it doesn't follow")
	})
	golden("R1-elsewhere", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Returner, tramp, 0, 0)
		probed(tr)
		hand := tr.On(1, 2).Break(f).Emit(kpev.Hooked, 11, stack, back).Emit(kpev.RetReturn, 1, stack, back)
		hand.Emit(kpev.Trampoline, stack+8, back, 0)
		tr.ExpectViolation("R1", "whose return address nothing has replaced")
	})
	for _, first := range []traces.Kind{kpev.RetEntry, kpev.Hooked} {
		trap("R1-left-behind-"+first.String(),
			"a call that was never returned from had this place of the stack, and returned elsewhere",
			func(tr *tracetest.Trace) {
				returning(tr, 1)
				hand := tr.On(1, 2).Break(f).Emit(first, 1, stack, back+8)
				hand.Emit(kpev.RetEntry, 1, stack, back).Emit(kpev.Hooked, 12, stack, back)
				leaves(hand, 1, back).Emit(kpev.Trampoline, stack, back, 0)
				tr.End(false).ExpectNone()
			})
	}
	trap("R1-left-behind-silent", "likewise, and nobody has an entry_handler",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Returner, tramp, 0, 0)
			probed(tr)
			hand := tr.On(1, 2).Break(f).Emit(kpev.Hooked, 11, stack, back+8).Emit(kpev.Hooked, 12, stack, back)
			hand.Emit(kpev.RetReturn, 1, stack, back).Emit(kpev.Trampoline, stack, back, 0)
			tr.End(false).ExpectNone()
		})
	golden("R1-not-told", func(tr *tracetest.Trace) {
		returning(tr, 1)
		enters(tr.On(1, 2), 1, back).Emit(kpev.Trampoline, stack, back, 0)
		tr.ExpectViolation("R1", "probe 1's handler wasn't told")
	})
	trap("R1-gone-meanwhile", "the handler wasn't told, but its probe was unregistered while the call was in flight",
		func(tr *tracetest.Trace) {
			returning(tr, 1)
			hand := enters(tr.On(1, 2), 1, back)
			unprobed(tr)
			hand.Emit(kpev.Trampoline, stack, back, 0)
			tr.ExpectNone()
		})
	golden("R1-left-alone", func(tr *tracetest.Trace) {
		returning(tr, 1)
		enters(tr.On(1, 2), 1, back).Emit(kpev.RetLeft, 1, stack, 0).CallEnd(0, 7)
		tr.ExpectNone()
	})
	trap("R1-left-and-told", "the entry_handler let the call go, and a handler runs for it all the same",
		func(tr *tracetest.Trace) {
			returning(tr, 1)
			enters(tr.On(1, 2), 1, back).Emit(kpev.RetLeft, 1, stack, 0).Emit(kpev.RetReturn, 1, stack, back)
			tr.ExpectViolation("R1", "hasn't let pass")
		})
	golden("R1-told-twice", func(tr *tracetest.Trace) {
		returning(tr, 1)
		leaves(enters(tr.On(1, 2), 1, back), 1, back).Emit(kpev.RetReturn, 1, stack, back)
		tr.ExpectViolation("R1", "hasn't let pass")
	})
	trap("R1-exit", "the task ends in the midst of the call, and another call has its stack's place later",
		func(tr *tracetest.Trace) {
			returning(tr, 1)
			enters(tr.On(1, 2), 1, back).Emit(smpev.Exit, 2, 0, 0)
			leaves(enters(tr.On(1, 2), 1, back+1), 1, back+1)
			tr.ExpectNone()
		})
	golden("A1-return-lost", func(tr *tracetest.Trace) {
		returning(tr, 1)
		tr.On(1, 2).Break(f).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 7)
		tr.ExpectViolation("A1", "probe 1")
	})
	trap("A1-return-missed", "neither handler runs, but the miss is counted",
		func(tr *tracetest.Trace) {
			returning(tr, 1)
			tr.On(1, 2).Break(f).Emit(kpev.RetMissed, 1, 0, 0).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 7)
			tr.ExpectNone()
		})
	trap("A1-globally-off", "a hit that nobody counts, while kprobes/enabled is 0",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 7)
			probed(tr)
			tr.Emit(kpev.Enabled, 0, 0, 0)
			tr.On(1, 2).Break(f).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 7)
			tr.ExpectNone()
		})
	golden("T3-armed-again", func(tr *tracetest.Trace) {
		probed(tr)
		tr.Emit(kpev.Enabled, 0, 0, 0)
		disarm(tr, f, push[0])
		tr.Emit(kpev.Enabled, 0, 1, 0).Emit(kpev.Enabled, 1, 0, 0)
		tr.On(1, 2).Exec(f, push...)
		arm(tr, f)
		tr.Emit(kpev.Printk, uint64(kpev.LineArmed), 0, 0)
		tr.Emit(kpev.Enabled, 1, 1, 0)
		tr.On(1, 2).Exec(f, push...)
		tr.ExpectViolation("T3", "probe 1")
	})
	trap("T3-off-meanwhile", "kprobes/enabled was written 1, but a 0 began meanwhile",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.Emit(kpev.Enabled, 1, 0, 0)
			tr.On(1, 3).Emit(kpev.Enabled, 0, 0, 0)
			tr.Emit(kpev.Enabled, 1, 1, 0)
			tr.On(1, 2).Exec(f, push...)
			tr.ExpectNone()
		})
	for _, c := range []struct {
		name, says string
		lines      []kpev.Line
		is         bool
	}{
		{"T3-two-administrators-on", "a write of 0 returns last, but it was the first to have the mutex",
			[]kpev.Line{kpev.LineDisarmed, kpev.LineArmed}, true},
		{"T3-two-administrators-off", "and here it was the last to have it", []kpev.Line{kpev.LineDisarmed}, false},
		{"T3-two-administrators-off-last", "likewise, where the 1 changed something, too",
			[]kpev.Line{kpev.LineArmed, kpev.LineDisarmed | kpev.Prefixed}, false},
		{"T3-two-administrators-silent",
			"two writes that can't both have changed nothing, and no line of them: whatever was before, nobody knows now", nil, false},
	} {
		trap(c.name, c.says, func(tr *tracetest.Trace) {
			probed(tr)
			tr.Emit(kpev.Printk, uint64(kpev.LineArmed), 0, 0) // long ago
			tr.Emit(kpev.Enabled, 0, 0, 0)
			tr.On(1, 3).Emit(kpev.Enabled, 1, 0, 0)
			for _, l := range c.lines {
				tr.Emit(kpev.Printk, uint64(l), 0, 0)
			}
			tr.On(1, 3).Emit(kpev.Enabled, 1, 1, 0)
			tr.On(1, 2).Exec(f, push...) // whatever was printed: a 0 is under way
			tr.Emit(kpev.Enabled, 0, 1, 0)
			if tr.On(1, 2).Exec(f, push...); c.is {
				tr.ExpectViolation("T3", "probe 1")
			} else {
				tr.ExpectNone()
			}
		})
	}
	trap("T3-on-after-two-administrators", "two administrators have left it at 0, and one of them writes 1",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.Emit(kpev.Enabled, 0, 0, 0)
			tr.On(1, 3).Emit(kpev.Enabled, 1, 0, 0).Emit(kpev.Enabled, 1, 1, 0)
			tr.Emit(kpev.Printk, uint64(kpev.LineDisarmed), 0, 0).Emit(kpev.Enabled, 0, 1, 0)
			tr.On(1, 3).Emit(kpev.Enabled, 1, 0, 0).Emit(kpev.Printk, uint64(kpev.LineArmed), 0, 0).Emit(kpev.Enabled,
				1, 1, 0)
			tr.On(1, 2).Exec(f, push...)
			tr.ExpectViolation("T3", "probe 1")
		})
	trap("T3-registered-disabled", "register has returned, of a probe that was to be disabled",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Kind, 1, 0, 1)
			probed(tr)
			tr.On(1, 2).Exec(f, push...)
			tr.ExpectNone()
		})
}
