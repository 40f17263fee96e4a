package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
)

// sent registers probe 1 at addr, with a slot or a detour of these bytes, and sends a CPU
// there from its breakpoint.
func sent(tr *tracetest.Trace, addr, memory, what uint64, b ...byte) {
	tr.ApiEnter(kpev.Register, 1, addr)
	tr.Alloc(memory, 32, what).Store(memory, b...)
	arm(tr, addr)
	tr.ApiReturn(kpev.Register, 1, 0)
	tr.On(1, 2).Break(addr).Pre(1).Own(addr, kpev.OwnerKprobe).Resume(memory)
}

func init() {
	golden("T5-slot", func(tr *tracetest.Trace) {
		sent(tr, f, slot, kpev.SlotMem, 0x55, 0xcc)
		tr.ExpectNone()
	})
	golden("T5-another", func(tr *tracetest.Trace) {
		sent(tr, f, slot, kpev.SlotMem, 0x53, 0xcc)
		tr.ExpectViolation("T5",
			"is sent from the breakpoint at 0x1000 to a copy at 0x3000, which holds 53; linked there: 55")
	})
	trap("T5-relative", "the copy differs from what was linked: it is relative to where it stands, and goes where that "+
		"went",
		func(tr *tracetest.Trace) {
			tr.Load(0x1100, "48 8b 05 10 00 00 00", "c3") // mov 0x10(%rip),%rax
			sent(tr, 0x1100, slot, kpev.SlotMem, 0x48, 0x8b, 0x05, 0x10, 0xe1, 0xff, 0xff, 0xcc)
			tr.ExpectNone()
		})
	trap("T5-kept", "the copy is what was linked, byte for byte, but that is relative to where it stands",
		func(tr *tracetest.Trace) {
			tr.Load(0x1100, "48 8b 05 10 00 00 00", "c3")
			sent(tr, 0x1100, slot, kpev.SlotMem, 0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0xcc)
			tr.ExpectViolation("T5", "which holds 48 8b 05 10 00 00 00")
		})
	trap("T5-branch", "a jump is copied as it is, which is right: where it goes is put right after its step",
		func(tr *tracetest.Trace) {
			sent(tr, k, slot, kpev.SlotMem, 0xe9, 0, 0, 0, 0, 0xcc)
			tr.ExpectNone()
		})
	trap("T5-behind", "the probed instruction is copied as it was, but of those that the jump covers one is a "+
		"neighbour's breakpoint",
		func(tr *tracetest.Trace) {
			sent(tr, f, detour, kpev.DetourMem, 0x55, 0xcc, 0x89, 0xe5, 0x53, 0xe9, 0, 0, 0, 0)
			tr.ExpectViolation("T5", "is sent from the breakpoint at 0x1001 to a copy at 0x2001, which holds cc 89 e5")
		})
	trap("T5-replaced", "below the jump stands what an alternative has put there, and so does it in the detour",
		func(tr *tracetest.Trace) {
			replace(tr)
			sent(tr, f, detour, kpev.DetourMem, 0x55, 0x48, 0x8b, 0xec, 0x53, 0xe9, 0xfb, 0xef, 0xff, 0xff)
			tr.ExpectNone()
		})
	trap("T5-replaced-wrongly", "below the jump an alternative has replaced an instruction; the detour has neither",
		func(tr *tracetest.Trace) {
			replace(tr)
			sent(tr, f, detour, kpev.DetourMem, 0x55, 0x48, 0x8b, 0xe5, 0x53, 0xe9, 0xfb, 0xef, 0xff, 0xff)
			tr.ExpectViolation("T5", "is sent from the breakpoint at 0x1001 to a copy at 0x2001, which holds 48 8b e5")
		})
	trap("T5-goes-on", "all that the jump covers is copied, and the detour goes on one instruction too far",
		func(tr *tracetest.Trace) {
			sent(tr, f, detour, kpev.DetourMem, 0x55, 0x48, 0x89, 0xe5, 0x53, 0xe9, 0xfd, 0xef, 0xff, 0xff)
			tr.ExpectViolation("T5", "a jump to 0x1005")
		})
}
