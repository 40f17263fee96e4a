package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Locks is property K1: what lockdep checks.
//
// Based on: Lock, Unlock, MightSleep, and Foreign for state that an engine's own lock owns.
var Locks = Property{
	ID:   "K1",
	Name: "locks",
	Says: "A lock is taken once and released by its owner, locks and waits have one order, state under a lock is " +
		"touched only by its holder, no interrupt takes a lock whose holder it may have interrupted, and no " +
		"function that may sleep is called where sleeping is forbidden.",
	Kinds: []traces.Kind{
		smpev.Lock, smpev.Unlock, smpev.MightSleep, kpev.Foreign,
	},
	New:     func(*Scene) Monitor { return new(locks) },
	Touches: lockTouches,
}

// locks follows which locks are held and waited for. A wait for a work item or a grace
// period counts as a lock that is taken and released at once: its holder, the worker or
// a reader, takes other locks meanwhile, so waits form cycles as locks do. A wrong
// order is a fault even if no task had to wait.
type locks struct {
	ids   []uint64  // of the locks seen
	after order     // i has j: j was taken under i, directly or through others
	how   []uint8   // for each lock, the contexts in which it was taken: a set of in… and open
	held  []holding // in the order in which they were taken
}

// The contexts in which a spinlock was taken.
const (
	inIRQ   = 1 << iota // by the handler of an interrupt
	inNMI               // or by the handler of an NMI
	outside             // elsewhere
	open                // elsewhere, with interrupts on while it is held
)

type holding struct {
	task   uint8
	shared bool
	lock   int // index in ids
}

func (m *locks) Reset() {
	m.after.clear()
	m.ids, m.how, m.held = m.ids[:0], m.how[:0], m.held[:0]
}

func (m *locks) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Lock:
		return m.lock(e)
	case smpev.Unlock:
		return m.unlock(e)
	case kpev.Foreign:
		return found(e, 0, "takes kprobe_mutex, and what it owns has changed while nobody held it")
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
		return found(e, 0, "releases lock%d, which task%d holds", e.A, other)
	}
	return found(e, 0, "releases lock%d, which nobody holds", e.A)
}

func (m *locks) End(drained bool) *traces.Finding {
	if drained && len(m.held) > 0 {
		h := m.held[0]
		return atEnd(0, "task%d still holds lock%d", h.task, m.ids[h.lock])
	}
	return nil
}

func (m *locks) lock(e *traces.Event) *traces.Finding {
	b := m.place(e.A)
	if e.B&smpev.LockNeeded != 0 {
		return found(e, 0, "does what needs lock%d, and doesn't hold it", e.A)
	}
	waits, shared := e.B&smpev.LockWaits != 0, e.B&smpev.LockShared != 0
	for _, h := range m.held {
		switch {
		case h.lock != b:
		case h.task == e.Task && waits:
			return found(e, 0, "waits for lock%d, which it has itself", e.A)
		case h.task == e.Task:
			return found(e, 0, "takes lock%d, which it holds: recursion", e.A)
		case !waits && !(shared && h.shared):
			return found(e, 0, "takes lock%d, which task%d holds", e.A, h.task)
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
		if m.after.has(b, a) {
			if e.A >= smpev.WaitWork || m.ids[a] >= smpev.WaitWork {
				return found(e, 0,
					"waits for lock%d under lock%d, and that waits for this: the wait goes round in a circle",
					e.A, m.ids[a])
			}
			return found(e, 0, "takes lock%d under lock%d: the order so far is the reverse", e.A, m.ids[a])
		}
		if m.after.has(a, b) { // and so have those under which a was taken
			continue
		}
		for i := range m.ids {
			if i == a || m.after.has(i, a) {
				m.after.add(i, b)
			}
		}
	}
	if !waits {
		m.held = append(m.held, holding{e.Task, shared, b})
	}
	return nil
}

// context: a handler that takes a spinlock must not have interrupted its holder. So a
// lock that an interrupt handler takes is held elsewhere with interrupts off, and a
// lock that an NMI handler takes isn't taken elsewhere at all.
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
		return found(e, 0, "takes lock%d, which NMIs take, too: one may have interrupted its holder", e.A)
	case how&inIRQ != 0 && how&open != 0:
		return found(e, 0, "takes lock%d, which handlers of interrupts take, and others hold with interrupts on", e.A)
	}
	return nil
}

// place returns the number of a lock.
func (m *locks) place(id uint64) int {
	for i, x := range m.ids {
		if x == id {
			return i
		}
	}
	n := len(m.ids)
	m.ids, m.how = append(m.ids, id), append(m.how, 0)
	m.after.grow(n + 1)
	return n
}

// An order is a relation between n things, a bit for each pair.
type order struct {
	n, words int      // words a row
	bits     []uint64 // row by row
}

// grow makes room for n things. Clearing keeps the memory.
func (o *order) grow(n int) {
	if words := (n + 63) / 64; words > o.words {
		wider := order{words: words}
		for i := range o.n {
			wider.grow(i + 1)
			copy(wider.row(i), o.row(i))
		}
		*o = wider
	}
	for ; o.n < n; o.n++ {
		for range o.words {
			o.bits = append(o.bits, 0)
		}
	}
}

func (o *order) clear() { o.n, o.bits = 0, o.bits[:0] }

func (o *order) row(i int) []uint64 { return o.bits[i*o.words : (i+1)*o.words] }

func (o *order) has(i, j int) bool { return o.bits[i*o.words+j/64]>>(uint(j)%64)&1 != 0 }

// add adds j, and everything that j has, to the row of i.
func (o *order) add(i, j int) {
	to := o.row(i)
	for k, w := range o.row(j) {
		to[k] |= w
	}
	to[j/64] |= 1 << (uint(j) % 64)
}

// lockTouches: an object is a lock. When two locks are taken in both orders, the
// finding is at the second task, whichever that is: the property is broken either way.
// At the end it counts which task holds what.
func lockTouches(t *Touched, e *traces.Event) {
	if e.Kind != smpev.MightSleep && e.Kind != kpev.Foreign {
		t.Write(e.A)
	}
}
