package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/smp/smpev"
)

func init() {
	const (
		patches, direct      = smpev.SubjectPatch, smpev.SubjectDirect
		register, unregister = smpev.AttachRegister, smpev.AttachUnregister
		new, newer, tramp    = h, k, 0x1100
	)
	// patchable says that patch 1 leads calls of g to new, and patch 2 to newer, and that tramp may be called directly.
	patchable := func(tr *tracetest.Trace) {
		sited(tr, smpev.LeadsDynamic)
		tr.Emit(smpev.Leads, patches+1, g, new).Emit(smpev.Leads, patches+2, g, newer)
		tr.Emit(smpev.Leads, direct, g, tramp)
	}
	arrives := func(tr *tracetest.Trace, at ...uint64) {
		hand := tr.On(1, 2).Emit(smpev.Arrives, g, sp, 0)
		for _, a := range at {
			if a == tramp {
				hand.Emit(smpev.Arrives, a, sp-8, 0)
			} else {
				hand.Emit(smpev.Arrives, a, sp, 0)
			}
		}
	}
	golden("U2-old", func(tr *tracetest.Trace) {
		patchable(tr)
		does(tr.On(0, 1), patches, register, 1, 0)
		arrives(tr, g+5)
		tr.ExpectViolation("U2", "calls 0x1010, which continues in the function itself; the newest version is 0x1018")
	})
	golden("U2-not-beneath", func(tr *tracetest.Trace) {
		patchable(tr)
		does(tr.On(0, 1), patches, register, 1, 0)
		does(tr.On(0, 1), patches, register, 2, 0)
		arrives(tr, newer)
		does(tr.On(0, 1), patches, unregister, g, 0)
		arrives(tr, g+5)
		tr.ExpectViolation("U2", "which continues in the function itself; the newest version is 0x1018")
	})
	golden("U2-direct-lost", func(tr *tracetest.Trace) {
		patchable(tr)
		does(tr.On(0, 1), direct, register, tramp, 0)
		arrives(tr, g+5)
		tr.ExpectViolation("U2", "calls 0x1010, which calls nothing directly; what was set last calls 0x1100")
	})
	golden("U2-answer", func(tr *tracetest.Trace) {
		patchable(tr)
		does(tr.On(0, 1), direct, register, tramp, 0)
		does(tr.On(0, 1), direct, register, tramp, 0)
		tr.ExpectViolation("U2", "answers 0 to register of a direct call, of 0x1100")
	})
	trap("U2-both", "a call is led directly and then to a new version, as both were set",
		func(tr *tracetest.Trace) {
			patchable(tr)
			does(tr.On(0, 1), direct, register, tramp, 0)
			does(tr.On(0, 1), patches, register, 2, 0)
			arrives(tr, tramp, newer)
			tr.ExpectNone()
		})
	trap("U2-32-bit", "a function called directly finds a stack of words of 4 bytes",
		func(tr *tracetest.Trace) {
			patchable(tr)
			does(tr.On(0, 1), direct, register, tramp, 0)
			hand := tr.On(1, 2).Emit(smpev.Arrives, g, sp, 0).Emit(smpev.Arrives, tramp, sp-4, 0)
			hand.Emit(smpev.Arrives, g+5, sp, 0)
			tr.ExpectNone()
		})
	trap("U2-under-way", "a call runs the old function although the patch is enabled: it began before that",
		func(tr *tracetest.Trace) {
			patchable(tr)
			hand := tr.On(1, 2).Emit(smpev.Arrives, g, sp, 0)
			does(tr.On(0, 1), patches, register, 1, 0)
			hand.Emit(smpev.Arrives, g+5, sp, 0)
			tr.ExpectNone()
		})
	trap("U2-transition", "a patch is refused because it is enabled, and a call runs the old function: the task that "+
		"enables it waits for its transition",
		func(tr *tracetest.Trace) {
			patchable(tr)
			tr.On(0, 1).Emit(smpev.Attach, patches, register, 1)
			does(tr.On(1, 3), patches, register, 1, 22)
			arrives(tr, g+5)
			tr.On(0, 1).Emit(smpev.Attached, patches, register, 0)
			arrives(tr, g+5)
			tr.ExpectViolation("U2", "which continues in the function itself; the newest version is 0x1018")
		})
	trap("U2-meanwhile", "a patch comes over another one: a call that begins meanwhile may run either, and not what "+
		"both replace",
		func(tr *tracetest.Trace) {
			patchable(tr)
			does(tr.On(0, 1), patches, register, 1, 0)
			tr.On(0, 1).Emit(smpev.Attach, patches, register, 2)
			arrives(tr, new)
			arrives(tr, newer)
			arrives(tr, g+5)
			tr.ExpectViolation("U2", "which continues in the function itself; the newest version is 0x1018")
		})
	trap("U2-two-orders", "two tasks enable a patch each at once: either may be the newest",
		func(tr *tracetest.Trace) {
			patchable(tr)
			tr.On(0, 1).Emit(smpev.Attach, patches, register, 1)
			does(tr.On(1, 2), patches, register, 2, 0)
			tr.On(0, 1).Emit(smpev.Attached, patches, register, 0)
			arrives(tr, new)
			tr.ExpectNone()
		})
	trap("U2-one-order", "two tasks enable a patch each at once, and later calls don't agree on which is the newest",
		func(tr *tracetest.Trace) {
			patchable(tr)
			tr.On(0, 1).Emit(smpev.Attach, patches, register, 1)
			does(tr.On(1, 2), patches, register, 2, 0)
			tr.On(0, 1).Emit(smpev.Attached, patches, register, 0)
			arrives(tr, new)
			arrives(tr, newer)
			tr.ExpectViolation("U2", "which continues in 0x1028; the newest version is 0x1018")
		})
	trap("U2-known-early", "the answer of a second call says that the patch is disabled, and the first call still "+
		"waits for a task that hasn't gone over",
		func(tr *tracetest.Trace) {
			patchable(tr)
			does(tr.On(0, 1), patches, register, 1, 0)
			tr.On(0, 1).Emit(smpev.Attach, patches, unregister, g)
			does(tr.On(1, 2), patches, unregister, g, 22)
			arrives(tr, new)
			tr.On(0, 1).Emit(smpev.Attached, patches, unregister, 0)
			arrives(tr, g+5)
			tr.ExpectNone()
		})
	trap("U2-many-orders", "the answers of calls that overlap rule out a hundred ways to a few states, and a task "+
		"that hasn't gone over calls what the newest patch leads to",
		func(tr *tracetest.Trace) {
			patchable(tr)
			one, two, three := tr.On(0, 4), tr.On(0, 7), tr.On(1, 8)
			one.Emit(smpev.Attach, patches, register, 1)
			two.Emit(smpev.Attach, patches, unregister, g)
			three.Emit(smpev.Attach, patches, register, 1)
			two.Emit(smpev.Attached, patches, unregister, 0).Emit(smpev.Attach, patches, unregister, g)
			one.Emit(smpev.Attached, patches, register, 0).Emit(smpev.Attach, patches, register, 2)
			one.Emit(smpev.Attached, patches, register, 0)
			three.Emit(smpev.Attached, patches, register, 16).Emit(smpev.Attach, patches, unregister, g)
			three.Emit(smpev.Attached, patches, unregister, 22)
			arrives(tr, newer)
			tr.ExpectNone()
		})
	trap("U2-known-late", "when the first call has returned, too, no call runs the disabled patch",
		func(tr *tracetest.Trace) {
			patchable(tr)
			does(tr.On(0, 1), patches, register, 1, 0)
			tr.On(0, 1).Emit(smpev.Attach, patches, unregister, g)
			does(tr.On(1, 2), patches, unregister, g, 22)
			tr.On(0, 1).Emit(smpev.Attached, patches, unregister, 0)
			arrives(tr, new)
			tr.ExpectViolation("U2", "which continues in 0x1018; the newest version is the function itself")
		})
	trap("U2-refused", "a patch is refused because another is in transition, and the function stays as it was",
		func(tr *tracetest.Trace) {
			patchable(tr)
			tr.On(0, 1).Emit(smpev.Attach, patches, register, 1)
			does(tr.On(1, 2), patches, register, 2, 16)
			tr.On(0, 1).Emit(smpev.Attached, patches, register, 0)
			arrives(tr, new)
			arrives(tr, new)
			tr.ExpectNone()
		})
	trap("U2-reversed", "a patch is disabled while it is being enabled: its transition is reversed",
		func(tr *tracetest.Trace) {
			patchable(tr)
			tr.On(0, 1).Emit(smpev.Attach, patches, register, 1)
			does(tr.On(1, 2), patches, unregister, g, 0)
			tr.On(0, 1).Emit(smpev.Attached, patches, register, 0)
			arrives(tr, g+5)
			tr.ExpectNone()
		})
}
