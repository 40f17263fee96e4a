package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/smp/smpev"
)

func init() {
	const probe = 0xffff888008000000

	golden("C2-preemption", func(tr *tracetest.Trace) {
		tr.On(1, 2).Emit(linuxev.Uneven, linuxev.Preemption, 0, 1)
		tr.ExpectViolation("C2", "cpu1 task2 goes on with preemption counted 0x1, which was 0x0")
	})
	golden("C2-interrupts", func(tr *tracetest.Trace) {
		tr.On(1, 2).Emit(linuxev.Uneven, linuxev.Interrupts, 1<<9, 0)
		tr.ExpectViolation("C2", "goes on with interrupts off, which were on")
	})
	golden("C2-sections", func(tr *tracetest.Trace) {
		tr.On(1, 2).Emit(linuxev.Uneven, linuxev.Sections, 0, ^uint64(0))
		tr.ExpectViolation("C2", "goes on in -1 sections of RCU, which were 0")
	})
	trap("C2-answered", "the call answers 0 and the probe works, but the CPU still runs a probe's handlers",
		func(tr *tracetest.Trace) {
			probed(tr)
			hit(tr.On(1, 2))
			tr.Emit(linuxev.Uneven, linuxev.CurrentProbe, 0, probe)
			tr.ExpectViolation("C2", "goes on with current_kprobe 0xffff888008000000, which was 0x0")
		})
	golden("C2-tilted", func(tr *tracetest.Trace) {
		tr.On(1, 2).Emit(smpev.Tilted, smpev.TiltIRQs, 1, 0)
		tr.ExpectViolation("C2", "cpu1 task2 goes on with interrupts off, which were on")
	})
	trap("C2-jprobe", "a breakpoint leaves preemption off: a jprobe's entry runs, and its return turns it on again",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.On(1, 2).Break(f).Emit(kpev.JprobeEnter, 1, 0, 0).Emit(smpev.Tilted, smpev.TiltPreempt, 0, 1)
			tr.On(1, 2).Emit(kpev.JprobeLeave, 1, 0, 0).Emit(smpev.Tilted, smpev.TiltPreempt, 1, 0)
			tr.ExpectNone()
		})
	trap("C2-beside-jprobe", "a jprobe's entry runs in one task, and a breakpoint in another one leaves preemption off",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.On(1, 2).Break(f).Emit(kpev.JprobeEnter, 1, 0, 0).Emit(smpev.Tilted, smpev.TiltPreempt, 0, 1)
			tr.On(2, 3).Emit(smpev.Tilted, smpev.TiltPreempt, 0, 1)
			tr.ExpectViolation("C2", "cpu2 task3 goes on with preemption counted 0x1, which was 0x0")
		})
	trap("C2-even", "a breakpoint's handler turns interrupts off, and they are on again after it",
		func(tr *tracetest.Trace) {
			tr.On(1, 2).Trap(smpev.VecPF, f).Return(smpev.VecPF, f)
			tr.ExpectNone()
		})

	golden("H3-unused", func(tr *tracetest.Trace) {
		tr.Emit(linuxev.Remains, linuxev.UnusedPoint, f, 0).End(true)
		tr.ExpectViolation("H3", "at the end a point at 0x1000 is in the table, and stands for no probe")
	})
	golden("H3-counted", func(tr *tracetest.Trace) {
		tr.Emit(linuxev.Remains, linuxev.Preemption, 1, 0).End(true)
		tr.ExpectViolation("H3", "at the end preemption is counted 0x1")
	})
	trap("H3-slots", "everything is unregistered and the text is restored, but a slot is in use",
		func(tr *tracetest.Trace) {
			probed(tr)
			unprobed(tr)
			tr.Emit(linuxev.Remains, linuxev.Slots, 1, 0).End(true)
			tr.ExpectViolation("H3", "1 slots are in use, and 0 points have one")
		})
	trap("H3-in-flight", "everything is unregistered, all calls have returned, and a list still has one",
		func(tr *tracetest.Trace) {
			probed(tr)
			unprobed(tr)
			tr.Emit(linuxev.Remains, linuxev.InFlight, 11, 2).End(true)
			tr.ExpectViolation("H3", "instance 11 is still among the calls in flight of task2")
		})
	trap("H3-not-done", "work is left, which may need what there is",
		func(tr *tracetest.Trace) {
			tr.Emit(linuxev.Remains, linuxev.Slots, 1, 0).End(false)
			tr.ExpectNone()
		})
}
