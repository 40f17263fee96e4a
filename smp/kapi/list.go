package kapi

import "slices"

// A List is a shared list, such as the optimizer's lists or an RCU-protected chain. A reader
// that walks it meets a point at each element. It is meant for few elements; only removing the
// first is as cheap in a long list. Writers hold a lock. Where memory is weak each change
// makes a version of the whole list.
type List[T comparable] struct {
	id   CellID
	head int // in a long list: how many elements at the front of v are gone
	v    []T
	w    *weak[[]T] `state:"weak"`
}

// long is the length from which removing the first element doesn't move the others up.
const long = 64

// ListAdd is the order in which an element is made and published.
var ListAdd = DefineBarrier("list: publish an element", OrderRelease, "list_add_rcu: rcu_assign_pointer")

// Init gives the list its number and empties it.
func (l *List[T]) Init(cells *Cells) {
	l.id, l.head, l.v = cells.New(), 0, l.v[:0]
	l.Drop()
}

// ID returns the cell's number.
func (l *List[T]) ID() CellID { return l.id }

// read returns the elements that a load meets.
func (l *List[T]) read(m Model) []T {
	if m != nil {
		return l.readWeak(m)
	}
	return l.v[l.head:]
}

func (l *List[T]) readWeak(m Model) []T {
	held, back := m.Load(l, Through)
	if held >= 0 {
		return l.w.own(held)
	}
	if back > 0 {
		return l.w.old[len(l.w.old)-back]
	}
	return l.v[l.head:]
}

// copied returns a copy of the elements, for a change where memory is weak, and which
// CPU holds the result.
func (l *List[T]) copied(m Model, b Barrier) (v []T, held int) {
	from, held := m.Update(l, b)
	if from >= 0 {
		return slices.Clone(l.w.own(from)), held
	}
	return slices.Clone(l.v[l.head:]), held
}

// change makes v what the list is.
func (l *List[T]) change(m Model, held int, v []T) {
	if l.w == nil {
		l.w = new(weak[[]T])
	}
	if held >= 0 {
		l.w.hold(held, v)
		return
	}
	if m.Keeps() {
		l.w = l.w.push(l.v[l.head:])
	}
	l.v, l.head = v, 0
}

// Commit implements Cell.
func (l *List[T]) Commit(cpu int) {
	if v, ok := l.w.commit(cpu); ok {
		l.v, l.head = v, 0
	}
}

// Forget implements Cell.
func (l *List[T]) Forget(n int) { l.w.forget(n) }

// Drop implements Cell.
func (l *List[T]) Drop() { l.w.drop() }

// Len returns the number of elements (point).
func (l *List[T]) Len(x Context) int { return len(l.read(x.Access(l.id, Read))) }

// Peek returns the elements of the newest version, without a point.
func (l *List[T]) Peek() []T { return l.v[l.head:] }

// Look returns the elements without a point: within the step under way.
func (l *List[T]) Look(x Context) []T { return l.read(x.Touch(l.id, Read)) }

// At returns element i (point).
func (l *List[T]) At(x Context, i int) T { return l.read(x.Access(l.id, Read))[i] }

// Has reports whether v is in the list (point).
func (l *List[T]) Has(x Context, v T) bool {
	return slices.Contains(l.read(x.Access(l.id, Read)), v)
}

// Add appends v (point).
func (l *List[T]) Add(x Context, v T) {
	m := x.Access(l.id, Write)
	if m != nil {
		now, held := l.copied(m, ListAdd)
		l.change(m, held, append(now, v))
		return
	}
	l.v = append(l.v, v)
}

// Fill appends v without a point: for initialisation.
func (l *List[T]) Fill(v T) { l.v = append(l.v, v) }

// Push puts v first (point).
func (l *List[T]) Push(x Context, v T) {
	m := x.Access(l.id, Write)
	if m != nil {
		now, held := l.copied(m, ListAdd)
		l.change(m, held, slices.Insert(now, 0, v))
		return
	}
	l.v = append(l.v, v)
	live := l.v[l.head:]
	copy(live[1:], live)
	live[0] = v
}

// Del takes v out, and reports whether it was in (point).
func (l *List[T]) Del(x Context, v T) bool {
	m := x.Access(l.id, Write)
	if m != nil {
		return l.delWeak(m, v)
	}
	i := slices.Index(l.v[l.head:], v)
	if i < 0 {
		return false
	}
	if i += l.head; i == l.head && len(l.v)-i > long {
		var none T
		l.v[i] = none
		l.head++
		return true
	}
	n := copy(l.v, l.v[l.head:i])
	n += copy(l.v[n:], l.v[i+1:])
	l.head, l.v = 0, l.v[:n]
	return true
}

func (l *List[T]) delWeak(m Model, v T) bool {
	now, held := l.copied(m, Once)
	i := slices.Index(now, v)
	if i >= 0 {
		now = slices.Delete(now, i, i+1)
	}
	l.change(m, held, now)
	return i >= 0
}
