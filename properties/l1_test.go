package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
)

func init() {
	trap("L1-late-handler", "the breakpoint was hit while the probe was registered, but unregister didn't wait",
		func(tr *tracetest.Trace) {
			probed(tr)
			a := tr.On(1, 2).Break(f)
			unprobed(tr)
			a.Pre(1)
			tr.ExpectViolation("L1", "runs a handler of probe 1, which isn't registered any more")
		})
	golden("L1-late-post", func(tr *tracetest.Trace) {
		probed(tr)
		a := tr.On(1, 2).Break(f).Pre(1)
		unprobed(tr)
		a.Post(1)
		tr.ExpectViolation("L1", "runs a handler")
	})
	golden("L1-late-miss", func(tr *tracetest.Trace) {
		probed(tr)
		a := tr.On(1, 2).Break(f)
		unprobed(tr)
		a.Missed(1)
		tr.ExpectViolation("L1", "counts a miss")
	})
	golden("L1-late-skip", func(tr *tracetest.Trace) {
		probed(tr)
		a := tr.On(1, 2).Break(f)
		unprobed(tr)
		a.Skipped(1, 2)
		tr.ExpectViolation("L1", "counts a skip")
	})
	trap("L1-unregistering", "unregister has begun, and waits for just this handler",
		func(tr *tracetest.Trace) {
			probed(tr)
			a := tr.On(1, 2).Break(f)
			tr.ApiEnter(kpev.Unregister, 1, 0)
			disarm(tr, f, push[0])
			a.Pre(1).Own(f, kpev.OwnerKprobe).Resume(f + 1)
			tr.ApiReturn(kpev.Unregister, 1, 0)
			tr.ExpectNone()
		})
	trap("L1-registering-again", "unregister has returned, but register has begun on another CPU",
		func(tr *tracetest.Trace) {
			probed(tr)
			unprobed(tr)
			tr.ApiEnter(kpev.Register, 1, f)
			arm(tr, f)
			tr.On(1, 2).Break(f).Pre(1)
			tr.ExpectNone()
		})
	golden("L1-failed-unregister", func(tr *tracetest.Trace) {
		probed(tr)
		tr.ApiEnter(kpev.Unregister, 2, g).ApiEnter(kpev.Unregister, 1, 0) // an array, which answers for both
		tr.ApiReturn(kpev.Unregister, 1, 22).ApiReturn(kpev.Unregister, 2, 22)
		tr.On(1, 2).Break(f).Pre(1)
		tr.ExpectNone()
	})
	trap("L1-second-unregister-waits", "one unregister returned, but another one of the same probe is still at it",
		func(tr *tracetest.Trace) {
			probed(tr)
			a := tr.On(1, 2).Break(f)
			tr.ApiEnter(kpev.Unregister, 1, 0)
			disarm(tr, f, push[0])
			tr.On(2, 3).Unregister(1)
			a.Pre(1).Own(f, kpev.OwnerKprobe).Resume(f + 1)
			tr.ExpectNone()
		})
}
