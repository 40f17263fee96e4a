package kapi

import "kpsim/smp/arch"

// The holder of a lock reads a cell that the lock protects as it was last written. It sees its
// own stores even if other CPUs don't yet, and the stores of earlier holders were visible when
// it got the lock.

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

// Owned returns the list's elements as last written. Context: as Var.Owned.
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
