package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	golden("S1-runs-freed", func(tr *tracetest.Trace) {
		probed(tr)
		a := tr.On(1, 2).Break(f).Pre(1).Own(f, kpev.OwnerKprobe).Resume(slot)
		unprobed(tr)
		a.Exec(slot, push...)
		tr.ExpectViolation("S1", "runs 55 at 0x3000, in the freed slot at 0x3000")
	})
	golden("S1-returns-to-freed", func(tr *tracetest.Trace) {
		probed(tr)
		a := tr.On(1, 2).Break(f).Pre(1).Own(f, kpev.OwnerKprobe)
		unprobed(tr)
		a.Resume(slot)
		tr.ExpectViolation("S1", "returns from the #BP to 0x3000")
	})
	trap("S1-freed-under-interrupt",
		"nobody runs in the detour when it is freed, but a preempted task will return there",
		func(tr *tracetest.Trace) {
			tr.Alloc(detour, 64, kpev.DetourMem)
			tr.On(1, 2).Exec(detour, 0x54).Trap(smpev.VecResch, detour+1)
			tr.Free(detour, 64, kpev.DetourMem)
			tr.ExpectViolation("S1", "task2 will return from the reschedule interrupt to 0x2001")
		})
	golden("S1-page-unmapped", func(tr *tracetest.Trace) {
		tr.Alloc(detour, 64, kpev.DetourMem)
		a := tr.On(1, 2).Exec(detour, 0x54)
		tr.Free(detour, 64, kpev.DetourMem)
		a.Emit(smpev.Trap, smpev.VecPF, detour+1, detour+1)
		tr.ExpectViolation("S1", "runs in the freed detour at 0x2000, whose page is unmapped")
	})
	golden("S1-freed-under-nmi", func(tr *tracetest.Trace) {
		tr.Alloc(detour, 64, kpev.DetourMem)
		tr.On(1, 2).Exec(detour, 0x54).Trap(smpev.VecNMI, detour+1)
		tr.Free(detour, 64, kpev.DetourMem)
		tr.ExpectViolation("S1", "from the NMI")
	})
	trap("S1-breakpoint-of-freed", "a breakpoint of a slot that is freed under it, but its handler goes elsewhere",
		func(tr *tracetest.Trace) {
			tr.Alloc(slot, 16, kpev.SlotMem).Store(slot, 0x55, 0xcc)
			a := tr.On(1, 2).Exec(slot, push...).Break(slot + 1)
			tr.Free(slot, 16, kpev.SlotMem)
			a.Own(slot+1, kpev.OwnerKprobe).Resume(f + 1)
			tr.ExpectNone()
		})
	trap("S1-reused", "it was freed, and handed out again",
		func(tr *tracetest.Trace) {
			tr.Alloc(slot, 16, kpev.SlotMem).Store(slot, 0x55, 0xcc)
			tr.Store(slot, bytesOf(0xcc, 16)...).Free(slot, 16, kpev.SlotMem)
			tr.Alloc(slot, 16, kpev.SlotMem).Store(slot, 0x53, 0xcc)
			tr.On(1, 2).Exec(slot, 0x53)
			tr.Free(slot, 16, kpev.SlotMem).Store(slot, bytesOf(0xcc, 16)...)
			tr.End(true).ExpectNone()
		})
	trap("S1-retired", "it was given back, but nobody has taken it yet",
		func(tr *tracetest.Trace) {
			tr.Alloc(slot, 16, kpev.SlotMem).Store(slot, 0x55, 0xcc).Retire(slot, 16, kpev.SlotMem)
			tr.On(1, 2).Exec(slot, push...).Break(slot+1).Own(slot+1, kpev.OwnerKprobe).Resume(f + 1)
			tr.End(true).ExpectNone()
		})
	golden("S1-runs-collected", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).Store(slot, 0x55, 0xcc).Retire(slot, 16, kpev.SlotMem)
		tr.Free(slot, 16, kpev.SlotMem).On(1, 2).Exec(slot, push...)
		tr.ExpectViolation("S1", "in the freed slot")
	})
	golden("S1-collected-under-nmi", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).Retire(slot, 16, kpev.SlotMem)
		tr.On(1, 2).Exec(slot, push...).Trap(smpev.VecNMI, slot+1)
		tr.Free(slot, 16, kpev.SlotMem)
		tr.ExpectViolation("S1", "from the NMI")
	})
	golden("S1-retired-is-handed-out", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).Retire(slot, 16, kpev.SlotMem).Alloc(slot, 16, kpev.SlotMem)
		tr.ExpectViolation("S1", "overlap")
	})
	golden("S1-retired-twice", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).Retire(slot, 16, kpev.SlotMem).Retire(slot, 16, kpev.SlotMem)
		tr.ExpectViolation("S1", "back, which weren't handed out")
	})
	golden("S1-never-allocated", func(tr *tracetest.Trace) {
		tr.Store(slot, push...).On(1, 2).Exec(slot, push...)
		tr.ExpectViolation("S1", "never handed out")
	})
	golden("S1-behind-the-end", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).On(1, 2).Exec(slot+16, push...)
		tr.ExpectViolation("S1", "never handed out")
	})
	golden("S1-double-free", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).Free(slot, 16, kpev.SlotMem).Free(slot, 16, kpev.SlotMem)
		tr.ExpectViolation("S1", "second time")
	})
	golden("S1-free-of-another-size", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).Free(slot, 32, kpev.SlotMem)
		tr.ExpectViolation("S1", "weren't handed out")
	})
	golden("S1-overlap", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).Alloc(slot+8, 16, kpev.SlotMem)
		tr.ExpectViolation("S1", "overlap")
	})
	golden("S1-leak", func(tr *tracetest.Trace) {
		probed(tr)
		tr.ApiEnter(kpev.Unregister, 1, 0)
		disarm(tr, f, push[0])
		tr.ApiReturn(kpev.Unregister, 1, 0)
		tr.End(true).ExpectViolation("S1", "slot at 0x3000 hasn't been freed")
	})
	golden("S1-in-use-at-the-end", func(tr *tracetest.Trace) {
		probed(tr)
		tr.End(true).ExpectNone()
	})
	golden("S1-returned-before", func(tr *tracetest.Trace) {
		tr.Alloc(detour, 64, kpev.DetourMem)
		tr.On(1, 2).Exec(detour, 0x54).Trap(smpev.VecTimer, detour+1).Return(smpev.VecTimer, detour+1).Exec(detour+1,
			0x9c)
		tr.Free(detour, 64, kpev.DetourMem)
		tr.ExpectNone()
	})
	golden("S1-one-of-two-reused", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).Alloc(slot+16, 16, kpev.SlotMem)
		tr.Free(slot, 16, kpev.SlotMem).Free(slot+16, 16, kpev.SlotMem)
		tr.Alloc(slot+16, 16, kpev.SlotMem).On(1, 2).Exec(slot, 0x55)
		tr.ExpectViolation("S1", "in the freed slot at 0x3000")
	})
	trap("S1-own-probe", "a slot is left, and no probe: it is that of the kernel's own, on the trampoline (2.6)",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Contexts, 0, 1, 1)
			tr.Alloc(detour, 16, kpev.SlotMem)
			probed(tr)
			unprobed(tr)
			tr.End(true)
			tr.ExpectNone()
		})
	golden("S1-freed-data", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 4096, smpev.ModuleMem).Free(slot, 4096, smpev.ModuleMem)
		tr.On(1, 2).Emit(smpev.Trap, smpev.VecPF, f, slot+8)
		tr.ExpectViolation("S1", "reads or writes 0x3008, in the freed module's section at 0x3000")
	})
	trap("S1-faults-elsewhere", "page faults, but of what is there, what isn't a module's, and what was loaded again",
		func(tr *tracetest.Trace) {
			tr.Alloc(slot, 4096, smpev.ModuleMem).Emit(smpev.Trap, smpev.VecPF, f, slot+8)
			tr.Free(slot, 4096, smpev.ModuleMem).Emit(smpev.Trap, smpev.VecPF, f, slot+4096)
			tr.Alloc(slot, 4096, smpev.ModuleMem).Emit(smpev.Trap, smpev.VecPF, f, slot)
			tr.ExpectNone()
		})
}
