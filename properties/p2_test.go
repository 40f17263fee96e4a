package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	golden("P2-again", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		unoptimize(tr)
		optimize(tr)
		tr.End(true).ExpectNone()
	})
	golden("P2-not-again", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		unoptimize(tr)
		tr.End(true).ExpectViolation("P2", "cc stands at probe 1, 0x1000, which was a jump")
	})
	trap("P2-undecodable", "a static call's tail after it has become a return and int3s", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		unoptimize(tr)
		tr.On(0, 0).Image(f+0x18, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc)
		tr.End(true).ExpectNone()
	})
	trap("P2-by-hand", "a breakpoint that isn't a probe's stood in the function", func(tr *tracetest.Trace) {
		tr.Emit(smpev.ByHand, f+0x18, 1, 0)
		probed(tr)
		optimize(tr)
		tr.On(0, 0).Image(f+0x18, 0xcc).Image(f+0x18, 0x90)
		unoptimize(tr)
		tr.End(true).ExpectNone()
	})
	trap("P2-unfinished", "the jump is away, but there is work left", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		unoptimize(tr)
		tr.End(false).ExpectNone()
	})
	trap("P2-neighbour", "another probe is registered in the region", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		unoptimize(tr)
		tr.Register(2, f+1)
		arm(tr, f+1)
		tr.End(true).ExpectNone()
	})
	trap("P2-neighbour-gone", "another probe was registered in the region, and isn't any more",
		func(tr *tracetest.Trace) {
			probed(tr)
			optimize(tr)
			unoptimize(tr)
			tr.Register(2, f+1)
			arm(tr, f+1)
			disarm(tr, f+1, mov[0])
			tr.Unregister(2).End(true).ExpectViolation("P2", "probe 1")
		})
	trap("P2-neighbour-disabled", "the probe in the region is registered, and disabled", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.ApiEnter(kpev.Register, 2, f+1)
		unoptimize(tr)
		tr.ApiReturn(kpev.Register, 2, 0).ApiEnter(kpev.Disable, 2, f+1).ApiReturn(kpev.Disable, 2, 0).End(true).
			ExpectViolation("P2", "probe 1")
	})
	trap("P2-neighbour-enabled", "the probe in the region was disabled, and is enabled for all that is known",
		func(tr *tracetest.Trace) {
			probed(tr)
			optimize(tr)
			tr.ApiEnter(kpev.Register, 2, f+1)
			unoptimize(tr)
			tr.ApiReturn(kpev.Register, 2, 0).ApiEnter(kpev.Disable, 2, f+1).ApiReturn(kpev.Disable, 2, 0).
				ApiEnter(kpev.Enable, 2, f+1).End(true).ExpectNone()
		})
	trap("P2-disabled-forbids",
		"a probe at the same address is disabled, and rules out a jump all the same: a jprobe, or one with a post_handler",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.NoJump, 2, 0, 0)
			probed(tr)
			optimize(tr)
			tr.ApiEnter(kpev.Register, 2, f)
			unoptimize(tr)
			tr.ApiReturn(kpev.Register, 2, 0).ApiEnter(kpev.Disable, 2, f).ApiReturn(kpev.Disable, 2,
				0).End(true).ExpectNone()
		})
	trap("P2-label", "a jump of another patcher leads behind the region, which the rules count in",
		func(tr *tracetest.Trace) {
			flip := leadTo(tr, f+5)
			probed(tr)
			optimize(tr)
			unoptimize(tr)
			flip()
			tr.End(true).ExpectNone()
		})
	trap("P2-label-beyond", "a jump of another patcher leads beyond that", func(tr *tracetest.Trace) {
		flip := leadTo(tr, f+6)
		probed(tr)
		optimize(tr)
		unoptimize(tr)
		flip()
		tr.End(true).ExpectViolation("P2", "probe 1")
	})
	trap("P2-behind", "another probe is registered, but behind the region", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		unoptimize(tr)
		tr.Register(2, f+5)
		arm(tr, f+5)
		tr.End(true).ExpectViolation("P2", "probe 1")
	})
	trap("P2-joined", "another probe has joined at the address, which may forbid it", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		unoptimize(tr)
		tr.Register(2, f)
		tr.End(true).ExpectNone()
	})
	trap("P2-joining", "it was registered when the jump was written, as far as its caller knows: it may have come "+
		"later, with what forbids it", func(tr *tracetest.Trace) {
		probed(tr)
		tr.On(1, 2).ApiEnter(kpev.Register, 2, f)
		tr.On(0, 1)
		optimize(tr)
		unoptimize(tr)
		tr.On(1, 2).ApiReturn(kpev.Register, 2, 0)
		tr.On(0, 1).Unregister(1).End(true).ExpectNone()
	})
	trap("P2-off", "the sysctl says 0", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.Sysctl(0, 0)
		unoptimize(tr)
		tr.Sysctl(0, 1).End(true).ExpectNone()
	})
	golden("P2-never-a-jump", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Fits, 1, 0, kpev.FitsJump)
		probed(tr)
		tr.End(true).ExpectViolation("P2", "cc stands at probe 1")
	})
	trap("P2-no-jump-yet",
		"a probe that is to be a jump isn't one, because the run was cut short, or because it isn't to be one",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Fits, 1, 0, kpev.FitsJump).Emit(kpev.Fits, 2, 0, 0)
			probed(tr)
			tr.End(false).ExpectNone()
		})
	trap("P2-off-and-on", "the sysctl has said 0, and says 1 again", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.Sysctl(0, 0)
		unoptimize(tr)
		tr.Sysctl(0, 1).Sysctl(1, 0).Emit(kpev.Printk, uint64(kpev.LineOptimized), 0, 0).Sysctl(1, 1).End(true).
			ExpectViolation("P2", "probe 1")
	})
	trap("P2-overtaken", "a write of 1 has returned last, but one of 0 came into it", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.On(0, 1).Sysctl(1, 0)
		tr.On(1, 2).Sysctl(0, 0)
		unoptimize(tr)
		tr.On(1, 2).Sysctl(0, 1)
		tr.On(0, 1).Sysctl(1, 1).End(true).ExpectNone()
	})
	trap("P2-disabled", "it is disabled", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.ApiEnter(kpev.Disable, 1, f)
		unoptimize(tr)
		disarm(tr, f, push[0])
		tr.ApiReturn(kpev.Disable, 1, 0).End(true).ExpectNone()
	})
	trap("P2-all-off", "kprobes/enabled says 0", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.Emit(kpev.Enabled, 0, 0, 0)
		unoptimize(tr)
		disarm(tr, f, push[0])
		tr.Emit(kpev.Enabled, 0, 1, 0).End(true).ExpectNone()
	})
}

// leadTo declares g a site of another patcher, and writes a jump there when it is told to.
func leadTo(tr *tracetest.Trace, to uint64) (flip func()) {
	rel := uint32(to - (g + 5))
	label := []byte{0xe9, byte(rel), byte(rel >> 8), byte(rel >> 16), byte(rel >> 24)}
	tr.Image(g, label...)
	return func() { tr.Image(g, label...).Store(g, label...) }
}
