package properties

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// RightResult is property X2: Transparent, but compared with the author's statement
// instead of a run without probes, which may also be wrong.
//
// Based on: Want, which the scenario states, against Got, which the rig found.
var RightResult = Property{
	ID:   "X2",
	Name: "right-result",
	Says: "The results that a scenario states, of calls, memory and registrations, are found, with and without " +
		"probes.",
	Kinds: []traces.Kind{
		smpev.Want, smpev.Got,
	},
	New:   func(*Scene) Monitor { return new(rightResult) },
	Alone: true,
}

type rightResult struct {
	wants []want `state:"boot"`
	next  int    `state:"skip: where to look first"` // the likely index of the next check: a task makes them in order
}

type want struct{ check, value uint64 }

func (m *rightResult) Reset() { m.wants, m.next = m.wants[:0], 0 }

func (m *rightResult) Event(e *traces.Event) *traces.Finding {
	if e.Kind == smpev.Want {
		m.wants = append(m.wants, want{e.A, e.B})
		return nil
	}
	w := m.find(e.A)
	switch {
	case w == nil:
		return found(e, 0, "makes check %d, of which nobody said what it finds", smpev.CheckNumber(e.A))
	case w.value == e.B, slices.Contains(m.wants, want{e.A, e.B}):
		return nil
	}
	switch smpev.CheckWhat(e.A) {
	case smpev.CheckMemory:
		return found(e, e.C, "finds %#x in memory at %#x; right is %#x", e.B, e.C, w.value)
	case smpev.CheckCount:
		if e.B>>smpev.CheckCountOf == smpev.CountInCall {
			return found(e, e.C, "calls %#x, and no handler of a probe runs in the call; right is that one does", e.C)
		}
		return found(e, e.C, "finds %d %s, of the probe at %#x; right are %d", uint32(e.B),
			smpev.Counts.Name(e.B>>smpev.CheckCountOf), e.C, uint32(w.value))
	case smpev.CheckErrno:
		return found(e, e.C, "gets %s from register at %#x; right is %s", kpev.Errno(e.B), e.C, kpev.Errno(w.value))
	}
	return found(e, 0, "gets %#x from a call; right is %s", e.B, m.right(e.A))
}

// right lists the right values of a check.
func (m *rightResult) right(check uint64) string {
	var list []string
	for _, w := range m.wants {
		if w.check == check {
			list = append(list, fmt.Sprintf("%#x", w.value))
		}
	}
	return strings.Join(list, " or ")
}

func (m *rightResult) End(bool) *traces.Finding { return nil }

func (m *rightResult) find(check uint64) *want {
	for range m.wants {
		if m.next >= len(m.wants) {
			m.next = 0
		}
		w := &m.wants[m.next]
		m.next++
		if w.check == check {
			return w
		}
	}
	return nil
}
