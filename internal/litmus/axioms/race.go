package axioms

// plainAllows is the axiom of plain accesses: where two accesses can't race, what they read and
// overwrite is as their order says.
func (x *execution) plainAllows() bool {
	c := x.plainOrder()
	against := func(what, order rel) bool { return !x.empty(x.and(x.and(c.conflicts, what), x.inverse(order))) }
	return !against(x.rf, c.readWrite) && !against(x.fr, c.writeRead) && !against(x.co, c.writeWrite)
}

// A plainOrder says which conflicting accesses are ordered for sure, whatever a compiler does
// to those that are plain.
type plainOrder struct {
	conflicts                        rel
	writeWrite, writeRead, readWrite rel
}

func (x *execution) plainOrder() plainOrder {
	var c plainOrder
	c.conflicts = x.rel()
	for i := range x.events {
		for k := range x.events {
			a, b := &x.events[i], &x.events[k]
			if a.memory() && b.memory() && a.thread != b.thread && a.location == b.location && (a.plain || b.plain) {
				x.add(c.conflicts, i, k)
			}
		}
	}
	xb := x.star(x.xb)
	later := x.or(x.seq(x.strongAll, x.only(x.marked, xb, nil)), x.and(xb, x.within))
	visible := x.seq(x.cumul, x.only(nil, x.opt(x.rfe), x.marked), later)
	isMarked := x.id(x.marked)
	before := x.opt(x.or(x.addr, x.fences)) // a store after it can't be made earlier
	wBefore := x.seq(isMarked, before)
	rBefore := x.seq(isMarked, x.opt(x.or(x.addr, x.nonRW, x.rmb)))
	wAfter := x.seq(x.opt(x.fences), isMarked)
	if x.rmwSeq != nil {
		wAfter = x.seq(wAfter, x.rmwSeq)
	}
	rAfter := x.seq(x.opt(x.or(x.nonRW, x.rmb)), isMarked)
	c.writeWrite = x.or(x.fences, x.seq(x.strongAll, xb, wBefore), x.seq(wAfter, visible, wBefore))
	c.writeRead = x.or(x.fences, x.seq(x.strongAll, xb, rBefore), x.seq(wAfter, visible, rBefore))
	c.readWrite = x.or(x.fences, x.seq(rAfter, xb, wBefore))
	return c
}

// raced returns two accesses that race in the execution, which is allowed, or nil.
func (x *execution) raced() *Race {
	if x.plain == nil {
		return nil
	}
	c := x.plainOrder()
	stays := x.and(c.writeWrite, x.or(x.only(x.marked, c.writeWrite, nil), c.readWrite))
	stays = x.and(stays, x.or(x.only(nil, c.writeWrite, x.marked), c.writeRead))
	of := func(what rel) rel { return x.and(c.conflicts, what) }
	races := x.or(
		x.minus(of(x.co), stays),
		x.minus(x.minus(of(x.seq(x.opt(x.co), x.rf)), c.writeRead), x.inverse(c.readWrite)),
		x.minus(of(x.fr), c.readWrite),
	)
	i, k := x.any(races)
	if i < 0 {
		return nil
	}
	r := &Race{Location: x.events[i].location}
	for n, at := range [...]int{min(i, k), max(i, k)} {
		e, o := &x.events[at], &r.Of[n]
		o.Thread, o.Line, o.Store, o.Plain = e.thread, e.line, e.kind == write, e.plain
	}
	return r
}
