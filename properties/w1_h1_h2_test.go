package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/smp/smpev"
)

func init() {
	const kernel, object = 0xffffffff81001000, 0xffff888010001fa0

	golden("W1-warns", func(tr *tracetest.Trace) {
		tr.On(1, 2).Trap(smpev.VecUD, kernel).Emit(linuxev.Warn, kernel, 593, 0)
		tr.ExpectViolation("W1", "cpu1 task2 warns at 0xffffffff81001000")
	})
	trap("W1-registered", "the probe is registered, armed and hit: a WARN comes when all is done",
		func(tr *tracetest.Trace) {
			probed(tr)
			hit(tr.On(1, 2))
			tr.Trap(smpev.VecUD, kernel).Emit(linuxev.Warn, kernel, 593, 0)
			tr.ExpectViolation("W1", "warns")
		})
	trap("W1-prints", "the kernel prints that it couldn't arm, which is no WARN",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Printk, uint64(kpev.LineArmed), 0, 0)
			tr.ExpectNone()
		})

	golden("H1-after-free", func(tr *tracetest.Trace) {
		tr.On(1, 2).Emit(linuxev.Heap, linuxev.UseAfterFree, object, 96)
		tr.ExpectViolation("H1", "cpu1 task2 misuses memory at 0xffff888010001fa0 (use after free)")
	})
	trap("H1-no-fault", "the memory is there, and nothing faults: it was freed twice",
		func(tr *tracetest.Trace) {
			tr.Emit(linuxev.Heap, linuxev.DoubleFree, object, 96)
			tr.ExpectViolation("H1", "double free")
		})
	trap("H1-page-fault", "a fault in memory that was paged out is no misuse",
		func(tr *tracetest.Trace) {
			tr.On(1, 2).Trap(smpev.VecPF, kernel).Return(smpev.VecPF, kernel)
			tr.ExpectNone()
		})

	golden("H2-never-freed", func(tr *tracetest.Trace) {
		tr.Emit(linuxev.Heap, linuxev.Leak, object, 96).End(true)
		tr.ExpectViolation("H2", "at the end 96 bytes at 0xffff888010001fa0 were never freed")
	})
	trap("H2-drained", "all calls have succeeded and everything is unregistered, but memory is left",
		func(tr *tracetest.Trace) {
			probed(tr)
			unprobed(tr)
			tr.Emit(linuxev.Heap, linuxev.Leak, object, 96).End(true)
			tr.ExpectViolation("H2", "never freed")
		})
	trap("H2-registered", "memory is left, which a registered probe needs: no leak is emitted",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.End(true).ExpectNone()
		})
}
