package properties

import (
	"kpsim/linux/linuxev"
	"kpsim/traces"
)

// Balanced is property C2: what a function of a kernel's own engine must leave as it was.
//
// Based on: Uneven. An engine emits it when a function has returned to code that isn't
// the kernel's.
var Balanced = Property{
	ID:      "C2",
	Name:    "balanced",
	Says:    "After a call of the API, a work or a breakpoint, preemption is counted as before, interrupts are as they were, and the CPU runs the same probe's handlers, mostly none.",
	Kinds:   []traces.Kind{linuxev.Uneven},
	New:     func(*Scene) Monitor { return new(balanced) },
	Touches: nothingTouched,
}

type balanced struct{}

func (*balanced) Reset() {}

func (*balanced) Event(e *traces.Event) *traces.Finding {
	switch e.A {
	case linuxev.Preemption:
		return found(e, 0, "goes on with preemption counted %#x, which was %#x", e.C, e.B)
	case linuxev.Interrupts:
		return found(e, 0, "goes on with interrupts %s", onOff(e.C))
	}
	return found(e, 0, "goes on with current_kprobe %#x, which was %#x", e.C, e.B)
}

func (*balanced) End(bool) *traces.Finding { return nil }

func onOff(v uint64) string {
	if v != 0 {
		return "on, which were off"
	}
	return "off, which were on"
}
