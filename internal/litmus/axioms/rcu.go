package axioms

import "math/bits"

// graceAllows is the axiom of RCU: no chain of grace periods and sections, of which there are at
// most as many, leads back to its beginning. It adds to the strong fences what such chains order.
func (x *execution) graceAllows(strong, pbStar rel) bool {
	sections := x.inverse(x.sections()) // from an end to its beginning
	grace := x.id(x.grace)
	link := x.only(nil, x.seq(x.only(x.rcu, x.poOpt, nil), x.hbStar, pbStar, x.prop, x.po), x.rcu)
	order := x.or(grace, x.alike(x.seq(grace, link, sections)), x.alike(x.seq(sections, link, grace)))
	for {
		via := x.seq(link, order, link)
		both := x.or(x.alike(x.seq(grace, via, sections)), x.alike(x.seq(sections, via, grace)))
		more := x.or(order, both, x.seq(order, link, order))
		if x.empty(x.minus(more, order)) {
			break
		}
		order = more
	}
	fence := x.seq(x.po, order, x.poOpt)
	rb := x.ofMarked(x.seq(x.prop, fence, x.hbStar, pbStar))
	x.strongAll = x.or(strong, fence)
	x.fences = x.or(x.fences, fence)
	x.xb = x.or(x.xb, rb)
	return !x.reflexive(rb)
}

// alike is what of a relation is between events of one domain.
func (x *execution) alike(a rel) rel {
	r := x.rel()
	for i := range x.n {
		x.each(a, i, func(k int) {
			if x.events[i].domain == x.events[k].domain {
				x.add(r, i, k)
			}
		})
	}
	return r
}

// sections leads from the beginning of each section to its end. Those of RCU nest; an
// srcu_read_unlock ends the section whose index it was given.
func (x *execution) sections() rel {
	if !x.hasSRCU {
		return x.nested
	}
	r := x.or(x.nested)
	given := x.plus(x.or(x.cookies(), x.rf))
	for i := range x.events {
		if x.events[i].kind != readLock {
			continue
		}
		x.each(given, i, func(k int) {
			if e := &x.events[k]; e.kind == readUnlock && e.domain > 0 && e.domain == x.events[i].domain {
				x.add(r, i, k)
			}
		})
	}
	return r
}

// cookies are the data dependencies, those of srcu_read_unlock included.
func (x *execution) cookies() rel {
	r := x.or(x.textData)
	from := 0
	for i := range x.events {
		if i > 0 && x.events[i].thread != x.events[i-1].thread {
			from = i
		}
		if x.events[i].kind != readUnlock {
			continue
		}
		for d := x.events[i].data; d != 0; d &= d - 1 {
			x.add(r, x.sourceAt(from, bits.TrailingZeros64(uint64(d))), i)
		}
	}
	return r
}

// sourceAt is the event of a thread's source, counted from the thread's first event.
func (x *execution) sourceAt(from, n int) int {
	for i := from; ; i++ {
		if e := &x.events[i]; e.kind == read || e.kind == readLock && e.domain > 0 {
			if n == 0 {
				return i
			}
			n--
		}
	}
}
