package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Locks is what lockdep would say.
var Locks = Property{
	ID:   "K1",
	Name: "locks",
	Says: "A lock is taken once and released by its owner, locks are taken in one order, and nothing that may sleep is called where sleeping is forbidden.",
	Kinds: []traces.Kind{
		smpev.Lock, smpev.Unlock, smpev.MightSleep,
	},
	New:     func(*Scene) Monitor { return new(locks) },
	Touches: lockTouches,
}

// locksMax bounds the locks whose order is followed; a machine has a handful.
const locksMax = 64

type locks struct {
	ids   []uint64         // of the locks seen
	after [locksMax]uint64 // bit j of after[i]: j was taken under i, directly or through others
	held  []holding        // in the order in which they were taken
}

type holding struct {
	task uint8
	lock int // place in ids
}

func (m *locks) Reset() {
	clear(m.after[:len(m.ids)])
	m.ids, m.held = m.ids[:0], m.held[:0]
}

func (m *locks) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Lock:
		return m.lock(e)
	case smpev.Unlock:
		for i, h := range m.held {
			if m.ids[h.lock] != e.A {
				continue
			}
			if h.task != e.Task {
				return found(e, 0, "releases lock %d, which task%d holds", e.A, h.task)
			}
			m.held = append(m.held[:i], m.held[i+1:]...)
			return nil
		}
		return found(e, 0, "releases lock %d, which nobody holds", e.A)
	case smpev.MightSleep:
		if e.A == 1 {
			return found(e, 0, "calls what may sleep: sleeping while atomic")
		}
	}
	return nil
}

func (m *locks) End(drained bool) *traces.Finding {
	if drained && len(m.held) > 0 {
		h := m.held[0]
		return atEnd(0, "task%d still holds lock %d", h.task, m.ids[h.lock])
	}
	return nil
}

func (m *locks) lock(e *traces.Event) *traces.Finding {
	b := m.place(e.A)
	if b < 0 {
		return nil
	}
	for _, h := range m.held {
		if h.lock == b && h.task == e.Task {
			return found(e, 0, "takes lock %d, which it holds: recursion", e.A)
		}
		if h.lock == b {
			return found(e, 0, "takes lock %d, which task%d holds", e.A, h.task)
		}
	}
	for _, h := range m.held {
		if h.task != e.Task {
			continue
		}
		a := h.lock
		if m.after[b]>>a&1 != 0 {
			return found(e, 0, "takes lock %d under lock %d: the order so far is the reverse", e.A, m.ids[a])
		}
		for i := range m.ids {
			if i == a || m.after[i]>>a&1 != 0 {
				m.after[i] |= m.after[b] | 1<<b
			}
		}
	}
	m.held = append(m.held, holding{e.Task, b})
	return nil
}

// place returns the number of a lock, or -1 if there are too many.
func (m *locks) place(id uint64) int {
	for i, x := range m.ids {
		if x == id {
			return i
		}
	}
	if len(m.ids) == locksMax {
		return -1
	}
	m.ids = append(m.ids, id)
	return len(m.ids) - 1
}

// lockTouches: an object is a lock. Of two locks taken in both orders it is the
// second task that is found, whichever that is: the property is broken either
// way. At the end counts who holds what.
func lockTouches(t *Touched, e *traces.Event) {
	if e.Kind != smpev.MightSleep {
		t.Write(e.A)
	}
}
