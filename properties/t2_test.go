package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func init() {
	golden("T2-second-instruction", func(tr *tracetest.Trace) { // spec 4.7
		cpu1 := tr.On(1, 2)
		cpu1.Exec(f, push...).Trap(smpev.VecTimer, f+1)
		arm(tr, f)
		optimize(tr)
		cpu1.Return(smpev.VecTimer, f+1).Exec(f+1, 0xfb)
		tr.ExpectViolation("T2", "inside the 5 bytes at 0x1000")
	})
	trap("T2-stale-inside", "the CPU runs the old instruction, whole: it fetched it before the store",
		func(tr *tracetest.Trace) {
			arm(tr, f)
			optimize(tr)
			tr.On(1, 2).Exec(f+1, mov...)
			tr.ExpectViolation("T2", "begins 48 89 e5 at 0x1001")
		})
	trap("T2-tail-half-written", "the head is a breakpoint yet, and the bytes at f+1 are the old ones",
		func(tr *tracetest.Trace) {
			arm(tr, f)
			tr.Image(f, jmp...).Store(f+4, jmp[4])
			tr.On(1, 2).Exec(f+1, mov...)
			tr.ExpectViolation("T2", "inside")
		})
	golden("T2-return-while-tail-written", func(tr *tracetest.Trace) {
		arm(tr, f)
		cpu1 := tr.On(1, 2).Exec(f+1, mov...).Trap(smpev.VecTimer, f+4)
		tr.Image(f, jmp...).Store(f+1, jmp[1:]...)
		cpu1.Return(smpev.VecTimer, f+4).Exec(f+4, 0x53)
		tr.ExpectViolation("T2", "inside")
	})
	trap("T2-declared-only", "a jump over it was announced, but nothing is written yet",
		func(tr *tracetest.Trace) {
			arm(tr, f)
			tr.Image(f, jmp...)
			tr.On(1, 2).Exec(f+1, mov...)
			tr.ExpectNone()
		})
	trap("T2-unoptimized", "a jump was here, and its tail is restored",
		func(tr *tracetest.Trace) {
			arm(tr, f)
			optimize(tr)
			unoptimize(tr)
			tr.On(1, 2).Exec(f+1, mov...).Exec(f+4, 0x53)
			tr.ExpectNone()
		})
	golden("T2-half-unoptimized", func(tr *tracetest.Trace) {
		arm(tr, f)
		optimize(tr)
		tr.Image(f, armed...).Store(f, bp...).Store(f+1, armed[1:3]...)
		tr.On(1, 2).Exec(f+1, mov...)
		tr.ExpectViolation("T2", "inside")
	})
	trap("T2-breakpoint-in-old-tail", "a jump was at f; now f+4 has a breakpoint of its own",
		func(tr *tracetest.Trace) {
			arm(tr, f)
			optimize(tr)
			unoptimize(tr)
			arm(tr, f+4)
			tr.On(1, 2).Exec(f+1, mov...)
			tr.On(1, 2).Break(f+4).Own(f+4, kpev.OwnerKprobe).Resume(f + 5)
			tr.ExpectNone()
		})
	trap("T2-jump-in-old-tail", "a jump was at f; now f+4 has one",
		func(tr *tracetest.Trace) {
			arm(tr, f)
			optimize(tr)
			unoptimize(tr)
			disarm(tr, f, push[0])
			arm(tr, f+4)
			tr.Image(f+4, jmp...).Store(f+5, jmp[1:]...).Store(f+4, jmp[0])
			tr.Alloc(detour, 64, kpev.DetourMem).On(1, 2).Exec(f, push...).Exec(f+1, mov...).Exec(f+4, jmp...)
			tr.ExpectNone()
		})
	golden("T2-breakpoint-under-jump", func(tr *tracetest.Trace) {
		arm(tr, f)
		optimize(tr)
		arm(tr, f+4)
		tr.On(1, 2).Exec(f+4, bp...)
		tr.ExpectViolation("T2", "inside")
	})
	golden("T2-head-is-no-inside", func(tr *tracetest.Trace) {
		arm(tr, f)
		optimize(tr)
		tr.On(1, 2).Exec(f, jmp...)
		tr.On(1, 3).Exec(f+5, 0x5b)
		tr.ExpectNone()
	})
	golden("T2-no-boundary", func(tr *tracetest.Trace) {
		tr.On(1, 2).Exec(f+2, 0x89, 0xe5)
		tr.ExpectViolation("T2", "no instruction was linked")
	})
	golden("T2-inside-nop", func(tr *tracetest.Trace) {
		tr.Store(g, label...).On(1, 2).Exec(g+1, 0x03, 0x00)
		tr.ExpectViolation("T2", "inside")
	})
	trap("T2-unannounced-breakpoint", "a jump was at f, and a byte of its old tail is changed: by a breakpoint of f+4",
		func(tr *tracetest.Trace) {
			tr.Store(f, bp...)
			optimize(tr)
			tr.Store(f, bp...).Store(f+1, armed[1:]...).Store(f+4, bp...)
			tr.On(1, 2).Exec(f+1, mov...).Exec(f+4, bp...)
			tr.ExpectNone()
		})
	trap("T2-breakpoint-byte-in-tail", "a byte of the jump's tail looks like a breakpoint, but nothing begins there",
		func(tr *tracetest.Trace) {
			tr.Image(f, 0xe9, 0xfb, 0xcc, 0, 0).Store(f, bp...).Store(f+2, 0xcc)
			tr.On(1, 2).Exec(f+1, mov...)
			tr.ExpectViolation("T2", "inside")
		})
	trap("T2-replaced", "a jump was at f; the instruction below it that an alternative has replaced is restored",
		func(tr *tracetest.Trace) {
			replace(tr)
			arm(tr, f)
			optimize(tr)
			tr.Image(f, append(bp, below...)...).Store(f, bp...).Store(f+1, below...)
			tr.On(1, 2).Exec(f+1, moved...)
			tr.ExpectNone()
		})
	trap("T2-replaced-probed", "a jump was where an alternative has replaced an instruction; its breakpoint is left",
		func(tr *tracetest.Trace) {
			replace(tr)
			tr.Image(f+1, jmp...).Store(f+1, bp...).Store(f+2, jmp[1:]...).Store(f+1, jmp[0])
			tr.Image(f+1, append(bp, moved[1:]...)...).Store(f+1, bp...).Store(f+2, moved[1:]...).Store(f+4, 0x53, 0x5b)
			tr.On(1, 2).Exec(f+4, 0x53)
			tr.ExpectNone()
		})
	trap("T2-replaced-torn", "a jump was at f; of what an alternative has replaced below it only a part is restored",
		func(tr *tracetest.Trace) {
			replace(tr)
			arm(tr, f)
			optimize(tr)
			tr.Image(f, append(bp, below...)...).Store(f, bp...).Store(f+1, below[:2]...)
			tr.On(1, 2).Exec(f+1, 0x48, 0x8b, 0)
			tr.ExpectViolation("T2", "inside")
		})
	golden("T2-kept-while-another-tail-was-written", func(tr *tracetest.Trace) { // whose site isn't linked text
		arm(tr, f)
		optimize(tr)
		cpu1 := tr.Image(detour, jmp...).On(1, 2)
		cpu1.Trap(smpev.VecTimer, f+1)
		tr.Store(detour, jmp...)
		cpu1.Return(smpev.VecTimer, f+1).Exec(f+1, mov...)
		tr.ExpectViolation("T2", "inside")
	})
}
