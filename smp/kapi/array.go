package kapi

import "slices"

// An Array is shared words side by side, such as the places of a ring. An access has the
// footprint of all of them. Where memory is weak each store makes a version of the whole
// array, so that one CPU at a time may store.
type Array[T any] struct {
	id CellID
	v  []T
	w  *weak[[]T] `state:"weak"`
}

// Init gives the array its number and n zero words.
func (a *Array[T]) Init(cells *Cells, n int) {
	a.id = cells.New()
	if cap(a.v) < n {
		a.v = make([]T, n)
	}
	a.v = a.v[:n]
	clear(a.v)
	a.Drop()
}

// ID returns the cell's number.
func (a *Array[T]) ID() CellID { return a.id }

// Len returns how many words there are.
func (a *Array[T]) Len() int { return len(a.v) }

// Fill gives a word its value, for initialisation.
func (a *Array[T]) Fill(i int, v T) { a.v[i] = v }

// Peek returns a word of the newest version, without a point.
func (a *Array[T]) Peek(i int) T { return a.v[i] }

// Owned returns a word as it was left. Context: as Var.Owned.
func (a *Array[T]) Owned(i int) T {
	if a.w != nil {
		if n := len(a.w.held); n > 0 {
			return a.w.held[n-1].v[i]
		}
	}
	return a.v[i]
}

// Load reads a word (point).
func (a *Array[T]) Load(x Context, b Barrier, i int) T {
	m := x.Access(a.id, Read)
	if m != nil {
		if held, back := m.Load(a, b); held >= 0 {
			return a.w.own(held)[i]
		} else if back > 0 {
			return a.w.old[len(a.w.old)-back][i]
		}
	}
	return a.v[i]
}

// Store writes a word (point before the store).
func (a *Array[T]) Store(x Context, b Barrier, i int, v T) {
	m := x.Access(a.id, Write)
	if m == nil {
		a.v[i] = v
		return
	}
	if a.w == nil {
		a.w = new(weak[[]T])
	}
	from, held := m.Update(a, b)
	next := slices.Clone(a.v)
	if from >= 0 {
		next = slices.Clone(a.w.own(from))
	}
	next[i] = v
	if held >= 0 {
		a.w.hold(held, next)
		return
	}
	if m.Keeps() {
		a.w = a.w.push(a.v)
	}
	a.v = next
}

// Commit implements Cell.
func (a *Array[T]) Commit(cpu int) {
	if v, ok := a.w.commit(cpu); ok {
		a.v = v
	}
}

// Forget implements Cell.
func (a *Array[T]) Forget(n int) { a.w.forget(n) }

// Drop implements Cell.
func (a *Array[T]) Drop() { a.w.drop() }
