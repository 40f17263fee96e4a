package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/smp/smpev"
)

func init() {
	const result, memory, errno = smpev.CheckResult, smpev.CheckMemory, smpev.CheckErrno
	golden("X2-right", func(tr *tracetest.Trace) {
		tr.Want(2, 0, result, 0xcbf43926).Want(2, 1, memory, 0x1234).Want(1, 0, errno, 84)
		tr.On(0, 1).Got(0, errno, 84, f)
		tr.On(1, 2).Got(0, result, 0xcbf43926, 0).Got(1, memory, 0x1234, 0x9000)
		tr.End(true).ExpectNone()
	})
	golden("X2-wrong-result", func(tr *tracetest.Trace) {
		tr.Want(2, 0, result, 0xcbf43926).On(1, 2).Got(0, result, 0xcbf43927, 0)
		tr.ExpectViolation("X2", "gets 0xcbf43927 from a call; right is 0xcbf43926")
	})
	golden("X2-one-of-two", func(tr *tracetest.Trace) {
		tr.Want(2, 0, result, 7).Want(2, 0, result, 9).Want(2, 1, result, 8)
		tr.On(1, 2).Got(0, result, 9, 0).Got(1, result, 8, 0).Got(0, result, 7, 0).Got(1, result, 9, 0)
		tr.ExpectViolation("X2", "gets 0x9 from a call; right is 0x8")
	})
	golden("X2-none-of-two", func(tr *tracetest.Trace) {
		tr.Want(2, 0, result, 7).Want(2, 0, result, 9).On(1, 2).Got(0, result, 8, 0)
		tr.ExpectViolation("X2", "gets 0x8 from a call; right is 0x7 or 0x9")
	})
	golden("X2-wrong-memory", func(tr *tracetest.Trace) {
		tr.Want(2, 1, memory, 0x1234).On(1, 2).Got(1, memory, 0x1334, 0x9008)
		tr.ExpectViolation("X2", "finds 0x1334 in memory at 0x9008; right is 0x1234")
	})
	golden("X2-wrong-errno", func(tr *tracetest.Trace) {
		tr.Want(2, 0, errno, 0).On(1, 2).Got(0, errno, 22, f)
		tr.ExpectViolation("X2", "gets EINVAL (-22) from register at 0x1000; right is 0")
	})
	trap("X2-repeated", "a task repeats its checks, each time in their order, while another one makes its own",
		func(tr *tracetest.Trace) {
			tr.Want(2, 0, result, 7).Want(2, 1, result, 8).Want(3, 0, result, 9)
			tr.On(1, 2).Got(0, result, 7, 0).Got(1, result, 8, 0).Got(0, result, 7, 0)
			tr.On(2, 3).Got(0, result, 9, 0)
			tr.On(1, 2).Got(1, result, 8, 0)
			tr.End(true).ExpectNone()
		})
	trap("X2-of-another-task", "the value is the right one of another task's check",
		func(tr *tracetest.Trace) {
			tr.Want(2, 0, result, 7).Want(3, 0, result, 9).On(1, 3).Got(0, result, 7, 0)
			tr.ExpectViolation("X2", "right is 0x9")
		})
	golden("X2-unasked", func(tr *tracetest.Trace) {
		tr.Want(2, 0, result, 7).On(1, 2).Got(1, result, 7, 0)
		tr.ExpectViolation("X2", "nobody said")
	})
	trap("X2-not-reached", "a check that a run doesn't come to is no wrong result: that the call ends is another property",
		func(tr *tracetest.Trace) {
			tr.Want(2, 0, result, 7).End(true).ExpectNone()
		})
}
