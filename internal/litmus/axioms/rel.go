package axioms

import "math/bits"

// A set is a set of events, a bit each.
type set []uint64

func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }
func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }

// A rel is a relation on events: a row of bits for each, its successors.
type rel []uint64

// A space makes the relations on n events. They are valid until the mark before which they were
// made is returned to.
type space struct {
	n, w  int // events, and the words of a row
	arena []uint64
	used  int
}

// reset makes a space of n events, without relations.
func (s *space) reset(n int) { s.n, s.w, s.used = n, (n+63)/64, 0 }

func (s *space) take(n int) []uint64 {
	if s.used+n > len(s.arena) {
		s.arena, s.used = make([]uint64, 2*len(s.arena)+64*n), 0 // what was taken keeps the old one
	}
	b := s.arena[s.used : s.used+n : s.used+n]
	s.used += n
	clear(b)
	return b
}

func (s *space) set() set { return s.take(s.w) }
func (s *space) rel() rel { return s.take(s.n * s.w) }

func (s *space) row(a rel, i int) set { return set(a[i*s.w : (i+1)*s.w]) }

func (s *space) has(a rel, i, k int) bool { return s.row(a, i).has(k) }
func (s *space) add(a rel, i, k int)      { s.row(a, i).add(k) }

// or is the union.
func (s *space) or(of ...rel) rel {
	r := s.rel()
	for _, a := range of {
		for i, w := range a {
			r[i] |= w
		}
	}
	return r
}

func (s *space) and(a, b rel) rel {
	r := s.rel()
	for i, w := range a {
		r[i] = w & b[i]
	}
	return r
}

func (s *space) minus(a, b rel) rel {
	r := s.rel()
	for i, w := range a {
		r[i] = w &^ b[i]
	}
	return r
}

// join adds to row i of r what the rows of b have that a row of events names.
func (s *space) join(r rel, i int, row set, b rel) {
	to := s.row(r, i)
	for k, w := range row {
		for ; w != 0; w &= w - 1 {
			for j, v := range s.row(b, 64*k+bits.TrailingZeros64(w)) {
				to[j] |= v
			}
		}
	}
}

// seq is a, and then b, and so on.
func (s *space) seq(a rel, then ...rel) rel {
	for _, b := range then {
		r := s.rel()
		for i := range s.n {
			s.join(r, i, s.row(a, i), b)
		}
		a = r
	}
	return a
}

// opt is a or nothing: a and the identity.
func (s *space) opt(a rel) rel {
	r := s.or(a)
	for i := range s.n {
		s.add(r, i, i)
	}
	return r
}

// plus is a, once or several times.
func (s *space) plus(a rel) rel {
	r := s.or(a)
	for k := range s.n {
		via := s.row(r, k)
		for i := range s.n {
			if row := s.row(r, i); row.has(k) {
				for j, w := range via {
					row[j] |= w
				}
			}
		}
	}
	return r
}

// star is a, any number of times.
func (s *space) star(a rel) rel { return s.opt(s.plus(a)) }

func (s *space) inverse(a rel) rel {
	r := s.rel()
	for i := range s.n {
		s.each(a, i, func(k int) { s.add(r, k, i) })
	}
	return r
}

// each calls f with the successors of i.
func (s *space) each(a rel, i int, f func(k int)) {
	for j, w := range s.row(a, i) {
		for ; w != 0; w &= w - 1 {
			f(64*j + bits.TrailingZeros64(w))
		}
	}
}

// only is what of a leads from a set to a set; nil is all.
func (s *space) only(from set, a rel, to set) rel {
	r := s.or(a)
	for i := range s.n {
		row := s.row(r, i)
		if from != nil && !from.has(i) {
			clear(row)
			continue
		}
		for j := range to {
			row[j] &= to[j]
		}
	}
	return r
}

// id is the identity of a set.
func (s *space) id(of set) rel {
	r := s.rel()
	for i := range s.n {
		if of.has(i) {
			s.add(r, i, i)
		}
	}
	return r
}

// reflexive reports whether an event is its own successor.
func (s *space) reflexive(a rel) bool {
	for i := range s.n {
		if s.has(a, i, i) {
			return true
		}
	}
	return false
}

// empty reports whether a relation has no pair, and any returns the first one.
func (s *space) empty(a rel) bool {
	for _, w := range a {
		if w != 0 {
			return false
		}
	}
	return true
}

func (s *space) any(a rel) (i, k int) {
	for i := range s.n {
		for j, w := range s.row(a, i) {
			if w != 0 {
				return i, 64*j + bits.TrailingZeros64(w)
			}
		}
	}
	return -1, -1
}
