package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/smp/smpev"
)

func init() {
	byHand := func(tr *tracetest.Trace) {
		tr.Emit(smpev.ByHand, f, 5, 0)
	}
	trap("T2-hand-new-boundaries", "no instruction was linked at f+2, and a task has stored one there by hand",
		func(tr *tracetest.Trace) {
			byHand(tr)
			tr.Image(f, 0x66, 0x90).Image(f+2, 0x0f, 0x1f, 0x00).Store(f, 0x66, 0x90, 0x0f, 0x1f, 0x00)
			tr.On(1, 2).Exec(f+2, 0x0f, 0x1f, 0x00)
			tr.ExpectNone()
		})
	golden("T2-hand-inside", func(tr *tracetest.Trace) {
		byHand(tr)
		tr.Image(f, jmp...).Store(f, jmp...)
		tr.On(1, 2).Exec(f+1, mov...)
		tr.ExpectViolation("T2", "inside the 5 bytes at 0x1000")
	})
	golden("T1-hand-torn", func(tr *tracetest.Trace) {
		byHand(tr)
		tr.Image(f, jmp...).Store(f, jmp[0])
		tr.On(1, 2).Exec(f, 0xe9, 0x48, 0x89, 0xe5, 0x53)
		tr.ExpectViolation("T1", "runs e9 48 89 e5 53 at 0x1000")
	})
	trap("L2-hand-stays", "no probe is registered, and the text isn't as linked: a task has stored it by hand",
		func(tr *tracetest.Trace) {
			byHand(tr)
			tr.Store(f, jmp[0]) // the head of the log ends: what is announced there is a site's
			tr.Image(f, jmp...).Store(f, jmp...).End(true).ExpectNone()
		})
	trap("T1-hand-elsewhere", "the memory is a slot, which holds another instruction: no task patches slots by hand",
		func(tr *tracetest.Trace) {
			tr.Emit(smpev.ByHand, slot, 1, 0)
			tr.Alloc(slot, 16, 1).Image(slot, push...).Store(slot, 0x90)
			tr.On(1, 2).Exec(slot, push...)
			tr.ExpectViolation("T1", "runs 55")
		})
}
