package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	trap("T1-new-head-old-tail", "e9 and four bytes are a jump, but to nowhere",
		func(tr *tracetest.Trace) {
			tr.Image(f, jmp...).Store(f, jmp[0])
			tr.On(1, 2).Exec(f, 0xe9, 0x48, 0x89, 0xe5, 0x53)
			tr.ExpectViolation("T1", "runs e9 48 89 e5 53 at 0x1000: bytes blend two instructions; linked there: 55")
		})
	golden("T1-old-head-new-tail", func(tr *tracetest.Trace) {
		tr.Store(g+1, label[1:]...)
		tr.On(1, 2).Exec(g, 0x0f, 0x03, 0x00)
		tr.ExpectViolation("T1", "blend")
	})
	golden("T1-half-a-tail", func(tr *tracetest.Trace) {
		tr.Image(f, jmp...).Store(f, jmp[0], jmp[1])
		tr.On(1, 2).Exec(f, 0xe9, 0xfb, 0x89, 0xe5, 0x53)
		tr.ExpectViolation("T1", "blend")
	})
	trap("T1-longer-than-linked", "the bytes are what memory held all the time, but no instruction is that long",
		func(tr *tracetest.Trace) {
			tr.On(1, 2).Exec(f, 0x55, 0x48)
			tr.ExpectViolation("T1", "blend")
		})
	trap("T1-stale-whole-old", "memory holds the jump, the CPU runs what was there before",
		func(tr *tracetest.Trace) {
			tr.Store(g, label...)
			tr.On(1, 2).Exec(g, nop5...)
			tr.ExpectNone()
		})
	trap("T1-stale-whole-image", "the jump is gone again, and a CPU that hasn't serialised runs it",
		func(tr *tracetest.Trace) {
			arm(tr, f)
			optimize(tr)
			unoptimize(tr)
			tr.On(1, 2).Exec(f, jmp...)
			tr.ExpectNone()
		})
	golden("T1-jump", func(tr *tracetest.Trace) {
		arm(tr, f)
		optimize(tr)
		tr.On(1, 2).Exec(f, jmp...)
		tr.ExpectNone()
	})
	golden("T1-label-on-off", func(tr *tracetest.Trace) {
		cpu1 := tr.On(1, 2)
		tr.Image(g, label...).Store(g, bp...)
		cpu1.Break(g).Own(g, smpev.OwnerPoke).Resume(g + 5)
		tr.Store(g+1, label[1:]...).Store(g, label[0])
		cpu1.Exec(g, label...)
		tr.Image(g, nop5...).Store(g, bp...).Store(g+1, nop5[1:]...).Store(g, nop5[0])
		cpu1.Exec(g, nop5...)
		tr.End(true).ExpectNone()
	})
	golden("T1-breakpoint", func(tr *tracetest.Trace) {
		arm(tr, f)
		tr.On(1, 2).Exec(f, bp...)
		tr.ExpectNone()
	})
	golden("T1-ten-bytes", func(tr *tracetest.Trace) {
		tr.On(1, 2).Exec(h, movabs...)
		tr.On(1, 2).Exec(h, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 9)
		tr.ExpectViolation("T1", "blend")
	})
	trap("T1-other-site", "a whole jump, but it was announced for another address",
		func(tr *tracetest.Trace) {
			arm(tr, f)
			optimize(tr)
			tr.On(1, 2).Exec(g, jmp...)
			tr.ExpectViolation("T1", "blend")
		})
	golden("T1-slot", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).Store(slot+6, movabs...)
		tr.On(1, 2).Exec(slot+6, movabs...)
		tr.ExpectNone()
	})
	golden("T1-stale-slot", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).Store(slot, 0x55, 0xcc)
		tr.Store(slot, bytesOf(0xcc, 16)...).Free(slot, 16, kpev.SlotMem)
		tr.Alloc(slot, 16, kpev.SlotMem).Store(slot, 0x53, 0xcc)
		tr.On(1, 2).Exec(slot, 0x55)
		tr.ExpectViolation("T1", "memory holds 53")
	})
	golden("T1-stale-long-slot", func(tr *tracetest.Trace) {
		tr.Alloc(slot, 16, kpev.SlotMem).Store(slot+3, movabs...)
		tr.On(1, 2).Exec(slot+3, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 9)
		tr.ExpectViolation("T1", "memory holds 48 b8 01 02 03 04 05 06 07 08")
	})
	trap("T1-never-stored", "nobody stored there: what stands in fresh memory isn't known",
		func(tr *tracetest.Trace) {
			tr.Alloc(slot, 16, kpev.SlotMem)
			tr.On(1, 2).Exec(slot, 0x55)
			tr.ExpectNone()
		})
	trap("T1-unannounced", "a whole jump, and memory holds it; but no patcher announced it",
		func(tr *tracetest.Trace) {
			tr.Store(k, jmp...)
			tr.On(1, 2).Exec(k, jmp...)
			tr.ExpectViolation("T1", "blend")
		})
	golden("T1-other-byte", func(tr *tracetest.Trace) {
		tr.On(1, 2).Exec(f, 0x54)
		tr.ExpectViolation("T1", "linked there: 55")
	})
	golden("T1-long-image", func(tr *tracetest.Trace) {
		tr.Image(h, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 0x77, 0x88)
		tr.On(1, 2).Exec(h, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 0x77, 0x88)
		tr.On(1, 2).Exec(h, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 0x77, 8)
		tr.ExpectViolation("T1", "blend")
	})
	golden("T1-long-image-head", func(tr *tracetest.Trace) {
		tr.Image(h, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 0x77, 0x88)
		tr.On(1, 2).Exec(h, 0x48, 0xb8, 9, 2, 3, 4, 5, 6, 0x77, 0x88)
		tr.ExpectViolation("T1", "blend")
	})
	trap("T1-poisoned", "other bytes than memory holds; but it is being taken back, and that is another property's",
		func(tr *tracetest.Trace) {
			tr.Alloc(slot, 16, kpev.SlotMem).Store(slot, 0x55, 0xcc).Store(slot, bytesOf(0xcc, 16)...)
			tr.On(1, 2).Exec(slot, 0x55)
			tr.ExpectNone()
		})
	trap("T1-stored-before", "other bytes than were stored last; but the memory was handed out anew since",
		func(tr *tracetest.Trace) {
			tr.Alloc(slot, 16, kpev.SlotMem).Store(slot, 0x55, 0xcc).Free(slot, 16, kpev.SlotMem)
			tr.Alloc(slot, 16, kpev.SlotMem).On(1, 2).Exec(slot, 0x53)
			tr.ExpectNone()
		})
}

func bytesOf(b byte, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = b
	}
	return s
}
