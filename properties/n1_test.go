package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/smp/smpev"
)

// The logs of N1, N2 and U2 are of the site at g, of the clients one and two, and of an fprobe with an exit handler.
const (
	one    = smpev.SubjectOps
	two    = smpev.SubjectOps + 1
	fprobe = smpev.SubjectFprobe
	sp     = 0x7000
)

var calls = []byte{0xe8, 0xeb, 0x0f, 0x00, 0x00} // of ftrace's trampoline

// sited says that g begins with a site, and which clients there are.
func sited(tr *tracetest.Trace, flags uint64) {
	tr.Image(g, calls...).Expect(2, 0, 0).Expect(2, 1, 0)
	tr.Emit(smpev.Leads, 0, g, 0).Emit(smpev.Leads, one, 0, flags).Emit(smpev.Leads, two, 0, flags)
	tr.Emit(smpev.Leads, fprobe, g, 4)
}

// does makes a call of a client's API, which returns at once.
func does(h tracetest.Hand, subject, call, value, errno uint64) {
	h.Emit(smpev.Attach, subject, call, value).Emit(smpev.Attached, subject, call, errno)
}

func init() {
	const (
		register, unregister, filter = smpev.AttachRegister, smpev.AttachUnregister, smpev.AttachFilter
		dynamic, modifies            = smpev.LeadsDynamic, smpev.LeadsModifies
	)
	golden("N1-lost", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), one, register, 0, 0)
		tr.On(1, 2).Exec(g, nop5...).CallEnd(0, 0)
		tr.ExpectViolation("N1", "cpu1 task2 ends a call, and client 0 of ftrace has handled 0 of 1 calls of 0x1010")
	})
	golden("N1-after", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), one, register, 0, 0)
		does(tr.On(0, 1), one, unregister, 0, 0)
		tr.On(1, 2).Exec(g, calls...).Emit(smpev.Serves, one, g, sp)
		tr.ExpectViolation("N1", "handle a call of 0x1010 that began while it wasn't registered")
	})
	golden("N1-twice", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), one, register, 0, 0)
		tr.On(1, 2).Exec(g, calls...).Emit(smpev.Serves, one, g, sp).Emit(smpev.Serves, one, g, sp)
		tr.ExpectViolation("N1", "again: 2 for 1 calls")
	})
	golden("N1-order", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), one, register, 0, 0)
		does(tr.On(0, 1), two, register, 0, 0)
		tr.On(1, 2).Exec(g, calls...).Emit(smpev.Serves, one, g, sp).Emit(smpev.Serves, two, g, sp)
		tr.ExpectViolation("N1", "after client 0 of ftrace, which was registered earlier")
	})
	golden("N1-two-paths", func(tr *tracetest.Trace) {
		sited(tr, dynamic|modifies)
		does(tr.On(0, 1), one, register, 0, 0)
		does(tr.On(0, 1), two, register, 0, 0)
		tr.ExpectViolation("N1", "lets client 0 of ftrace and client 1 of ftrace change the path at 0x1010")
	})
	golden("N1-refused", func(tr *tracetest.Trace) {
		sited(tr, dynamic|modifies)
		does(tr.On(0, 1), one, register, 0, 0)
		does(tr.On(0, 1), one, unregister, 0, 0)
		does(tr.On(0, 1), two, register, 0, 16)
		tr.ExpectViolation("N1", "refuses client 1 of ftrace")
	})
	trap("N1-order-of-one", "a client is registered while another task unregisters it, and again later: it may be "+
		"newer than one that was registered between",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			tr.On(0, 1).Emit(smpev.Attach, two, register, 0)
			tr.On(1, 2).Emit(smpev.Attach, two, unregister, 0)
			tr.On(0, 1).Emit(smpev.Attached, two, register, 0)
			does(tr.On(0, 1), one, register, 0, 0)
			tr.On(1, 2).Emit(smpev.Attached, two, unregister, 0)
			does(tr.On(1, 2), two, register, 0, 0)
			tr.On(1, 2).Exec(g, calls...).Emit(smpev.Serves, two, g, sp).Emit(smpev.Serves, one, g, sp)
			tr.ExpectNone()
		})
	trap("N1-refused-meanwhile", "two clients that change the path come at once: one is refused, and the other isn't "+
		"registered yet",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic|modifies)
			tr.On(0, 1).Emit(smpev.Attach, one, register, 0)
			does(tr.On(1, 2), two, register, 0, 16)
			tr.On(0, 1).Emit(smpev.Attached, one, register, 0)
			tr.ExpectNone()
		})
	trap("N1-registering", "no client handles a call: its registration hadn't returned when the call began",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			tr.On(0, 1).Emit(smpev.Attach, one, register, 0)
			tr.On(1, 2).Exec(g, nop5...)
			tr.On(0, 1).Emit(smpev.Attached, one, register, 0)
			tr.On(1, 2).CallEnd(0, 0)
			tr.ExpectNone()
		})
	trap("N1-left-in-call", "a client without a wait handles a call after its unregistration: the call began before",
		func(tr *tracetest.Trace) {
			sited(tr, 0)
			does(tr.On(0, 1), one, register, 0, 0)
			tr.On(1, 2).Exec(g, calls...)
			does(tr.On(0, 1), one, unregister, 0, 0)
			tr.On(1, 2).Emit(smpev.Serves, one, g, sp).CallEnd(0, 0)
			tr.ExpectNone()
		})
	trap("N1-waited", "the call began before the unregistration, but unregister has waited for it",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			does(tr.On(0, 1), one, register, 0, 0)
			tr.On(1, 2).Exec(g, calls...)
			does(tr.On(0, 1), one, unregister, 0, 0)
			tr.On(1, 2).Emit(smpev.Serves, one, g, sp)
			tr.ExpectViolation("N1", "that began while it wasn't registered")
		})
	trap("N1-elsewhere", "the client is registered for another site",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			tr.Emit(smpev.Leads, 0, h, 0)
			does(tr.On(0, 1), one, filter, h, 0)
			does(tr.On(0, 1), one, register, 0, 0)
			tr.On(1, 2).Exec(g, nop5...).CallEnd(0, 0)
			tr.ExpectNone()
		})
	trap("N1-order-unknown", "the older client comes first, but the two registrations overlapped",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			tr.On(0, 1).Emit(smpev.Attach, one, register, 0)
			does(tr.On(1, 2), two, register, 0, 0)
			tr.On(0, 1).Emit(smpev.Attached, one, register, 0)
			tr.On(1, 2).Exec(g, calls...).Emit(smpev.Serves, one, g, sp).Emit(smpev.Serves, two, g, sp).CallEnd(0, 0)
			tr.ExpectNone()
		})
	trap("N1-breakpoint", "the CPU hits the patcher's breakpoint, is sent back, and makes one call",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			does(tr.On(0, 1), one, register, 0, 0)
			h := tr.On(1, 2).Image(g, append([]byte{0xcc}, nop5[1:]...)...).Break(g).Own(g, smpev.OwnerPoke).Resume(g)
			h.Exec(g, calls...).Emit(smpev.Serves, one, g, sp).CallEnd(0, 0)
			tr.ExpectNone()
		})
	trap("N1-fprobe-missed", "an fprobe's handlers don't run for a call, which it counts as missed: a handler runs",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			does(tr.On(0, 1), fprobe, register, 0, 0)
			h := tr.On(1, 2).Exec(g, calls...).Emit(smpev.Hooks, fprobe, smpev.HookTakes, g).
				Emit(smpev.Hooks, fprobe, smpev.HookFollows, g)
			h = h.Exec(g, calls...).Emit(smpev.Hooks, fprobe, smpev.HookRecursion, g)
			h.Emit(smpev.Hooks, fprobe, smpev.HookEntered, g).Emit(smpev.Hooks, fprobe, smpev.HookExit, g).
				Emit(smpev.Hooks, fprobe, smpev.HookExited, g).CallEnd(0, 0)
			tr.ExpectNone()
		})

	follows := func(h tracetest.Hand) tracetest.Hand {
		return h.Exec(g, calls...).Emit(smpev.Hooks, fprobe, smpev.HookFollows, g).
			Emit(smpev.Hooks, fprobe, smpev.HookEntered, g)
	}
	exits := func(h tracetest.Hand) tracetest.Hand {
		return h.Emit(smpev.Hooks, fprobe, smpev.HookExit, g).Emit(smpev.Hooks, fprobe, smpev.HookExited, g)
	}
	golden("N2-no-exit", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), fprobe, register, 0, 0)
		follows(tr.On(1, 2)).CallEnd(0, 0)
		tr.ExpectViolation("N2", "ends a call, and fprobe 0 hasn't seen the return from 0x1010")
	})
	golden("N2-exit-twice", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), fprobe, register, 0, 0)
		exits(follows(tr.On(1, 2))).Emit(smpev.Hooks, fprobe, smpev.HookExit, g)
		tr.ExpectViolation("N2", "that isn't the newest that is followed")
	})
	golden("N2-runs-on", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), fprobe, register, 0, 0)
		follows(tr.On(1, 2)).Emit(smpev.Hooks, fprobe, smpev.HookExit, g)
		does(tr.On(0, 1), fprobe, unregister, 0, 0)
		tr.ExpectViolation("N2", "has unregistered fprobe 0, and 1 of its handlers still run")
	})
	golden("N2-lock-kept", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), fprobe, register, 0, 0)
		follows(tr.On(1, 2)).Exec(g, calls...).Emit(smpev.Hooks, fprobe, smpev.HookRecursion, g)
		tr.ExpectViolation("N2", "miss a call of 0x1010 for a handler's sake, and none runs on the CPU")
	})
	trap("N2-hooks-left", "a call is missed for want of a hook, and three of four are in use",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			does(tr.On(0, 1), fprobe, register, 0, 0)
			h := follows(follows(follows(tr.On(1, 2))))
			h.Exec(g, calls...).Emit(smpev.Hooks, fprobe, smpev.HookNone, g)
			tr.ExpectViolation("N2", "for want of a hook, and 3 of 4 are in use")
		})
	skips := func(tr *tracetest.Trace, of uint64) tracetest.Hand {
		return tr.On(1, 2).Exec(g, calls...).Emit(smpev.Hooks, of, smpev.HookTakes, g).
			Emit(smpev.Hooks, of, smpev.HookFollows, g).Emit(smpev.Hooks, of, smpev.HookSkips, g)
	}
	trap("N2-skipped", "no exit handler runs: the entry handler has left it out, and its only hook is free again",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			const other = fprobe + 1
			tr.Emit(smpev.Leads, other, g, 1|smpev.HooksSkip)
			does(tr.On(0, 1), other, register, 0, 0)
			for range 2 {
				skips(tr, other).Emit(smpev.Hooks, other, smpev.HookEntered, g).
					Emit(smpev.Hooks, other, smpev.HookLeaves, g)
			}
			tr.On(1, 2).CallEnd(0, 0)
			tr.ExpectNone()
		})
	trap("N2-not-refused", "an exit handler is left out, and the entry handler has no say in that",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			does(tr.On(0, 1), fprobe, register, 0, 0)
			skips(tr, fprobe)
			tr.ExpectViolation("N2", "leave out the exit handler of a call of 0x1010 that no entry handler refuses")
		})
	golden("N2-too-many", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), fprobe, register, 0, 0)
		h := follows(follows(follows(follows(tr.On(1, 2)))))
		h.Exec(g, calls...).Emit(smpev.Hooks, fprobe, smpev.HookFollows, g)
		tr.ExpectViolation("N2", "follow a call of 0x1010, and all its 4 hooks are in use")
	})
	trap("N2-stopped", "a call returns and no exit handler runs: the fprobe is being unregistered",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			does(tr.On(0, 1), fprobe, register, 0, 0)
			h := follows(tr.On(1, 2))
			tr.On(0, 1).Emit(smpev.Attach, fprobe, unregister, 0)
			h.Emit(smpev.Hooks, fprobe, smpev.HookStopped, g).CallEnd(0, 0)
			tr.On(0, 1).Emit(smpev.Attached, fprobe, unregister, 0)
			tr.ExpectNone()
		})
	trap("N2-early", "a timer's call is missed before the handler of the interrupted call has begun, and after it has "+
		"ended: the CPU still handles that call", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), fprobe, register, 0, 0)
		missed := func(h tracetest.Hand) tracetest.Hand {
			return h.Trap(smpev.VecTimer, g+5).Exec(g, calls...).Emit(smpev.Hooks, fprobe, smpev.HookRecursion, g).
				Return(smpev.VecTimer, g+5)
		}
		h := missed(tr.On(1, 2).Exec(g, calls...).Emit(smpev.Hooks, fprobe, smpev.HookTakes, g)).
			Emit(smpev.Hooks, fprobe, smpev.HookFollows, g).Emit(smpev.Hooks, fprobe, smpev.HookEntered, g)
		exits(missed(h).Emit(smpev.Hooks, fprobe, smpev.HookLeaves, g)).CallEnd(0, 0)
		tr.ExpectNone()
	})
	trap("N2-previous", "an fprobe is unregistered and registered again while a call is under way that it follows: "+
		"the exit handler isn't called, and the new registration has all hooks", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), fprobe, register, 0, 0)
		h := follows(tr.On(1, 2))
		does(tr.On(0, 1), fprobe, unregister, 0, 0)
		does(tr.On(0, 1), fprobe, register, 0, 0)
		h.Emit(smpev.Hooks, fprobe, smpev.HookStopped, g).CallEnd(0, 0)
		follows(follows(follows(tr.On(1, 2)))).Exec(g, calls...).Emit(smpev.Hooks, fprobe, smpev.HookNone, g)
		tr.ExpectViolation("N2", "for want of a hook, and 3 of 4 are in use")
	})
	golden("N2-of-before", func(tr *tracetest.Trace) {
		sited(tr, dynamic)
		does(tr.On(0, 1), fprobe, register, 0, 0)
		h := follows(tr.On(1, 2))
		does(tr.On(0, 1), fprobe, unregister, 0, 0)
		does(tr.On(0, 1), fprobe, register, 0, 0)
		h.Emit(smpev.Hooks, fprobe, smpev.HookExit, g)
		tr.ExpectViolation("N2", "for a call of 0x1010 that it has followed before it was unregistered")
	})
	trap("N2-again", "a handler runs when unregister has returned: another task has registered the fprobe meanwhile",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			does(tr.On(0, 1), fprobe, register, 0, 0)
			tr.On(0, 1).Emit(smpev.Attach, fprobe, unregister, 0)
			does(tr.On(1, 2), fprobe, register, 0, 0)
			follows(tr.On(1, 3)).Emit(smpev.Hooks, fprobe, smpev.HookExit, g)
			tr.On(0, 1).Emit(smpev.Attached, fprobe, unregister, 0)
			tr.ExpectNone()
		})
	trap("N2-interrupted", "a call of a handler's task hasn't returned when another ends: an interrupt made that one",
		func(tr *tracetest.Trace) {
			sited(tr, dynamic)
			does(tr.On(0, 1), fprobe, register, 0, 0)
			h := follows(tr.On(1, 2)).Trap(smpev.VecTimer, g+5).CallEnd(0, 0).Return(smpev.VecTimer, g+5)
			exits(h).CallEnd(1, 0)
			tr.ExpectNone()
		})
}
