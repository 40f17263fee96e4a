package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

// keyed declares two keys: a jump label at g, and a static call with sites at k and at h, whose second one lies in a
// module.
func keyed(tr *tracetest.Trace) {
	head := tr.On(255, 255)
	form := func(key, value, sort uint64, addr uint64, b ...byte) {
		head.Emit(smpev.Setting, key, value, sort).Form(addr, b...)
	}
	tr.Emit(smpev.Module, h, 0x10, 0)
	form(0, 0, smpev.SettingLabel|smpev.SettingFirst, g, nop5...)
	form(0, 1, smpev.SettingLabel, g, label...)
	form(1, 0x102d, smpev.SettingCall|smpev.SettingFirst, k, 0xe9, 0, 0, 0, 0)
	head.Form(h, 0x48)
	form(1, 0x103d, smpev.SettingCall, k, 0xe9, 0x10, 0, 0, 0)
	head.Form(h, 0x49)
	form(2, 0, smpev.SettingBreakpoint|smpev.SettingFirst, f+4, 0x53)
	form(2, 1, smpev.SettingBreakpoint, f+4, bp...)
}

// sets makes a task set a key, and return with an errno.
func sets(tr *tracetest.Trace, task uint8, key, value uint64, between func(h tracetest.Hand)) {
	h := tr.On(task, task)
	h.Emit(smpev.Sets, key, value, 0)
	between(h)
	h.Emit(smpev.Sets, key, value, smpev.SetsEnds)
}

func turnOn(h tracetest.Hand) {
	h.Image(g, label...).Store(g, bp...).Store(g+1, label[1:]...).Store(g, label[0])
}

func init() {
	const errno = smpev.SetsErrno
	golden("J1-stale", func(tr *tracetest.Trace) {
		keyed(tr)
		sets(tr, 0, 0, 1, turnOn)
		tr.On(1, 1).Exec(g, nop5...)
		tr.ExpectViolation("J1",
			"cpu1 task1 executes 0f 1f 44 00 00 at the jump label of 0x1010, after what was set last")
	})
	golden("J1-on", func(tr *tracetest.Trace) {
		keyed(tr)
		sets(tr, 0, 0, 1, turnOn)
		tr.On(1, 1).Exec(g, label...)
		tr.ExpectNone()
	})
	trap("J1-being-set", "an old instruction after the new one is in the text, but before its setter has returned",
		func(tr *tracetest.Trace) {
			keyed(tr)
			sets(tr, 0, 0, 1, func(h tracetest.Hand) {
				turnOn(h)
				tr.On(1, 1).Exec(g, nop5...)
			})
			tr.ExpectNone()
		})
	trap("J1-neither", "a target is executed while another is being set, but not one of these two",
		func(tr *tracetest.Trace) {
			keyed(tr)
			tr.Image(k, 0xc3).On(255, 255).Emit(smpev.Setting, 1, 0, smpev.SettingCall).Form(k, 0xc3)
			tr.On(0, 0).Emit(smpev.Sets, 1, 0x103d, 0)
			tr.On(1, 1).Exec(k, 0xc3)
			tr.ExpectViolation("J1", "which is neither what was set last nor what is being set")
		})
	trap("J1-overlap", "two setters overlap: the one that returned first may be the last",
		func(tr *tracetest.Trace) {
			keyed(tr)
			sets(tr, 0, 0, 0, func(tracetest.Hand) { sets(tr, 1, 0, 1, turnOn) })
			tr.On(2, 2).Exec(g, label...)
			tr.ExpectNone()
		})
	trap("J1-one-order", "two setters overlap, and each CPU finds one of the two values: the text says which holds",
		func(tr *tracetest.Trace) {
			keyed(tr)
			sets(tr, 0, 0, 0, func(tracetest.Hand) { sets(tr, 1, 0, 1, turnOn) })
			tr.On(2, 2).Exec(g, label...).On(3, 3).Exec(g, nop5...)
			tr.ExpectViolation("J1", "cpu3")
		})
	trap("J1-refused", "the breakpoint is as a later call asks, which was refused", func(tr *tracetest.Trace) {
		keyed(tr)
		tr.On(0, 0).Emit(smpev.Sets, 2, 1, 0).Emit(smpev.Sets, 2, 1, smpev.SetsEnds|16<<errno)
		tr.On(1, 1).Exec(f+4, 0x53)
		tr.ExpectNone()
	})
	trap("J1-refusal-without-reason", "EEXIST where no breakpoint was ever set", func(tr *tracetest.Trace) {
		keyed(tr)
		tr.On(0, 0).Emit(smpev.Sets, 2, 1, 0).Emit(smpev.Sets, 2, 1, smpev.SetsEnds|17<<errno)
		tr.ExpectViolation("J1", "cpu0 task0 is answered that a breakpoint of the debugger is at 0x1004: none is set")
	})
	trap("J1-refusal-in-time", "EEXIST, and ENOENT, while another task sets and clears it", func(tr *tracetest.Trace) {
		keyed(tr)
		set := func(h tracetest.Hand) { h.Store(f+4, bp...) }
		tr.On(0, 0).Emit(smpev.Sets, 2, 1, 0)
		tr.On(1, 1).Emit(smpev.Sets, 2, 0, 0)
		sets(tr, 2, 2, 1, set)
		tr.On(0, 0).Emit(smpev.Sets, 2, 1, smpev.SetsEnds|17<<errno)
		tr.On(1, 1).Emit(smpev.Sets, 2, 0, smpev.SetsEnds|2<<errno)
		tr.ExpectNone()
	})
	trap("J1-shared", "the breakpoint isn't there that was set last: a probe was, and has written its saved byte back",
		func(tr *tracetest.Trace) {
			keyed(tr)
			h := tr.On(0, 0).Register(1, f+4)
			arm(tr, f+4)
			h.Emit(smpev.Debugger, f+4, 1, 0x53)
			sets(tr, 0, 2, 1, func(tracetest.Hand) {})
			disarm(tr, f+4, 0x53)
			h.Unregister(1)
			tr.On(1, 1).Exec(f+4, 0x53)
			tr.ExpectNone()
		})
	trap("J1-elsewhere", "the patcher's breakpoint leads behind the jump, as if it were shorter",
		func(tr *tracetest.Trace) {
			keyed(tr)
			tr.On(0, 0).Emit(smpev.Sets, 0, 1, 0).Image(g, label...).Store(g, bp...)
			tr.On(1, 1).Exec(g, bp...).Break(g).Own(g, smpev.OwnerPoke).Resume(g + 4)
			tr.ExpectViolation("J1", "cpu1 task1 takes the patcher's breakpoint at 0x1010, and continues at 0x1014")
		})
	trap("J1-leads", "the patcher's breakpoint leads to the target, to the next instruction, and back",
		func(tr *tracetest.Trace) {
			keyed(tr)
			sets(tr, 0, 0, 1, func(h tracetest.Hand) {
				h.Image(g, label...).Store(g, bp...)
				for _, to := range []uint64{g + 8, g + 5, g} {
					tr.On(1, 1).Exec(g, bp...).Break(g).Own(g, smpev.OwnerPoke).Resume(to)
				}
				turnOn(h)
			})
			tr.ExpectNone()
		})

	golden("J2-lost", func(tr *tracetest.Trace) {
		keyed(tr)
		sets(tr, 0, 0, 1, func(tracetest.Hand) {})
		tr.ExpectViolation("J2", "cpu0 task0 returns, and the jump label at 0x1010 isn't as the last call asked for: "+
			"0f 1f 44 00 00 stands there")
	})
	both := func(h tracetest.Hand) {
		h.Image(k, 0xe9, 0x10, 0, 0, 0).Store(k+1, 0x10)
		h.Image(0x1018, 0x49, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8).Store(0x1018, 0x49)
	}
	trap("J2-one-site", "one of the two sites isn't rewritten", func(tr *tracetest.Trace) {
		keyed(tr)
		tr.Alloc(h, 0x10, smpev.ModuleMem)
		sets(tr, 0, 1, 0x103d, func(h tracetest.Hand) { h.Image(k, 0xe9, 0x10, 0, 0, 0).Store(k+1, 0x10) })
		tr.ExpectViolation("J2", "the static call at 0x1018")
	})
	trap("J2-mixed", "two setters overlap, and each has written one site", func(tr *tracetest.Trace) {
		keyed(tr)
		tr.Alloc(h, 0x10, smpev.ModuleMem)
		sets(tr, 0, 1, 0x102d, func(tracetest.Hand) {
			sets(tr, 1, 1, 0x103d, func(h tracetest.Hand) { h.Image(k, 0xe9, 0x10, 0, 0, 0).Store(k+1, 0x10) })
		})
		tr.ExpectViolation("J2", "cpu0 task0 returns, and the static call")
	})
	trap("J2-both", "two setters overlap, and the one that returned first has the last word at both sites",
		func(tr *tracetest.Trace) {
			keyed(tr)
			tr.Alloc(h, 0x10, smpev.ModuleMem)
			sets(tr, 0, 1, 0x102d, func(tracetest.Hand) { sets(tr, 1, 1, 0x103d, both) })
			tr.ExpectNone()
		})
	trap("J2-gone", "one site isn't rewritten: its module isn't there", func(tr *tracetest.Trace) {
		keyed(tr)
		sets(tr, 0, 1, 0x103d, func(h tracetest.Hand) { h.Image(k, 0xe9, 0x10, 0, 0, 0).Store(k+1, 0x10) })
		tr.ExpectNone()
	})
	trap("J2-forgotten", "the module comes, and its site is as it was compiled", func(tr *tracetest.Trace) {
		keyed(tr)
		sets(tr, 0, 1, 0x103d, func(h tracetest.Hand) { h.Image(k, 0xe9, 0x10, 0, 0, 0).Store(k+1, 0x10) })
		tr.On(1, 1).Emit(smpev.Asked, 0, smpev.AskedLoad, 0).Alloc(h, 0x10, smpev.ModuleMem).
			Emit(smpev.Asked, 0, smpev.AskedLoad|smpev.AskedEnds, 0)
		tr.ExpectViolation("J2", "cpu1 task1 has loaded a module, and the static call at 0x1018")
	})
	trap("J2-loading", "the module's site isn't rewritten yet: it is being loaded", func(tr *tracetest.Trace) {
		keyed(tr)
		tr.On(1, 1).Emit(smpev.Asked, 0, smpev.AskedLoad, 0).Alloc(h, 0x10, smpev.ModuleMem)
		sets(tr, 0, 1, 0x103d, func(h tracetest.Hand) { h.Image(k, 0xe9, 0x10, 0, 0, 0).Store(k+1, 0x10) })
		tr.ExpectNone()
	})
	trap("J2-end", "a later write, of no setter, turns a label back", func(tr *tracetest.Trace) {
		keyed(tr)
		sets(tr, 0, 0, 1, turnOn)
		tr.On(0, 0).Image(g, nop5...).Store(g, nop5...).End(true)
		tr.ExpectViolation("J2", "at the end the jump label at 0x1010")
	})
	trap("J2-refused-register", "a probe was refused at the breakpoint, which is judged as before",
		func(tr *tracetest.Trace) {
			keyed(tr)
			tr.On(0, 0).ApiEnter(kpev.Register, 1, f+4).ApiReturn(kpev.Register, 1, 16)
			sets(tr, 0, 2, 1, func(tracetest.Hand) {})
			tr.ExpectViolation("J2", "the debugger's breakpoint at 0x1004")
		})
	trap("J2-registered-twice", "a probe at the breakpoint is registered once more, and that is refused",
		func(tr *tracetest.Trace) {
			keyed(tr)
			tr.On(0, 0).Register(1, f+4).ApiEnter(kpev.Register, 1, f+4).ApiReturn(kpev.Register, 1, 22)
			sets(tr, 0, 2, 1, func(tracetest.Hand) {})
			tr.ExpectNone()
		})

	trap("J1-nothing-to-write", "two CPUs take the lock prefix out: the second finds it gone, writes nothing, and may "+
		"still fetch it",
		func(tr *tracetest.Trace) {
			const g = 0x2000
			tr.Load(g, "f0 ff 07", "c3")
			for v, b := range []byte{0x3e, 0xf0} {
				first := uint64(v) * smpev.SettingFirst
				head := tr.On(255, 255).Emit(smpev.Setting, 4, uint64(v), smpev.SettingLocks|first)
				head.Form(g, b, 0xff, 0x07)
			}
			sets(tr, 0, 4, 0, func(h tracetest.Hand) { h.Image(g, 0x3e).Store(g, 0x3e) })
			sets(tr, 1, 4, 0, func(tracetest.Hand) {})
			tr.On(1, 1).Exec(g, 0xf0, 0xff, 0x07)
			tr.ExpectNone()
		})

	hit := func(tr *tracetest.Trace, whats ...uint64) {
		for _, w := range whats {
			tr.On(0, 1).Emit(smpev.Uprobe, 0x5000, w, 0x6000)
		}
	}
	golden("J3-once", func(tr *tracetest.Trace) {
		hit(tr, 0, 1, 2, 3, 0, 1, 2, 3)
		tr.ExpectNone()
	})
	golden("J3-in-trap", func(tr *tracetest.Trace) {
		hit(tr, smpev.UprobeHit)
		tr.On(0, 1).Trap(smpev.VecBP, 0x5001)
		hit(tr, smpev.UprobeRuns)
		tr.ExpectViolation("J3", "with interrupts off, before the trap is claimed")
	})
	user := func(h tracetest.Hand, what, handler uint64) { h.Emit(smpev.Uprobe, 0x5000, what, handler) }
	golden("J3-users", func(tr *tracetest.Trace) {
		user(tr.On(0, 0), smpev.UprobeAdds, f)
		user(tr.On(0, 0), smpev.UprobeAdded, f)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		user(tr.On(1, 1), smpev.UprobeRuns, f)
		user(tr.On(1, 1), smpev.UprobeRan, f)
		user(tr.On(1, 1), smpev.UprobeSteps, 0x6000)
		user(tr.On(1, 1), smpev.UprobeDone, 0x5003)
		user(tr.On(0, 0), smpev.UprobeRemoves, f)
		user(tr.On(0, 0), smpev.UprobeRemoved, f)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		user(tr.On(1, 1), smpev.UprobePasses, 0)
		user(tr.On(1, 1), smpev.UprobeDone, 0x5003)
		tr.ExpectNone()
	})
	trap("J3-user-left-out", "a hit doesn't call a user that is registered", func(tr *tracetest.Trace) {
		user(tr.On(0, 0), smpev.UprobeAdds, f)
		user(tr.On(0, 0), smpev.UprobeAdded, f)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		user(tr.On(1, 1), smpev.UprobePasses, 0)
		user(tr.On(1, 1), smpev.UprobeDone, 0x5003)
		tr.ExpectViolation("J3", "without a call of the handler 0x1000")
	})
	trap("J3-user-goes", "a user goes during a hit, which may call it or not", func(tr *tracetest.Trace) {
		user(tr.On(0, 0), smpev.UprobeAdds, f)
		user(tr.On(0, 0), smpev.UprobeAdded, f)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		user(tr.On(0, 0), smpev.UprobeRemoves, f)
		user(tr.On(0, 0), smpev.UprobeRemoved, f)
		user(tr.On(1, 1), smpev.UprobeSteps, 0x6000)
		user(tr.On(1, 1), smpev.UprobeDone, 0x5003)
		tr.ExpectNone()
	})
	trap("J3-user-gone", "a hit calls a user that is unregistered", func(tr *tracetest.Trace) {
		user(tr.On(0, 0), smpev.UprobeRemoves, f)
		user(tr.On(0, 0), smpev.UprobeRemoved, f)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		user(tr.On(1, 1), smpev.UprobeRuns, f)
		tr.ExpectViolation("J3", "and it is unregistered")
	})
	trap("J3-user-running", "a user is unregistered while its handler runs", func(tr *tracetest.Trace) {
		user(tr.On(0, 0), smpev.UprobeAdds, f)
		user(tr.On(0, 0), smpev.UprobeAdded, f)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		user(tr.On(1, 1), smpev.UprobeRuns, f)
		user(tr.On(0, 0), smpev.UprobeRemoves, f)
		user(tr.On(0, 0), smpev.UprobeRemoved, f)
		tr.ExpectViolation("J3", "a task still runs it")
	})
	trap("J3-overlap", "two calls for a user overlap, so it isn't known which was first", func(tr *tracetest.Trace) {
		user(tr.On(0, 0), smpev.UprobeAdds, f)
		user(tr.On(1, 1), smpev.UprobeRemoves, f)
		user(tr.On(1, 1), smpev.UprobeRemoved, f)
		user(tr.On(0, 0), smpev.UprobeAdded, f)
		user(tr.On(0, 0), smpev.UprobeHit, 0)
		user(tr.On(0, 0), smpev.UprobePasses, 0)
		user(tr.On(0, 0), smpev.UprobeDone, 0x5003)
		tr.ExpectNone()
	})
	trap("J3-user-unstepped", "a hit calls its user, and the copy isn't stepped", func(tr *tracetest.Trace) {
		user(tr.On(0, 0), smpev.UprobeAdds, f)
		user(tr.On(0, 0), smpev.UprobeAdded, f)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		user(tr.On(1, 1), smpev.UprobeRuns, f)
		user(tr.On(1, 1), smpev.UprobeRan, f)
		user(tr.On(1, 1), smpev.UprobeDone, 0x5003)
		tr.ExpectViolation("J3", "was stepped 0 times")
	})
	registered := func(tr *tracetest.Trace, whats ...uint64) {
		user(tr.On(0, 0), smpev.UprobeAdds, f)
		for _, w := range whats {
			user(tr.On(0, 0), w, f)
		}
		user(tr.On(0, 0), smpev.UprobeAdded, f)
	}
	// called is what a call does that hits the uprobe, whose return is hooked if a user has a return handler.
	called := func(tr *tracetest.Trace) {
		user(tr.On(1, 1), smpev.UprobeCalls, 0x4000)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		user(tr.On(1, 1), smpev.UprobeRuns, f)
		user(tr.On(1, 1), smpev.UprobeRan, f)
		user(tr.On(1, 1), smpev.UprobeHooks, 0x4000)
		user(tr.On(1, 1), smpev.UprobeSteps, 0x6000)
		user(tr.On(1, 1), smpev.UprobeDone, 0x5003)
	}
	golden("J3-returns", func(tr *tracetest.Trace) {
		registered(tr, smpev.UprobeWithReturn, smpev.UprobeMakes)
		called(tr)
		called(tr)
		user(tr.On(1, 1), smpev.UprobeLeaves, 0)
		user(tr.On(1, 1), smpev.UprobeUses, f)
		user(tr.On(1, 1), smpev.UprobeReturns, f)
		user(tr.On(1, 1), smpev.UprobeRan, f)
		user(tr.On(1, 1), smpev.UprobeBack, 0x4000)
		tr.ExpectNone()
	})
	trap("J3-return-left-out", "a call returns without a call of the return handler", func(tr *tracetest.Trace) {
		registered(tr, smpev.UprobeWithReturn)
		called(tr)
		user(tr.On(1, 1), smpev.UprobeBack, 0x4000)
		tr.ExpectViolation("J3", "without a call of the return handler of 0x1000")
	})
	trap("J3-no-return", "a user is registered again, without a return handler", func(tr *tracetest.Trace) {
		registered(tr, smpev.UprobeWithReturn)
		user(tr.On(0, 0), smpev.UprobeRemoves, f)
		user(tr.On(0, 0), smpev.UprobeRemoved, f)
		registered(tr, smpev.UprobeNoReturn)
		called(tr)
		user(tr.On(1, 1), smpev.UprobeBack, 0x4000)
		tr.ExpectNone()
	})
	trap("J3-return-late", "a user is registered during the call, and unregistered before it returns",
		func(tr *tracetest.Trace) {
			registered(tr, smpev.UprobeWithReturn)
			called(tr)
			user(tr.On(0, 0), smpev.UprobeRemoves, f)
			user(tr.On(0, 0), smpev.UprobeRemoved, f)
			user(tr.On(1, 1), smpev.UprobeBack, 0x4000)
			tr.ExpectNone()
		})
	trap("J3-return-gone", "a return calls a user that is unregistered", func(tr *tracetest.Trace) {
		registered(tr, smpev.UprobeWithReturn)
		called(tr)
		user(tr.On(0, 0), smpev.UprobeRemoves, f)
		user(tr.On(0, 0), smpev.UprobeRemoved, f)
		user(tr.On(1, 1), smpev.UprobeReturns, f)
		tr.ExpectViolation("J3", "runs the return handler of 0x1000 for the uprobe at 0x5000, and it is unregistered")
	})
	trap("J3-return-running", "a user is unregistered while its return handler runs", func(tr *tracetest.Trace) {
		registered(tr, smpev.UprobeWithReturn)
		called(tr)
		user(tr.On(1, 1), smpev.UprobeReturns, f)
		user(tr.On(0, 0), smpev.UprobeRemoves, f)
		user(tr.On(0, 0), smpev.UprobeRemoved, f)
		tr.ExpectViolation("J3", "a task still runs it")
	})
	trap("J3-return-twice", "a return handler runs twice for one call", func(tr *tracetest.Trace) {
		registered(tr, smpev.UprobeWithReturn)
		called(tr)
		user(tr.On(1, 1), smpev.UprobeReturns, f)
		user(tr.On(1, 1), smpev.UprobeRan, f)
		user(tr.On(1, 1), smpev.UprobeReturns, f)
		tr.ExpectViolation("J3", "runs the return handler of 0x1000 again for one call")
	})
	trap("J3-return-astray", "a call returns elsewhere", func(tr *tracetest.Trace) {
		registered(tr)
		called(tr)
		user(tr.On(1, 1), smpev.UprobeBack, 0x4001)
		tr.ExpectViolation("J3", "to 0x4001, and was called from 0x4000")
	})
	trap("J3-return-lost", "a call returns to the trampoline, and isn't known", func(tr *tracetest.Trace) {
		registered(tr)
		called(tr)
		user(tr.On(1, 1), smpev.UprobeLost, 0)
		tr.ExpectViolation("J3", "no call is known there")
	})
	trap("J3-return-freed", "a return uses a uprobe that is freed", func(tr *tracetest.Trace) {
		registered(tr, smpev.UprobeMakes)
		called(tr)
		user(tr.On(0, 0), smpev.UprobeFrees, f)
		user(tr.On(1, 1), smpev.UprobeUses, f)
		tr.ExpectViolation("J3", "uses the memory of that uprobe, which is freed")
	})
	trap("J3-return-reused", "memory of a uprobe is freed, and becomes another one's", func(tr *tracetest.Trace) {
		registered(tr, smpev.UprobeMakes)
		called(tr)
		user(tr.On(0, 0), smpev.UprobeFrees, f)
		user(tr.On(0, 0), smpev.UprobeMakes, f)
		user(tr.On(1, 1), smpev.UprobeUses, f)
		tr.ExpectNone()
	})
	trap("J3-unwanted", "a hit calls a user that doesn't want the process", func(tr *tracetest.Trace) {
		registered(tr, smpev.UprobeSkips)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		user(tr.On(1, 1), smpev.UprobeRuns, f)
		tr.ExpectViolation("J3", "and it doesn't want the process")
	})
	trap("J3-return-unwanted", "a filter isn't asked where a call returns", func(tr *tracetest.Trace) {
		registered(tr, smpev.UprobeWithReturn, smpev.UprobeSkips)
		user(tr.On(1, 1), smpev.UprobeCalls, 0x4000)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		user(tr.On(1, 1), smpev.UprobePasses, 0)
		user(tr.On(1, 1), smpev.UprobeDone, 0x5003)
		user(tr.On(1, 1), smpev.UprobeReturns, f)
		user(tr.On(1, 1), smpev.UprobeRan, f)
		user(tr.On(1, 1), smpev.UprobeBack, 0x4000)
		tr.ExpectNone()
	})
	trap("J3-wanted-elsewhere", "a user doesn't want another process than the one that hits the uprobe",
		func(tr *tracetest.Trace) {
			registered(tr, smpev.UprobeWants)
			tr.On(0, 0).Emit(smpev.Uprobe, 0x7000, smpev.UprobeSkips, f)
			user(tr.On(1, 1), smpev.UprobeHit, 0)
			user(tr.On(1, 1), smpev.UprobePasses, 0)
			user(tr.On(1, 1), smpev.UprobeDone, 0x5003)
			tr.ExpectViolation("J3", "without a call of the handler 0x1000")
		})
	trap("J3-unwanted-meanwhile", "a handler has its process skipped while another thread of it hits the uprobe",
		func(tr *tracetest.Trace) {
			registered(tr, smpev.UprobeWants)
			user(tr.On(1, 1), smpev.UprobeHit, 0)
			user(tr.On(0, 0), smpev.UprobeSkips, f)
			user(tr.On(1, 1), smpev.UprobePasses, 0)
			user(tr.On(1, 1), smpev.UprobeDone, 0x5003)
			tr.ExpectNone()
		})
	trap("J3-wanted-meanwhile", "a user is registered again, and wants the process", func(tr *tracetest.Trace) {
		registered(tr, smpev.UprobeSkips)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		registered(tr, smpev.UprobeWants)
		user(tr.On(1, 1), smpev.UprobeRuns, f)
		user(tr.On(1, 1), smpev.UprobeRan, f)
		user(tr.On(1, 1), smpev.UprobeSteps, 0x6000)
		user(tr.On(1, 1), smpev.UprobeDone, 0x5003)
		tr.ExpectNone()
	})
	trap("J3-emulated", "the instruction is emulated, in a trap and in a system call", func(tr *tracetest.Trace) {
		registered(tr)
		for _, enters := range []uint64{smpev.UprobeToCall, smpev.UprobeEnters, smpev.UprobeToNop} {
			user(tr.On(1, 1), smpev.UprobeHit, 0)
			user(tr.On(1, 1), enters, 0)
			user(tr.On(1, 1), smpev.UprobeRuns, f)
			user(tr.On(1, 1), smpev.UprobeRan, f)
			user(tr.On(1, 1), smpev.UprobeEmulates, 0)
			user(tr.On(1, 1), smpev.UprobeDone, 0x5005)
		}
		tr.ExpectNone()
	})
	trap("L2-uprobe", "a uprobe's breakpoint stands at the end, and then the text isn't restored",
		func(tr *tracetest.Trace) {
			user(tr.On(0, 0), smpev.UprobeStands, 0)
			tr.On(0, 0).Store(f, 0xcc)
			tr.ExpectNone()
		})
	trap("J3-emulated-twice", "a hit's instruction is emulated twice", func(tr *tracetest.Trace) {
		registered(tr)
		user(tr.On(1, 1), smpev.UprobeHit, 0)
		user(tr.On(1, 1), smpev.UprobeRuns, f)
		user(tr.On(1, 1), smpev.UprobeRan, f)
		user(tr.On(1, 1), smpev.UprobeEmulates, 0)
		user(tr.On(1, 1), smpev.UprobeEmulates, 0)
		tr.ExpectViolation("J3", "it has been stepped 2 times")
	})
	trap("J3-killed", "a breakpoint stands, and no uprobe is there", func(tr *tracetest.Trace) {
		user(tr.On(0, 0), smpev.UprobeHit, 0)
		user(tr.On(0, 0), smpev.UprobeKills, 0)
		tr.ExpectViolation("J3", "is killed")
	})
	trap("J3-again", "the breakpoint is taken twice before the handler runs", func(tr *tracetest.Trace) {
		hit(tr, 0, 0, 1, 2, 3)
		tr.ExpectNone()
	})
	trap("J3-twice", "the handler runs, and then the breakpoint is taken again", func(tr *tracetest.Trace) {
		hit(tr, 0, 1, 0)
		tr.ExpectViolation("J3", "cpu0 task1 is sent back to the uprobe at 0x5000, whose handler has run")
	})
	trap("J3-never", "the copy is stepped, and the handler hasn't run", func(tr *tracetest.Trace) {
		hit(tr, 0, 2)
		tr.ExpectViolation("J3", "the handler has run 0 times")
	})
	trap("J3-passed", "user mode continues after the instruction, as if it had no uprobe", func(tr *tracetest.Trace) {
		hit(tr, 0, 3)
		tr.ExpectViolation("J3", "continues in user mode after the uprobe at 0x5000: its handler has run 0 times")
	})
}
