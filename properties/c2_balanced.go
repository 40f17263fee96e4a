package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Balanced is property C2: a routine must leave some state as it found it.
//
// Based on: Tilted, which the machine emits at the end of a trap's handler, of a function called from text, of a
// work, and of a call of the API; and Uneven, which a kernel's own engine emits when a function has returned to code
// that isn't the kernel's.
var Balanced = Property{
	ID:   "C2",
	Name: "balanced",
	Says: "After a call of the API, a work, a trap or a detour's call, preemption is counted as before, " +
		"interrupts are as they were, and the CPU runs the same probe's handlers, mostly none.",
	Kinds: []traces.Kind{smpev.Tilted, kpev.JprobeEnter, kpev.JprobeLeave, linuxev.Uneven},
	New:   func(*Scene) Monitor { return new(balanced) },
	Alone: true, // a task's own routines decide
}

// balanced knows the one trap that may leave preemption off: that of a jprobe, whose
// entry runs until the trap of jprobe_return.
type balanced struct {
	jumps [tasksMax]int8 // by task: how much the trap under way may add to the count
}

func (m *balanced) Reset() { clear(m.jumps[:]) }

func (m *balanced) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.JprobeEnter:
		m.jumps[e.Task]++
		return nil
	case kpev.JprobeLeave:
		m.jumps[e.Task]--
		return nil
	case smpev.Tilted:
		if e.A == smpev.TiltIRQs {
			return found(e, 0, "goes on with interrupts %s", onOff(e.C))
		}
		may := m.jumps[e.Task]
		m.jumps[e.Task] = 0
		if e.C-e.B == uint64(int64(may)) {
			return nil
		}
		return found(e, 0, "goes on with preemption counted %#x, which was %#x", e.C, e.B)
	}
	switch e.A {
	case linuxev.Preemption:
		return found(e, 0, "goes on with preemption counted %#x, which was %#x", e.C, e.B)
	case linuxev.Interrupts:
		return found(e, 0, "goes on with interrupts %s", onOff(e.C))
	case linuxev.Sections:
		return found(e, 0, "goes on in %d sections of RCU, which were %d", int64(e.C), int64(e.B))
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
