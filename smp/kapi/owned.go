package kapi

import "kpsim/smp/arch"

// What a lock keeps all writers but one out of is read by its holder as he has left it: his
// stores may not be seen by others yet, and are to himself. Those of the holders before him
// were, when he got the lock.

// Owned returns the last value stored, be it seen by others yet or not, without a point. Context: what
// keeps others from writing the cell is held, or nothing runs.
func (c *Var[T]) Owned() T {
	if c.w != nil {
		if n := len(c.w.held); n > 0 {
			return c.w.held[n-1].v
		}
	}
	return c.v
}

// Owned is that of a list: its elements. Context: as Var.Owned.
func (l *List[T]) Owned() []T {
	if l.w != nil {
		if n := len(l.w.held); n > 0 {
			return l.w.held[n-1].v
		}
	}
	return l.v[l.head:]
}

// All returns the elements (point).
func (l *List[T]) All(x Context) []T { return l.read(x.Access(l.id, Read)) }

// Owned looks an address up in the table as it was left. Context: as Var.Owned.
func (t *Table[V]) Owned(at arch.Addr) (v V, ok bool) {
	if t.w != nil {
		if n := len(t.w.held); n > 0 {
			return last(t.w.held[n-1].v, at)
		}
	}
	return t.Peek(at)
}

// Plus adds d to a counter by a load and a store, between which another CPU may store
// (x += d) where memory is weak (point).
func Plus(c *Var[int], x Context, d int) {
	m := x.Access(c.id, Write)
	if m == nil {
		c.v += d
		return
	}
	x.Touch(c.id, Read)
	c.store(m, Once, c.load(m, Once)+d)
}
