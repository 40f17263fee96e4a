package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Transparent is property X1, the reason why live kernels can be probed: the code's
// results don't change.
//
// Based on: Expect, from the twin run without probes, against CallEnd.
var Transparent = Property{
	ID:   "X1",
	Name: "transparent",
	Says: "A call ends with the same result, registers, flags, stack and buffers as without probes.",
	Kinds: []traces.Kind{
		smpev.Expect, smpev.CallEnd,
	},
	New:   func(*Scene) Monitor { return new(transparent) },
	Alone: true,
}

// notCompared as an expected digest: the call must end, with any result.
const notCompared = 0

type transparent struct {
	calls []expected
	at    [tasksMax][]int `state:"skip: where to look first"` // by task and number of the call: its index in calls
}

type expected struct {
	task, call, digest uint64
	mayMiss            bool // the call may be missing
	ended              bool
}

func (x *expected) is(task, call uint64) bool { return x.task == task && x.call == call }

// tasksMax is the largest number of tasks of a machine.
const tasksMax = 256

func (m *transparent) Reset() {
	for i := range m.calls {
		at := &m.at[m.calls[i].task%tasksMax]
		*at = (*at)[:0]
	}
	m.calls = m.calls[:0]
}

func (m *transparent) Event(e *traces.Event) *traces.Finding {
	if e.Kind == smpev.Expect {
		m.expect(expected{task: e.A, call: e.B &^ smpev.MayMiss, digest: e.C, mayMiss: e.B&smpev.MayMiss != 0})
		return nil
	}
	x := m.find(e.A, e.B)
	switch {
	case x == nil:
		return found(e, 0, "ends call %d of task %d, which the twin without probes doesn't make", e.B, e.A)
	case x.ended:
		return found(e, 0, "ends call %d of task %d a second time", e.B, e.A)
	case x.digest != notCompared && x.digest != e.C:
		return found(e, 0, "ends call %d of task %d with %#x; without probes it ends with %#x", e.B, e.A, e.C, x.digest)
	}
	x.ended = true
	return nil
}

func (m *transparent) End(drained bool) *traces.Finding {
	if !drained {
		return nil
	}
	for i := range m.calls {
		if x := &m.calls[i]; !x.ended && !x.mayMiss {
			return atEnd(0, "call %d of task %d hasn't ended", x.call, x.task)
		}
	}
	return nil
}

// expect records a call. A task's calls are in order.
func (m *transparent) expect(x expected) {
	m.at[x.task%tasksMax] = append(m.at[x.task%tasksMax], len(m.calls))
	m.calls = append(m.calls, x)
}

// find returns a call, nil if none is expected.
func (m *transparent) find(task, call uint64) *expected {
	at := m.at[task%tasksMax]
	if call < uint64(len(at)) && m.calls[at[call]].is(task, call) {
		return &m.calls[at[call]]
	}
	for _, i := range at {
		if m.calls[i].is(task, call) {
			return &m.calls[i]
		}
	}
	return nil
}
