package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Transparent is why probes are used on live kernels at all.
var Transparent = Property{
	ID:   "X1",
	Name: "transparent",
	Says: "A call ends with the result, registers, flags, stack and buffers that it ends with when nothing is probed.",
	Kinds: []traces.Kind{
		smpev.Expect, smpev.CallEnd,
	},
	New:     func(*Scene) Monitor { return new(transparent) },
	Touches: nothingTouched,
}

// notCompared as an expected digest: the call must end, no matter with what.
const notCompared = 0

type transparent struct {
	calls []expected
	next  int // where the next call to end is likely to be
}

type expected struct {
	task, call, digest uint64
	ended              bool
}

func (m *transparent) Reset() { m.calls, m.next = m.calls[:0], 0 }

func (m *transparent) Event(e *traces.Event) *traces.Finding {
	if e.Kind == smpev.Expect {
		m.calls = append(m.calls, expected{task: e.A, call: e.B, digest: e.C})
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
		if x := &m.calls[i]; !x.ended {
			return atEnd(0, "call %d of task %d hasn't ended", x.call, x.task)
		}
	}
	return nil
}

func (m *transparent) find(task, call uint64) *expected {
	for range m.calls {
		if m.next >= len(m.calls) {
			m.next = 0
		}
		x := &m.calls[m.next]
		m.next++
		if x.task == task && x.call == call {
			return x
		}
	}
	return nil
}
