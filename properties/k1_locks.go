package properties

import (
	"fmt"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Locks is what lockdep would say.
var Locks = Property{
	ID:   "K1",
	Name: "locks",
	Says: "A lock is taken once and released by its owner, locks are taken and waits are begun in one order, what a lock protects is touched by who holds it, no interrupt takes what it may have interrupted the holder of, and nothing that may sleep is called where sleeping is forbidden.",
	Kinds: []traces.Kind{
		smpev.Lock, smpev.Unlock, smpev.MightSleep,
	},
	New:     func(*Scene) Monitor { return new(locks) },
	Touches: lockTouches,
}

// locksMax bounds the locks whose order is followed; a machine has a handful.
const locksMax = 64

// locks follows what is held and waited for. A wait for a work or a grace period is
// a lock that is taken and let go at once: who has it, the work's worker or a
// reader, takes others meanwhile, and so waits go round in circles as locks do. An
// order is a fault wherever it is seen: nobody has to have waited.
type locks struct {
	ids   []uint64         // of the locks seen
	after [locksMax]uint64 // bit j of after[i]: j was taken under i, directly or through others
	how   [locksMax]uint8  // where each was taken, of in… and open
	held  []holding        // in the order in which they were taken
}

// The contexts in which a spinlock was taken.
const (
	inIRQ   = 1 << iota // by the handler of an interrupt
	inNMI               // or of an NMI
	outside             // elsewhere
	open                // elsewhere, with interrupts on while it is held
)

type holding struct {
	task   uint8
	shared bool
	lock   int // place in ids
}

func (m *locks) Reset() {
	clear(m.after[:len(m.ids)])
	clear(m.how[:len(m.ids)])
	m.ids, m.held = m.ids[:0], m.held[:0]
}

func (m *locks) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Lock:
		return m.lock(e)
	case smpev.Unlock:
		return m.unlock(e)
	case smpev.MightSleep:
		if e.A == 1 {
			return found(e, 0, "calls what may sleep: sleeping while atomic")
		}
	}
	return nil
}

func (m *locks) unlock(e *traces.Event) *traces.Finding {
	other := -1
	for i, h := range m.held {
		if m.ids[h.lock] != e.A {
			continue
		}
		if h.task == e.Task {
			m.held = append(m.held[:i], m.held[i+1:]...)
			return nil
		}
		other = int(h.task)
	}
	if other >= 0 {
		return found(e, 0, "releases lock %d, which task%d holds", e.A, other)
	}
	return found(e, 0, "releases lock %d, which nobody holds", e.A)
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
	if e.B&smpev.LockNeeded != 0 {
		return found(e, 0, "does what needs lock %d, and doesn't hold it", e.A)
	}
	waits, shared := e.B&smpev.LockWaits != 0, e.B&smpev.LockShared != 0
	for _, h := range m.held {
		switch {
		case h.lock != b:
		case h.task == e.Task && waits:
			return found(e, 0, "waits for %s, which it has itself", thing(e.A))
		case h.task == e.Task:
			return found(e, 0, "takes lock %d, which it holds: recursion", e.A)
		case !waits && !(shared && h.shared):
			return found(e, 0, "takes lock %d, which task%d holds", e.A, h.task)
		}
	}
	if f := m.context(e, b); f != nil {
		return f
	}
	for _, h := range m.held {
		if h.task != e.Task {
			continue
		}
		a := h.lock
		if m.after[b]>>a&1 != 0 {
			if e.A >= smpev.WaitWork || m.ids[a] >= smpev.WaitWork {
				return found(e, 0, "waits for %s under %s, and that waits for this: the wait goes round in a circle", thing(e.A), thing(m.ids[a]))
			}
			return found(e, 0, "takes lock %d under lock %d: the order so far is the reverse", e.A, m.ids[a])
		}
		for i := range m.ids {
			if i == a || m.after[i]>>a&1 != 0 {
				m.after[i] |= m.after[b] | 1<<b
			}
		}
	}
	if !waits {
		m.held = append(m.held, holding{e.Task, shared, b})
	}
	return nil
}

// context: a handler that takes a spinlock must not have interrupted its holder. So
// one that a handler of interrupts takes is held elsewhere with interrupts off, and
// one that an NMI's takes isn't taken elsewhere at all.
func (m *locks) context(e *traces.Event, b int) *traces.Finding {
	if e.B&smpev.LockSpins == 0 {
		return nil
	}
	here := uint8(outside)
	switch {
	case e.B&smpev.LockInNMI != 0:
		here = inNMI
	case e.B&smpev.LockInIRQ != 0:
		here = inIRQ
	case e.B&smpev.LockIRQsOn != 0:
		here = outside | open
	}
	m.how[b] |= here
	switch how := m.how[b]; {
	case how&inNMI != 0 && how != inNMI:
		return found(e, 0, "takes lock %d, which NMIs take, too: one may have interrupted its holder", e.A)
	case how&inIRQ != 0 && how&open != 0:
		return found(e, 0, "takes lock %d, which handlers of interrupts take, and others hold with interrupts on", e.A)
	}
	return nil
}

// thing says what a number in a Lock is.
func thing(id uint64) string {
	switch {
	case id == smpev.WaitGrace:
		return "a grace period"
	case id >= smpev.WaitWork:
		return "a work"
	}
	return fmt.Sprintf("lock %d", id)
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
