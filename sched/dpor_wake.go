package sched

import "slices"

// A wakeTree keeps the prescribed events of all nodes: ordered trees of events, each
// with a first child and a next sibling. Number 0 is none.
type wakeTree struct {
	list   []wakeEvent
	unused int32 // linked by next
}

// A wakeEvent is a prescribed event.
type wakeEvent struct {
	mover       uint8
	fp          footprint
	answers     []uint16
	child, next int32
}

func (t *wakeTree) reset() {
	if len(t.list) == 0 {
		t.list = append(t.list, wakeEvent{})
	}
	t.unused = 0
	for i := 1; i < len(t.list); i++ {
		t.list[i].next = t.unused
		t.unused = int32(i)
	}
}

// get returns an event that isn't linked to any.
func (t *wakeTree) get(mover uint8) int32 {
	c := t.unused
	if c == 0 {
		c = int32(len(t.list))
		t.list = append(t.list, wakeEvent{})
	} else {
		t.unused = t.list[c].next
	}
	w := &t.list[c]
	w.mover, w.child, w.next = mover, 0, 0
	w.fp.clear()
	w.answers = w.answers[:0]
	return c
}

// free releases an event, its siblings, and everything below them.
func (t *wakeTree) free(c int32) {
	for c != 0 {
		w := &t.list[c]
		t.free(w.child)
		next := w.next
		w.next, t.unused = t.unused, c
		c = next
	}
}

// cut removes the first of a list of siblings. Its result is valid until the next get;
// the caller takes its children.
func (t *wakeTree) cut(head *int32) *wakeEvent {
	c := *head
	w := &t.list[c]
	*head = w.next
	w.next, t.unused = t.unused, c
	return w
}

// count returns how many siblings there are.
func (t *wakeTree) count(c int32) (n int) {
	for ; c != 0; c = t.list[c].next {
		n++
	}
	return n
}

// link appends c to a list of siblings: the children of parent, or, if that is 0, the
// list that begins at head.
func (t *wakeTree) link(head *int32, parent, c int32) {
	if parent != 0 {
		head = &t.list[parent].child
	}
	t.concat(head, c)
}

// concat appends a list of siblings to another.
func (t *wakeTree) concat(head *int32, c int32) {
	for *head != 0 {
		head = &t.list[*head].next
	}
	*head = c
}

// cutMover removes the first sibling that is of a mover.
func (t *wakeTree) cutMover(head *int32, mover uint8) *wakeEvent {
	for at := head; *at != 0; at = &t.list[*at].next {
		if t.list[*at].mover == mover {
			return t.cut(at)
		}
	}
	return nil
}

// insert prescribes the events of v at a node. As far as what is already prescribed
// there can be the beginning of v, it is used. It changes v.
func (f *Full) insert(head *int32, v []int32) bool {
	t := &f.wake
	parent := int32(0)
	for c := *head; ; {
		if c == 0 {
			f.link(head, parent, v)
			return true
		}
		w := &t.list[c]
		at, ok := f.mayBegin(v, w.mover, &w.fp)
		// after an interrupt a step differs from the one before: v is taken literally
		ok = ok && (at == 0 || !f.interrupts)
		if ok && at >= 0 && v[at] < int32(f.n) { // otherwise it has made nothing, and all will be tried
			e := &f.events[v[at]]
			if w.fp.all && !e.fp.all { // now it is known
				w.answers = w.answers[:0]
				w.fp.clear()
				w.set(e)
			}
			ok = sameAnswers(w.answers, e.answers)
		}
		if !ok {
			c = w.next
			continue
		}
		if at >= 0 {
			v = slices.Delete(v, at, at+1)
		}
		if len(v) == 0 {
			return false
		}
		parent, c = c, w.child
	}
}

// set copies what an event has touched and the answers given in it.
func (w *wakeEvent) set(e *event) {
	w.fp.add(&e.fp)
	for _, a := range e.answers {
		w.answers = append(w.answers, a.pick)
	}
}

// link prescribes the events of v as a chain.
func (f *Full) link(head *int32, parent int32, v []int32) {
	t := &f.wake
	for _, k := range v {
		e := &f.events[k]
		c := t.get(e.mover)
		t.list[c].set(e)
		t.link(head, parent, c)
		parent = c
	}
}

func sameAnswers(want []uint16, got []answer) bool {
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i].pick {
			return false
		}
	}
	return true
}
