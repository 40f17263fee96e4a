package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	golden("A1-hit", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0)
		probed(tr)
		a := tr.On(1, 2)
		hit(a)
		a.Post(1).CallEnd(0, 1)
		unprobed(tr)
		tr.End(true).ExpectNone()
	})
	trap("A1-no-pre", "no handler runs, for there is none",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.NoPre, 1, 0, 0)
			tr.Expect(2, 0, 0)
			probed(tr)
			tr.On(1, 2).Break(f).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 1)
			unprobed(tr)
			tr.End(true).ExpectNone()
		})
	golden("A1-lost", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0)
		probed(tr)
		tr.On(1, 2).Break(f).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 1)
		tr.ExpectViolation("A1", "a hit is lost: of probe 1 at 0x1000 1 must be")
	})
	golden("A1-lost-at-end", func(tr *tracetest.Trace) {
		probed(tr)
		tr.On(1, 2).Break(f).Own(f, kpev.OwnerKprobe).Resume(f + 1)
		tr.End(true).ExpectViolation("A1", "a hit is lost")
	})
	golden("A1-twice", func(tr *tracetest.Trace) {
		probed(tr)
		tr.On(1, 2).Break(f).Pre(1).Missed(1)
		tr.ExpectViolation("A1", "counts a miss of probe 1 at 0x1000: 2 for 1 hits")
	})
	trap("A1-wrong-task", "a hit and a handler, but not of the same task",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.On(1, 2).Break(f).Own(f, kpev.OwnerKprobe).Resume(f + 1)
			tr.On(2, 3).Pre(1)
			tr.ExpectViolation("A1", "1 for 0 hits")
		})
	golden("A1-site", func(tr *tracetest.Trace) { // ftrace's call at g is a hit: the second isn't accounted for
		call := []byte{0xe8, 0, 0, 0x10, 0}
		tr.Expect(2, 0, 0).Expect(2, 1, 0)
		tr.ApiEnter(kpev.Register, 1, g).Image(g, call...).Store(g, call...).ApiReturn(kpev.Register, 1, 0)
		tr.On(1, 2).Exec(g, call...).Pre(1).CallEnd(0, 1)
		tr.On(1, 2).Exec(g, call...).CallEnd(1, 1)
		tr.ExpectViolation("A1", "a hit is lost")
	})
	trap("A1-behind", "a call of ftrace, where memory is weak and nothing says that the CPU sees the registration",
		func(tr *tracetest.Trace) {
			call := []byte{0xe8, 0, 0, 0x10, 0}
			tr.Expect(2, 0, 0)
			a := tr.On(1, 2).Emit(smpev.Agrees, 0, 0, 0)
			tr.ApiEnter(kpev.Register, 1, g).Image(g, call...).Store(g, call...).ApiReturn(kpev.Register, 1, 0)
			a.Exec(g, call...).Exec(g, call...).Pre(1).CallEnd(0, 1)
			nop := []byte{0x0f, 0x1f, 0x44, 0, 0}
			tr.ApiEnter(kpev.Unregister, 1, g).Image(g, nop...).Store(g, nop...).ApiReturn(kpev.Unregister, 1, 0)
			tr.End(true).ExpectNone()
		})
	golden("A1-agrees", func(tr *tracetest.Trace) { // as before, but a fence: the second hit is due
		call := []byte{0xe8, 0, 0, 0x10, 0}
		tr.Expect(2, 0, 0)
		a := tr.On(1, 2).Emit(smpev.Agrees, 0, 0, 0)
		tr.ApiEnter(kpev.Register, 1, g).Image(g, call...).Store(g, call...).ApiReturn(kpev.Register, 1, 0)
		a.Exec(g, call...).Pre(1).Emit(smpev.Agrees, 0, 0, 0).Exec(g, call...).CallEnd(0, 1)
		tr.ExpectViolation("A1", "a hit is lost")
	})
	trap("A1-in-vain", "ftrace calls another client from a probe's site, which the kernel has said it has failed to arm",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			traced(tr, 1)
			toggled(tr, kpev.LineEnabledSome|kpev.Prefixed, 1, 1)
			tr.ApiEnter(kpev.Enable, 1, g).ApiReturn(kpev.Enable, 1, 0) // it is enabled: nothing is done
			tr.On(1, 2).Exec(g, siteCall...).CallEnd(0, 1)
			tr.End(true).ExpectNone()
		})
	trap("A1-warned", "the same of a kernel that says so by a WARN alone, before it says that all are armed",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			traced(tr, 1)
			turnedOff(tr)
			tr.Emit(kpev.Enabled, 1, 0, 0).Emit(kpev.Printk, uint64(kpev.LineFtraceArm), g, 16)
			tr.Emit(kpev.Printk, uint64(kpev.LineArmed), 0, 0).Emit(kpev.Enabled, 1, 1, 0)
			tr.On(1, 2).Exec(g, siteCall...).CallEnd(0, 1)
			tr.End(true).ExpectNone()
		})
	golden("A1-warned-of-another", func(tr *tracetest.Trace) {
		tr.Image(h, siteCall...).Expect(2, 0, 0)
		traced(tr, 1)
		turnedOff(tr)
		tr.Emit(kpev.Enabled, 1, 0, 0).Emit(kpev.Printk, uint64(kpev.LineFtraceArm), h, 16)
		tr.Emit(kpev.Printk, uint64(kpev.LineArmed), 0, 0).Emit(kpev.Enabled, 1, 1, 0)
		tr.On(1, 2).Exec(g, siteCall...).CallEnd(0, 1)
		tr.ExpectViolation("A1", "a hit is lost")
	})
	golden("A1-armed-later", func(tr *tracetest.Trace) { // a write that fails for none arms all
		tr.Expect(2, 0, 0)
		traced(tr, 1)
		toggled(tr, kpev.LineEnabledSome|kpev.Prefixed, 1, 1)
		toggled(tr, kpev.LineArmed|kpev.Prefixed, 0, 0)
		tr.On(1, 2).Exec(g, siteCall...).CallEnd(0, 1)
		tr.ExpectViolation("A1", "a hit is lost")
	})
	golden("A1-not-in-vain", func(tr *tracetest.Trace) { // another probe is what can't be armed
		tr.Expect(2, 0, 0)
		traced(tr, 2)
		probed(tr)
		tr.Emit(kpev.Enabled, 0, 0, 0)
		disarm(tr, f, push[0])
		tr.Emit(kpev.Printk, uint64(kpev.LineDisarmed), 0, 0).Emit(kpev.Enabled, 0, 1, 0).Emit(kpev.Enabled, 1, 0, 0)
		arm(tr, f)
		tr.Emit(kpev.Printk, uint64(kpev.LineEnabledSome|kpev.Prefixed), 1, 2).Emit(kpev.Enabled, 1, 1, 0)
		tr.On(1, 2).Break(f).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 1)
		tr.ExpectViolation("A1", "a hit is lost: of probe 1")
	})
	golden("A1-jump", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0).Expect(2, 1, 0)
		probed(tr)
		tr.Alloc(detour, 64, kpev.DetourMem)
		optimize(tr)
		tr.On(1, 2).Exec(f, jmp...).Pre(1).CallEnd(0, 1)
		tr.On(1, 2).Exec(f, jmp...).CallEnd(1, 1)
		tr.ExpectViolation("A1", "a hit is lost")
	})
	trap("A1-poked", "the patcher owns the breakpoint, and yet the handler runs: in the detour",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			probed(tr)
			tr.Alloc(detour, 64, kpev.DetourMem).Image(f, jmp...)
			a := tr.On(1, 2).Break(f).Own(f, smpev.OwnerPoke).Resume(detour)
			a.Exec(detour, 0x54).Pre(1).CallEnd(0, 1)
			tr.ExpectNone()
		})
	trap("A1-poked-lost", "the patcher owns the breakpoint, but nobody runs the handler",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			probed(tr)
			tr.Image(f, jmp...)
			tr.On(1, 2).Break(f).Own(f, smpev.OwnerPoke).Resume(f+1).CallEnd(0, 1)
			tr.ExpectViolation("A1", "a hit is lost")
		})
	trap("A1-removed", "a breakpoint of an enabled probe without a handler: it is run again, and hit then",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			probed(tr)
			a := tr.On(1, 2)
			a.Break(f).Own(f, kpev.OwnerRemoved).Resume(f)
			a.Break(f).Own(f, smpev.OwnerPoke).Resume(f)
			hit(a)
			a.CallEnd(0, 1)
			unprobed(tr)
			tr.End(true).ExpectNone()
		})
	golden("A1-removed-counts-once", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0)
		probed(tr)
		a := tr.On(1, 2)
		a.Break(f).Own(f, kpev.OwnerRemoved).Resume(f)
		a.Break(f).Pre(1).Own(f, kpev.OwnerKprobe).Resume(slot)
		a.Pre(1)
		tr.ExpectViolation("A1", "2 for 1 hits")
	})
	trap("A1-unregistering", "a hit without a handler, but unregister began before its call ended",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			probed(tr)
			a := tr.On(1, 2).Break(f)
			tr.ApiEnter(kpev.Unregister, 1, 0)
			a.Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 1)
			tr.ExpectNone()
		})
	trap("A1-unregistering-handled", "unregister began after the hit, and the handler runs all the same",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			probed(tr)
			a := tr.On(1, 2).Break(f)
			tr.ApiEnter(kpev.Unregister, 1, 0)
			a.Pre(1).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 1)
			tr.ExpectNone()
		})
	trap("A1-surplus-hides-nothing", "two hits, two handlers; but one of them was of a hit before enable returned",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			tr.ApiEnter(kpev.Register, 1, f)
			tr.Alloc(slot, 16, kpev.SlotMem).Store(slot, 0x55, 0xcc)
			arm(tr, f)
			a := tr.On(1, 2)
			hit(a)
			tr.ApiReturn(kpev.Register, 1, 0)
			a.Break(f).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 1)
			tr.ExpectViolation("A1", "a hit is lost")
		})
	golden("A1-siblings", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0).Expect(2, 1, 0)
		probed(tr)
		tr.Register(2, f)
		a := tr.On(1, 2)
		a.Break(f).Pre(2).Skipped(1, 2).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 1)
		a.Break(f).Pre(2).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(1, 1)
		tr.ExpectViolation("A1", "probe 1")
	})
	trap("A1-registered-meanwhile", "a handler of a probe that wasn't registered when its breakpoint was hit",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			probed(tr)
			a := tr.On(1, 2).Break(f)
			tr.Register(2, f)
			a.Pre(2).Pre(1).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 1)
			tr.ExpectNone()
		})
	trap("A1-in-interrupt", "a call of an interrupt handler ends while the hit below is open",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0).Expect(2, 1, 0)
			probed(tr)
			a := tr.On(1, 2).Break(f).Trap(smpev.VecNMI, 0x9000).CallEnd(0, 1).Return(smpev.VecNMI, 0x9000)
			a.Pre(1).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(1, 1)
			tr.ExpectNone()
		})
	trap("A1-tracer-meanwhile",
		"a tracer's breakpoint leads into ftrace; a probe registers, the first there, and its handler runs",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			a := tr.On(1, 2).Break(g).Own(g, smpev.OwnerPoke).Resume(0x10000005)
			tr.Register(1, g)
			a.Pre(1).CallEnd(0, 1)
			tr.End(false).ExpectNone()
		})
	trap("A1-tracer-call-meanwhile", "likewise, and the CPU has run the tracer's call itself",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0).Image(g, 0xe8, 0, 0, 0x10, 0).Store(g, 0xe8, 0, 0, 0x10, 0)
			a := tr.On(1, 2).Exec(g, 0xe8, 0, 0, 0x10, 0)
			tr.Register(1, g)
			a.Pre(1).CallEnd(0, 1)
			tr.End(false).ExpectNone()
		})
	trap("A1-tracer-meanwhile-twice", "likewise, but the handler runs twice",
		func(tr *tracetest.Trace) {
			a := tr.On(1, 2).Break(g).Own(g, smpev.OwnerPoke).Resume(0x10000005)
			tr.Register(1, g)
			a.Pre(1).Pre(1)
			tr.ExpectViolation("A1", "2 for 1 hits")
		})
	trap("A1-tracer-before", "the CPU went by the tracer's breakpoint in a call that has ended",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			a := tr.On(1, 2).Break(g).Own(g, smpev.OwnerPoke).Resume(0x10000005).CallEnd(0, 1)
			tr.Register(1, g)
			a.Pre(1)
			tr.ExpectViolation("A1", "1 for 0 hits")
		})
	trap("A1-tracer-try-again", "the tracer's breakpoint was gone: the CPU runs the instruction again, which is no hit",
		func(tr *tracetest.Trace) {
			a := tr.On(1, 2).Break(g).Own(g, smpev.OwnerPoke).Resume(g)
			tr.Register(1, g)
			a.Pre(1)
			tr.ExpectViolation("A1", "1 for 0 hits")
		})
	golden("A1-stranger", func(tr *tracetest.Trace) {
		tr.On(1, 2).Missed(7)
		tr.ExpectViolation("A1", "never registered")
	})
	golden("A1-label", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0)
		probed(tr)
		tr.On(1, 2).Break(g).Own(g, smpev.OwnerPoke).Resume(g+5).Exec(g, label...).CallEnd(0, 1)
		tr.ExpectNone()
	})
	trap("A1-linked-jump", "a jump runs at the probe and a handler after it; but it is the jump that was linked there",
		func(tr *tracetest.Trace) {
			tr.ApiEnter(kpev.Register, 2, k)
			tr.On(1, 2).Exec(k, 0xe9, 0, 0, 0, 0).Pre(2)
			tr.ExpectViolation("A1", "1 for 0 hits")
		})
	trap("A1-another-address", "two probes are enabled and one ran: the other is elsewhere",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			probed(tr)
			tr.Register(2, h)
			tr.On(1, 2).Break(f).Pre(1).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 1)
			tr.ExpectNone()
		})
	trap("A1-removed-from-before", "two hits, one is taken back; but it is the one that didn't count",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			tr.ApiEnter(kpev.Register, 1, f)
			arm(tr, f)
			a := tr.On(1, 2).Break(f)
			tr.ApiReturn(kpev.Register, 1, 0)
			a.Trap(smpev.VecNMI, 0x9000).Break(f).Own(f, kpev.OwnerKprobe).Resume(f+1).Return(smpev.VecNMI, 0x9000)
			a.Own(f, kpev.OwnerRemoved).Resume(f).CallEnd(0, 1)
			tr.ExpectViolation("A1", "a hit is lost")
		})
	trap("A1-moved", "two handlers of a probe for one hit of its address: it was elsewhere before",
		func(tr *tracetest.Trace) {
			tr.Expect(2, 0, 0)
			probed(tr)
			a := tr.On(1, 2)
			hit(a)
			unprobed(tr)
			tr.Register(1, h)
			a.Break(h).Pre(1).Own(h, kpev.OwnerKprobe).Resume(h+10).CallEnd(0, 1)
			tr.ExpectNone()
		})
}

func init() {
	golden("A1-disabled", func(tr *tracetest.Trace) {
		probed(tr)
		tr.Disable(1)
		tr.On(1, 2).Break(f).Pre(1)
		tr.ExpectViolation("A1", "for a hit that came when it was disabled")
	})
	trap("A1-disabled-behind", "the pre_handler runs when disable has returned, but the CPU came before",
		func(tr *tracetest.Trace) {
			probed(tr)
			h := tr.On(1, 2)
			h.Break(f)
			tr.Disable(1)
			h.Pre(1).Own(f, kpev.OwnerKprobe).Resume(slot)
			h.Exec(slot, push...).Break(slot+1).Own(slot+1, kpev.OwnerKprobe).Resume(f + 1)
			tr.End(false).ExpectNone()
		})
	trap("A1-disabled-below",
		"the handler is of a hit before disable; the NMI that has interrupted it hits the probe when it is disabled",
		func(tr *tracetest.Trace) {
			probed(tr)
			h := tr.On(1, 2).Break(f)
			tr.Disable(1)
			h.Trap(smpev.VecNMI, 0x9000).Break(f).Missed(1).Own(f, kpev.OwnerKprobe).Resume(f+1).Return(smpev.VecNMI,
				0x9000)
			h.Pre(1).Own(f, kpev.OwnerKprobe).Resume(f + 1)
			tr.End(false).ExpectNone()
		})
	trap("A1-disabled-above", "likewise, but the handler is the NMI's",
		func(tr *tracetest.Trace) {
			probed(tr)
			h := tr.On(1, 2).Break(f)
			tr.Disable(1)
			h.Trap(smpev.VecNMI, 0x9000).Break(f).Pre(1)
			tr.ExpectViolation("A1", "for a hit that came when it was disabled")
		})
	// the first hit has come before it was certainly armed, and was run
	golden("A1-settled", func(tr *tracetest.Trace) {
		tr.Expect(2, 0, 0)
		a := tr.On(1, 2)
		tr.On(0, 3).ApiEnter(kpev.Register, 1, f)
		a.Break(f)
		tr.On(0, 3).ApiReturn(kpev.Register, 1, 0)
		a.Pre(1).Own(f, kpev.OwnerKprobe).Resume(f + 1)
		a.Break(f).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 1)
		tr.ExpectViolation("A1", "2 must be accounted for, and 1 are")
	})
	trap("A1-enabled-meanwhile", "disable has returned, but an enable was under way",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.On(0, 3).ApiEnter(kpev.Enable, 1, f)
			tr.On(1, 4).ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 0)
			hit(tr.On(1, 2))
			tr.End(false).ExpectNone()
		})
}
