package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	const ( // how a CPU is given up
		preempted = 0
		willing   = smpev.GiveWilling
		rests     = smpev.GiveWilling | smpev.GiveRests
	)
	gives := func(tr *tracetest.Trace, cpu uint8, task, next, how uint64) {
		tr.On(cpu, uint8(task)).Emit(smpev.Gives, task, next, how)
	}
	// two tasks, 4 on cpu0 and 5 on cpu1.
	awake := func(tr *tracetest.Trace) {
		tr.Emit(smpev.Wake, 4, 0, 0).Emit(smpev.Wake, 5, 0, 0)
		gives(tr, 0, 0, 4, rests)
		gives(tr, 1, 1, 5, rests)
	}
	// 4 calls unregister, and waits.
	waits := func(tr *tracetest.Trace) {
		awake(tr)
		tr.On(0, 4).ApiEnter(kpev.Register, 1, f)
		arm(tr, f)
		tr.On(0, 4).ApiReturn(kpev.Register, 1, 0).ApiEnter(kpev.Unregister, 1, 0)
		gives(tr, 0, 4, 0, rests)
	}
	golden("P3-returns", func(tr *tracetest.Trace) {
		waits(tr)
		for range 100 {
			gives(tr, 1, 5, 5, willing)
		}
		tr.Emit(smpev.Wake, 4, 0, 0)
		gives(tr, 0, 0, 4, rests)
		disarm(tr, f, push[0])
		tr.On(0, 4).ApiReturn(kpev.Unregister, 1, 0)
		for range 200 {
			gives(tr, 1, 5, 5, willing)
		}
		tr.ExpectNone()
	})
	golden("P3-late", func(tr *tracetest.Trace) {
		waits(tr)
		for range 122 {
			gives(tr, 1, 5, 5, willing)
		}
		tr.ExpectViolation("P3",
			"everybody has 121 times since unregister began in task4, which hasn't returned: with 2 tasks, and 0 calls since "+
				"then or under way")
	})
	trap("P3-last-round", "as often, but for once", func(tr *tracetest.Trace) {
		waits(tr)
		for range 121 {
			gives(tr, 1, 5, 5, willing)
		}
		tr.ExpectNone()
	})
	trap("P3-starved", "others give up their CPU as often as that, but one has none: nobody can say that it takes long",
		func(tr *tracetest.Trace) {
			waits(tr)
			tr.Emit(smpev.Wake, 6, 0, 0)
			for range 1000 {
				gives(tr, 1, 5, 5, willing)
			}
			tr.ExpectNone()
		})
	trap("P3-idle-held", "an idle CPU stands in an interrupt's handler, for which grace periods wait",
		func(tr *tracetest.Trace) {
			waits(tr)
			tr.On(2, 2).Emit(smpev.Trap, 0xfb, f, 0)
			for range 300 {
				gives(tr, 1, 5, 5, willing)
			}
			tr.ExpectNone()
		})
	trap("P3-idle-back", "it has come back from there, and that is too often since", func(tr *tracetest.Trace) {
		waits(tr)
		tr.On(2, 2).Emit(smpev.Trap, 0xfb, f, 0)
		for range 300 {
			gives(tr, 1, 5, 5, willing)
		}
		tr.On(2, 2).Emit(smpev.Return, 0xfb, f, 0)
		for range 121 {
			gives(tr, 1, 5, 5, willing)
		}
		tr.ExpectViolation("P3", "unregister began in task4")
	})
	trap("P3-preempted", "one of the others is preempted, and hasn't a CPU since", func(tr *tracetest.Trace) {
		waits(tr)
		tr.Emit(smpev.Wake, 6, 0, 0)
		gives(tr, 1, 5, 6, preempted)
		for range 1000 {
			gives(tr, 1, 6, 6, willing)
		}
		tr.ExpectNone()
	})
	trap("P3-timer", "a timer hasn't come: whoever waits for what it wakes can't be said to wait long",
		func(tr *tracetest.Trace) {
			waits(tr)
			tr.Emit(smpev.Due, 6, 0, 0)
			for range 1000 {
				gives(tr, 1, 5, 5, willing)
			}
			tr.ExpectNone()
		})
	trap("P3-timer-over", "a timer has run, but it is over", func(tr *tracetest.Trace) {
		waits(tr)
		tr.Emit(smpev.Due, 6, 0, 0)
		gives(tr, 1, 5, 5, willing)
		tr.Emit(smpev.Due, 6, 1, 0)
		for range 121 {
			gives(tr, 1, 5, 5, willing)
		}
		tr.ExpectViolation("P3", "unregister")
	})
	trap("P3-others-call", "others call meanwhile, and for each there is more time", func(tr *tracetest.Trace) {
		waits(tr)
		for range 100 {
			tr.On(1, 5).ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 22)
			for range 50 {
				gives(tr, 1, 5, 5, willing)
			}
		}
		tr.ExpectNone()
	})
	trap("P3-array", "two calls of one task, as for an array: for each there is time for both, and no more",
		func(tr *tracetest.Trace) {
			awake(tr)
			tr.On(0, 4).ApiEnter(kpev.Register, 1, f).ApiEnter(kpev.Register, 2, g+5)
			gives(tr, 0, 4, 0, rests)
			for range 182 {
				gives(tr, 1, 5, 5, willing)
			}
			tr.ExpectViolation("P3", "since register began in task4")
		})
	trap("P3-long-array", "an array of 35, and the optimizer takes the mutex between two of them: ten rounds each",
		func(tr *tracetest.Trace) {
			awake(tr)
			for id := range uint64(35) {
				tr.On(0, 4).ApiEnter(kpev.Register, 1+id, f)
			}
			gives(tr, 0, 4, 0, rests)
			for range 350 {
				gives(tr, 1, 5, 5, willing)
			}
			tr.ExpectNone()
		})
	trap("P3-under-way", "another task's call was under way: it may lock the mutex first", func(tr *tracetest.Trace) {
		awake(tr)
		tr.On(1, 5).ApiEnter(kpev.Register, 1, f).On(0, 4).ApiEnter(kpev.Disable, 2, g+5)
		gives(tr, 0, 4, 0, rests)
		for range 150 {
			gives(tr, 1, 5, 5, willing)
		}
		tr.ExpectNone()
	})
	trap("P3-switch", "no call of the API lasts, but a write of a switch", func(tr *tracetest.Trace) {
		awake(tr)
		tr.On(0, 4).Sysctl(0, 0)
		gives(tr, 0, 4, 0, rests)
		for range 122 {
			gives(tr, 1, 5, 5, willing)
		}
		tr.ExpectViolation("P3", "a write of kprobes-optimization")
	})
	golden("P3-polls", func(tr *tracetest.Trace) { // it doesn't wait, it looks again and again
		waits(tr)
		tr.Emit(smpev.Wake, 4, 0, 0)
		gives(tr, 0, 0, 4, rests)
		for range 60 {
			gives(tr, 0, 4, 4, willing)
			gives(tr, 1, 5, 5, willing)
		}
		tr.End(false).ExpectNone()
	})
	golden("P3-polls-on", func(tr *tracetest.Trace) {
		waits(tr)
		tr.Emit(smpev.Wake, 4, 0, 0)
		gives(tr, 0, 0, 4, rests)
		for range 122 {
			gives(tr, 0, 4, 4, willing)
			gives(tr, 1, 5, 5, willing)
		}
		tr.ExpectViolation("P3", "unregister")
	})
}
