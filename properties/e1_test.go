package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
)

func init() {
	trap("E1-registered-twice", "register succeeds, as it should, but for a probe that is registered already",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.Register(1, f)
			tr.ExpectViolation("E1", "register of probe 1, which is registered, has succeeded")
		})
	trap("E1-refused", "a second registration, and unregistering twice, which are refused",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 22)
			unprobed(tr)
			tr.ApiEnter(kpev.Unregister, 1, f).ApiReturn(kpev.Unregister, 1, 22)
			tr.ExpectNone()
		})
	golden("E1-enabled-unregistered", func(tr *tracetest.Trace) {
		probed(tr)
		unprobed(tr)
		tr.Enable(1)
		tr.ExpectViolation("E1", "enable of probe 1, which isn't registered, has succeeded")
	})
	golden("E1-not-unregistered", func(tr *tracetest.Trace) {
		probed(tr)
		tr.ApiEnter(kpev.Unregister, 1, f).ApiReturn(kpev.Unregister, 1, 22)
		tr.ExpectViolation("E1", "errno 22 to unregister of probe 1")
	})
	golden("E1-refused-for-nothing", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Fits, 1, 0, 0)
		probed(tr)
		unprobed(tr)
		tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 16)
		tr.ExpectViolation("E1",
			"errno 16 to register of probe 1, which isn't registered, and nothing speaks against it")
	})
	trap("E1-refused-at-first",
		"a probe is refused of which nobody has said that it fits, and one that fits and is registered",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Fits, 1, 0, 0)
			tr.ApiEnter(kpev.Register, 2, g).ApiReturn(kpev.Register, 2, 16)
			probed(tr)
			tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 22)
			tr.ExpectNone()
		})
	trap("E1-overlapping", "two registrations of one probe both succeed, and an unregister in between is why",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.ApiEnter(kpev.Register, 1, f)
			unprobed(tr)
			tr.ApiReturn(kpev.Register, 1, 0)
			tr.ExpectNone()
		})
	trap("E1-array", "an array whose second probe isn't registered answers so for both",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.Register(2, g).Unregister(2)
			tr.ApiEnter(kpev.Unregister, 1, f).ApiEnter(kpev.Unregister, 2, f).ApiReturn(kpev.Unregister, 1, 22).
				ApiReturn(kpev.Unregister, 2, 22)
			tr.ExpectNone()
		})
	golden("E1-errno-of-state", func(tr *tracetest.Trace) {
		tr.ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 16)
		tr.ExpectViolation("E1", "errno 16 to disable of probe 1, which isn't registered: it must be 22")
	})
	golden("E1-errno-of-twice", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Fits, 1, 0, 0)
		probed(tr)
		tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 16)
		tr.ExpectViolation("E1", "errno 16 to register of probe 1, which is registered: it must be 22")
	})
	golden("E1-errno-of-place", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Fits, 1, 84, 0)
		tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 22)
		tr.ExpectViolation("E1", "errno 22 to register of probe 1, whose place must be refused with errno 84")
	})
	golden("E1-refused-place", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Fits, 1, 84, 0)
		probed(tr)
		tr.ExpectViolation("E1", "errno 0 to register of probe 1, whose place must be refused with errno 84")
	})
	trap("E1-either", "a jprobe is refused where there is one, and isn't where there is none",
		func(tr *tracetest.Trace) {
			tr.Emit(kpev.Fits, 1, 0, 17)
			tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 17)
			probed(tr)
			tr.ExpectNone()
		})
	golden("E1-wrong-line", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Enabled, 0, 0, 0).Emit(kpev.Printk, uint64(kpev.LineArmed), 0, 0)
		tr.ExpectViolation("E1", "prints \"Kprobes globally enabled\" while the opposite is written")
	})
	golden("E1-no-line", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Sysctl, 0, 0, 0).Emit(kpev.Printk, uint64(kpev.LineForbidden|kpev.Prefixed), 0, 0).
			Emit(kpev.Sysctl, 0, 1, 0)
		tr.Emit(kpev.Sysctl, 1, 0, 0).Emit(kpev.Sysctl, 1, 1, 0)
		tr.ExpectViolation("E1", "says nothing when 1 is written to kprobes-optimization, where 0 was")
	})
	golden("E1-line-for-nothing", func(tr *tracetest.Trace) {
		for range 2 {
			tr.Emit(kpev.Enabled, 0, 0, 0).Emit(kpev.Printk, uint64(kpev.LineDisarmed), 0, 0).Emit(kpev.Enabled, 0, 1,
				0)
		}
		tr.ExpectViolation("E1",
			"says that something has changed when 0 is written to kprobes/enabled, where it was already")
	})
	trap("E1-lines", "one write changes what was, some probes can't be armed, one changes nothing, and two overlap",
		func(tr *tracetest.Trace) {
			traced(tr, 1)
			tr.Emit(kpev.Enabled, 0, 0, 0).Emit(kpev.Printk, uint64(kpev.LineDisarmed), 0, 0).Emit(kpev.Enabled, 0, 1,
				0)
			tr.Emit(kpev.Enabled, 1, 0, 0).Emit(kpev.Printk, uint64(kpev.LineArmedSome), 1, 2).Emit(kpev.Enabled, 1, 1,
				0)
			tr.Emit(kpev.Enabled, 1, 0, 0).Emit(kpev.Enabled, 1, 1, 0)
			tr.Emit(kpev.Enabled, 0, 0, 0).On(1, 2).Emit(kpev.Enabled, 1, 0, 0).
				Emit(kpev.Printk, uint64(kpev.LineDisarmed), 0, 0)
			tr.Emit(kpev.Enabled, 1, 1, 0).On(0, 1).Emit(kpev.Enabled, 0, 1, 0)
			tr.Emit(kpev.Enabled, 1, 0, 0).Emit(kpev.Enabled, 1, 1, 0)
			tr.ExpectNone()
		})
	golden("E1-fails-where-none-refuses", func(tr *tracetest.Trace) {
		traced(tr, 1)
		tr.Register(2, f)
		turnedOff(tr)
		tr.Emit(kpev.Enabled, 1, 0, 0).Emit(kpev.Printk, uint64(kpev.LineEnabledSome|kpev.Prefixed), 2, 2)
		tr.ExpectViolation("E1",
			"failed to enable 2 out of 2 probes. Please check which kprobes are kept disabled via debugfs.\", and 1 of the "+
				"places of probes are sites")
	})
	golden("E1-fails-for-none", func(tr *tracetest.Trace) {
		traced(tr, 1)
		tr.Unregister(1).Register(2, f)
		turnedOff(tr)
		tr.Emit(kpev.Enabled, 1, 0, 0).Emit(kpev.Printk, uint64(kpev.LineArmedSome), 1, 1)
		tr.ExpectViolation("E1", "and 0 of the places of probes are sites")
	})
	trap("E1-fails-at-a-site",
		"two probes at two sites of ftrace fail to be armed, a third one at one of them with the first",
		func(tr *tracetest.Trace) {
			tr.Image(h, siteCall...)
			traced(tr, 1)
			tr.Register(2, h).Register(3, g)
			toggled(tr, kpev.LineArmedSome, 2, 2)
			tr.ExpectNone()
		})
}

var siteCall = []byte{0xe8, 0, 0, 0x10, 0}

// traced registers a probe at g, which is a site of ftrace.
func traced(tr *tracetest.Trace, probe uint64) {
	tr.Image(g, siteCall...)
	tr.ApiEnter(kpev.Register, probe, g).Store(g, siteCall...).ApiReturn(kpev.Register, probe, 0)
}

// turnedOff writes 0 to kprobes/enabled.
func turnedOff(tr *tracetest.Trace) {
	tr.Emit(kpev.Enabled, 0, 0, 0).Emit(kpev.Printk, uint64(kpev.LineDisarmed), 0, 0).Emit(kpev.Enabled, 0, 1, 0)
}

// toggled writes 0, and then 1, for which the kernel prints a line.
func toggled(tr *tracetest.Trace, line kpev.Line, a, b uint64) {
	turnedOff(tr)
	tr.Emit(kpev.Enabled, 1, 0, 0).Emit(kpev.Printk, uint64(line), a, b).Emit(kpev.Enabled, 1, 1, 0)
}
