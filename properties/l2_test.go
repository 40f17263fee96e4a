package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	golden("L2-restored", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		unoptimize(tr)
		unprobed(tr)
		tr.End(true).ExpectNone()
	})
	golden("L2-breakpoint-left", func(tr *tracetest.Trace) {
		probed(tr)
		tr.Unregister(1)
		tr.ExpectViolation("L2", "its breakpoint is still at 0x1000")
	})
	trap("L2-delayed", "unregister returns and a breakpoint stays: of a jump that the optimizer takes back later",
		func(tr *tracetest.Trace) {
			probed(tr)
			optimize(tr)
			tr.ApiEnter(kpev.Unregister, 1, 0)
			unoptimize(tr)
			tr.ApiReturn(kpev.Unregister, 1, 0)
			disarm(tr, f, push[0])
			tr.Free(slot, 16, kpev.SlotMem).End(true).ExpectNone()
		})
	trap("L2-sibling", "unregister returns and the breakpoint stays: of another probe",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.Register(2, f).Unregister(1)
			tr.End(true).ExpectNone()
		})
	trap("L2-was-a-jump-once", "a jump was at the address, but it was taken back whole before this registration",
		func(tr *tracetest.Trace) {
			probed(tr)
			optimize(tr)
			unoptimize(tr)
			unprobed(tr)
			tr.Register(2, f)
			arm(tr, f)
			tr.Unregister(2)
			tr.ExpectViolation("L2", "probe 2")
		})
	trap("L2-raw", "unregister returns and a breakpoint is at the probe's address: of a patcher of the site it shares, "+
		"on its way to a call",
		func(tr *tracetest.Trace) {
			tr.Image(g, nop5...).Image(g, label...)
			tr.Register(1, g).Store(g, bp...).Unregister(1)
			tr.Store(g, label[0]).End(false).ExpectNone()
		})
	trap("L2-raw-probed",
		"the end finds other bytes than those that were linked: of a raw site, behind the breakpoint of a probe that isn't "+
			"refused there",
		func(tr *tracetest.Trace) {
			tr.Image(g, nop5...).Image(g, label...).Store(g, label...)
			tr.Register(1, g).Store(g, bp...)
			tr.End(true).ExpectNone()
		})
	golden("L2-raw-half", func(tr *tracetest.Trace) {
		tr.Image(g, nop5...).Image(g, label...).Store(g, label[:2]...)
		tr.Register(1, g).Store(g, bp...)
		tr.End(true).ExpectViolation("L2", "no whole image")
	})
	trap("L2-jump-byte",
		"unregister returns and cc stands at the probe's address: a byte of the jump that a neighbour has got meanwhile, "+
			"or is getting",
		func(tr *tracetest.Trace) {
			far := []byte{0xe9, 0xcc, 0x0f, 0xfc, 0x1e}
			probed(tr)
			for _, head := range []byte{0xcc, 0xe9} {
				tr.ApiEnter(kpev.Register, 2, f+1)
				arm(tr, f+1)
				tr.ApiReturn(kpev.Register, 2, 0).ApiEnter(kpev.Unregister, 2, 0)
				disarm(tr, f+1, 0x48)
				tr.Image(f, far...).Store(f+1, far[1:]...).Store(f, head)
				tr.ApiReturn(kpev.Unregister, 2, 0)
				tr.Image(f, armed...).Store(f+1, armed[1:]...).Store(f, 0xcc)
			}
			tr.End(false).ExpectNone()
		})
	trap("L2-no-jump-byte", "the same, but the rest of the jump isn't there",
		func(tr *tracetest.Trace) {
			far := []byte{0xe9, 0xcc, 0x0f, 0xfc, 0x1e}
			probed(tr)
			tr.ApiEnter(kpev.Register, 2, f+1)
			arm(tr, f+1)
			tr.ApiReturn(kpev.Register, 2, 0).Image(f, far...).Unregister(2)
			tr.ExpectViolation("L2", "its breakpoint is still at 0x1001")
		})
	trap("L2-torn-tail", "the head is a breakpoint, as it should be, but the jump's tail is left behind it",
		func(tr *tracetest.Trace) {
			probed(tr)
			optimize(tr)
			tr.Image(f, armed...).Store(f, bp...)
			tr.End(true).ExpectViolation("L2", "0x1001 holds fb")
		})
	trap("L2-dying", "unregister returns and the breakpoint stays: in a module's text that is about to go, and then "+
		"comes again whole",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem)
			probed(tr)
			tr.Retire(f, 0x100, smpev.ModuleMem)
			tr.Unregister(1).Free(f, 0x100, smpev.ModuleMem)
			tr.Alloc(f, 0x100, smpev.ModuleMem).Store(f, push[0]).Free(slot, 16, kpev.SlotMem)
			tr.End(true).ExpectNone()
		})
	trap("L2-other-module", "a module's text is about to go, but the breakpoint that unregister leaves is in another's",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem).Alloc(0x9000, 0x100, smpev.ModuleMem)
			probed(tr)
			tr.Retire(0x9000, 0x100, smpev.ModuleMem)
			tr.Unregister(1)
			tr.ExpectViolation("L2", "its breakpoint is still at 0x1000")
		})
	golden("L2-jump-left", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.Unregister(1).Free(slot, 16, kpev.SlotMem)
		tr.End(true).ExpectViolation("L2", "0x1000 holds e9, though no probe is registered")
	})
	golden("L2-jump-stays", func(tr *tracetest.Trace) {
		probed(tr)
		optimize(tr)
		tr.End(true).ExpectNone()
	})
	trap("L2-label-left-on", "no probe is left and the text isn't the original: a jump label is on",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.Image(g, label...).Store(g, bp...).Store(g+1, label[1:]...).Store(g, label[0])
			unprobed(tr)
			tr.End(true).ExpectNone()
		})
	golden("L2-label-torn", func(tr *tracetest.Trace) {
		tr.Image(g, label...).Store(g+1, label[1:]...)
		tr.End(true).ExpectViolation("L2", "0x1011 holds 03")
	})
	golden("L2-cut-short", func(tr *tracetest.Trace) {
		tr.Store(f, bp...).End(false).ExpectNone()
	})
	trap("L2-two-breakpoints", "a breakpoint in the region behind a breakpoint: two sites, each whole",
		func(tr *tracetest.Trace) {
			probed(tr)
			optimize(tr)
			unoptimize(tr)
			tr.ApiEnter(kpev.Register, 2, f+4)
			arm(tr, f+4)
			tr.ApiReturn(kpev.Register, 2, 0)
			tr.End(true).ExpectNone()
		})
	trap("L2-replaced", "a jump stands over the beginning of an instruction that an alternative has put there",
		func(tr *tracetest.Trace) {
			tr.Load(0x1100, "55", "48 89 e5", "48 89 e5", "c3")
			tr.Image(0x1104, mov...).Image(0x1104, moved...).Store(0x1104, moved...)
			tr.ApiEnter(kpev.Register, 1, 0x1100)
			arm(tr, 0x1100)
			tr.Image(0x1100, jmp...).Store(0x1101, jmp[1:]...).Store(0x1100, jmp[0]).ApiReturn(kpev.Register, 1, 0)
			tr.End(true).ExpectNone()
		})
	trap("L2-replaced-torn", "a jump stands over the beginning of an instruction whose rest is of neither",
		func(tr *tracetest.Trace) {
			tr.Load(0x1100, "55", "48 89 e5", "48 89 e5", "c3")
			tr.Image(0x1104, mov...).Image(0x1104, moved...).Store(0x1104, 0x48, 0x8b, 0xed)
			tr.ApiEnter(kpev.Register, 1, 0x1100)
			arm(tr, 0x1100)
			tr.Image(0x1100, jmp...).Store(0x1101, jmp[1:]...).Store(0x1100, jmp[0]).ApiReturn(kpev.Register, 1, 0)
			tr.End(true).ExpectViolation("L2", "0x1105 holds 8b")
		})
	trap("L2-unannounced-breakpoint", "nobody announced the breakpoint, but a probe is registered there",
		func(tr *tracetest.Trace) {
			tr.ApiEnter(kpev.Register, 1, f).Store(f, bp...).ApiReturn(kpev.Register, 1, 0)
			tr.End(true).ExpectNone()
		})
	trap("L2-another-probe", "a whole jump, as announced; but the probe that is left is elsewhere",
		func(tr *tracetest.Trace) {
			probed(tr)
			optimize(tr)
			tr.ApiEnter(kpev.Register, 2, h)
			arm(tr, h)
			tr.ApiReturn(kpev.Register, 2, 0).Unregister(1)
			tr.End(true).ExpectViolation("L2", "0x1000 holds e9, which is no whole image")
		})
	golden("L2-torn-head", func(tr *tracetest.Trace) {
		probed(tr)
		tr.Image(f, jmp...).Store(f, jmp[0])
		tr.End(true).ExpectViolation("L2", "0x1000 holds e9")
	})
	golden("L2-two-delayed", func(tr *tracetest.Trace) {
		probed(tr)
		tr.ApiEnter(kpev.Register, 2, h)
		arm(tr, h)
		tr.ApiReturn(kpev.Register, 2, 0)
		optimize(tr)
		tr.Image(h, jmp...).Store(h, bp...).Store(h+1, jmp[1:]...).Store(h, jmp[0]).Store(h, bp...)
		tr.Unregister(2)
		tr.ExpectNone()
	})
}
