package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

// posted registers probe 1, which has both handlers.
func posted(tr *tracetest.Trace) {
	tr.Expect(2, 0, 7)
	tr.Emit(kpev.Kind, 1, 0, 4)
	probed(tr)
}

func init() {
	golden("A2-called", func(tr *tracetest.Trace) {
		posted(tr)
		tr.On(1, 2).Break(f).Pre(1).Post(1).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 7)
		tr.ExpectNone()
	})
	trap("A2-boosted", "the hit is accounted for by a pre_handler, but the copy was boosted past the post_handler",
		func(tr *tracetest.Trace) {
			posted(tr)
			tr.On(1, 2).Break(f).Pre(1).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 7)
			tr.ExpectViolation("A2", "the post_handler of probe 1")
		})
	trap("A2-disabled-meanwhile", "no post_handler, but the probe was being disabled",
		func(tr *tracetest.Trace) {
			posted(tr)
			hand := tr.On(1, 2).Break(f).Pre(1)
			tr.ApiEnter(kpev.Disable, 1, f)
			hand.Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 7)
			tr.ExpectNone()
		})
	trap("A2-unregistered-meanwhile", "the probe is on its way out, but unregister waits for a hit that is under way",
		func(tr *tracetest.Trace) {
			posted(tr)
			hand := tr.On(1, 2).Break(f).Pre(1)
			tr.ApiEnter(kpev.Unregister, 1, f)
			hand.Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 7)
			tr.ExpectViolation("A2", "the post_handler of probe 1")
		})
	trap("A2-hit-while-unregistered", "no post_handler, but the hit came when the probe was on its way out",
		func(tr *tracetest.Trace) {
			posted(tr)
			tr.ApiEnter(kpev.Unregister, 1, f)
			tr.On(1, 2).Break(f).Pre(1).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 7)
			tr.ExpectNone()
		})
	trap("A2-path-changed", "no post_handler, but a sibling's pre_handler changes the path",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Kind, 2, 0, 8)
			posted(tr)
			tr.Register(2, f)
			tr.On(1, 2).Break(f).Pre(1).Pre(2).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 7)
			tr.ExpectNone()
		})
	trap("A2-page-fault",
		"the pre_handler runs twice and the post_handler once: the copy has faulted, and is stepped again when the page "+
			"has come",
		func(tr *tracetest.Trace) {
			posted(tr)
			hand := tr.On(1, 2).Break(f).Pre(1).Own(f, kpev.OwnerKprobe).Resume(slot)
			hand.Exec(slot, push...).Trap(smpev.VecPF, slot).Claim(smpev.VecPF, slot,
				smpev.OwnerFault).Return(smpev.VecPF, f)
			hand.Break(f).Pre(1).Post(1).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 7)
			tr.ExpectNone()
		})
	trap("A2-not-after-fault", "the copy has faulted once, but the second time it has come to its end",
		func(tr *tracetest.Trace) {
			posted(tr)
			hand := tr.On(1, 2).Break(f).Pre(1).Own(f, kpev.OwnerKprobe).Resume(slot)
			hand.Exec(slot, push...).Trap(smpev.VecPF, slot).Claim(smpev.VecPF, slot,
				smpev.OwnerFault).Return(smpev.VecPF, f)
			hand.Break(f).Pre(1).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0, 7)
			tr.ExpectViolation("A2", "the post_handler of probe 1")
		})
	golden("A2-fault", func(tr *tracetest.Trace) {
		posted(tr)
		tr.On(1, 2).Break(f).Pre(1).Emit(kpev.Handler, 1, kpev.Fault, f).Own(f, kpev.OwnerKprobe).Resume(f+1).CallEnd(0,
			7)
		tr.ExpectNone()
	})
}
