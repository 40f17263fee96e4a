package axioms

import "slices"

// An execution is a candidate: what each thread does, from which store each load reads, and in
// which order the stores to each location are. The axioms say whether it is allowed.
type execution struct {
	space
	events []event
	reads  []int    // of each load: the store it reads from, -1 for the initial value
	number []int    // of each store: its number in its location
	ahead  []uint64 // of each store: those of its location, by number, that come before it
	pairs  bool     // there are read-modify-write operations

	start int // of the space that is used again
	sorts
	program
	candidate
}

// The sorts are sets of events. They don't depend on reads and ahead.
type sorts struct {
	marked, loads, stores, memory set
	plain                         set // nil if all accesses are marked
	unlocks, taken                set // of spinlocks: stores that release one, loads that take one
	handed                        set // smp_mb__after_unlock_lock; nil if there is none
	rcu, grace                    set // what has to do with RCU; synchronize
	hasGrace, hasSRCU             bool
}

// A program is the relations that the threads' code gives. They don't depend on reads and ahead.
type program struct {
	nested                              rel // from rcu_read_lock to its rcu_read_unlock
	po, poOpt, within                   rel
	strong, poRel, acqPo, rmb, wmb, rmw rel
	textAddr, textData, textCtrl        rel // dependencies by locals
}

// A candidate is the relations that reads and ahead give.
type candidate struct {
	rf, rfe, co, fr          rel
	addr, data, dep, rwdep   rel
	cumul, rmwSeq, prop      rel // rmwSeq is nil if there is none
	hb, hbStar, pb, xb       rel
	fences, nonRW, strongAll rel
}

// begin takes the threads' traces.
func (x *execution) begin(traces []*trace) {
	x.events = x.events[:0]
	for _, t := range traces {
		x.events = append(x.events, t.events...)
	}
	n := len(x.events)
	x.reset(n)
	x.reads, x.number, x.ahead = resize(x.reads, n), resize(x.number, n), resize(x.ahead, n)
	for _, s := range []*set{&x.marked, &x.loads, &x.stores, &x.memory, &x.unlocks, &x.taken, &x.rcu, &x.grace} {
		*s = x.set()
	}
	for _, r := range []*rel{
		&x.po, &x.within, &x.strong, &x.poRel, &x.acqPo, &x.rmb, &x.wmb, &x.rmw, &x.nested, &x.textAddr, &x.textData,
		&x.textCtrl,
	} {
		*r = x.rel()
	}
	x.plain, x.handed, x.pairs, x.hasGrace, x.hasSRCU = nil, nil, false, false, false
	for i := range x.events {
		x.sort(i)
	}
	from := 0
	for _, t := range traces {
		x.thread(t, from)
		from += len(t.events)
	}
	x.poOpt = x.opt(x.po)
	x.start = x.used
}

func resize[T any](s []T, n int) []T {
	return slices.Grow(s[:0], n)[:n]
}

// sort enters an event into the sets.
func (x *execution) sort(i int) {
	e := &x.events[i]
	switch e.kind {
	case read:
		x.loads.add(i)
	case write:
		x.stores.add(i)
	case readLock, readUnlock, synchronize:
		x.rcu.add(i)
		x.hasSRCU = x.hasSRCU || e.domain > 0
		if e.kind == synchronize {
			x.hasGrace = true
			x.grace.add(i)
		}
	case afterUnlockLock:
		if x.handed == nil {
			x.handed = x.set()
		}
		x.handed.add(i)
	}
	if e.memory() {
		x.memory.add(i)
	}
	if e.unlocks {
		x.unlocks.add(i)
	}
	if e.locks && e.kind == read {
		x.taken.add(i)
	}
	if !e.plain {
		x.marked.add(i)
		return
	}
	if x.plain == nil {
		x.plain = x.set()
	}
	x.plain.add(i)
}

// thread enters what the text of a thread orders.
func (x *execution) thread(t *trace, from int) {
	var open []int
	for k := range t.events {
		e := &t.events[k]
		x.depends(x.textAddr, t, from, k, e.addr)
		if e.kind == write {
			x.depends(x.textData, t, from, k, e.data)
			x.depends(x.textCtrl, t, from, k, e.ctrl)
		}
		if e.pair > 0 {
			x.pairs = true
			x.add(x.rmw, from+k, from+e.pair)
		}
		switch {
		case e.kind == readLock && e.domain == 0:
			open = append(open, k)
		case e.kind == readUnlock && e.domain == 0:
			x.add(x.nested, from+open[len(open)-1], from+k)
			open = open[:len(open)-1]
		}
		x.after(t, from, k)
	}
}

func (x *execution) depends(r rel, t *trace, from, k int, on sources) {
	for i, at := range t.from {
		if on>>i&1 != 0 {
			x.add(r, from+at, from+k)
		}
	}
}

// after enters what event i orders before later ones of its thread.
func (x *execution) after(t *trace, from, i int) {
	a := &t.events[i]
	x.add(x.within, from+i, from+i)
	var full, load, store, grace bool // barriers so far
	var pair, lock, unlock = a.atomic, a.locks && a.kind == write, false
	before, beforePair := false, false // smp_mb__before_atomic, and an operation after it
	for k := i + 1; k < len(t.events); k++ {
		b := &t.events[k]
		x.add(x.po, from+i, from+k)
		x.add(x.within, from+i, from+k)
		x.add(x.within, from+k, from+i)
		isPair := b.atomic
		beforePair = beforePair || before && isPair
		switch b.kind {
		case mb:
			full = true
		case rmb:
			load = true
		case wmb:
			store = true
		case synchronize:
			grace = true
		case beforeAtomic:
			before = true
		case afterAtomic:
			full = full || pair
		case afterSpinlock:
			full = full || lock
		case afterSRCUUnlock:
			full = full || unlock
		case readUnlock:
			unlock = unlock || b.domain > 0
		}
		pair, lock = pair || isPair, lock || b.locks && b.kind == write
		if grace || (full || beforePair) && a.memory() && b.memory() {
			x.add(x.strong, from+i, from+k)
		}
		if !b.memory() {
			continue
		}
		if a.acquire {
			x.add(x.acqPo, from+i, from+k)
		}
		if b.release && a.memory() {
			x.add(x.poRel, from+i, from+k)
		}
		if load && a.kind == read && b.kind == read && !a.noReturn && !b.noReturn {
			x.add(x.rmb, from+i, from+k)
		}
		if store && a.kind == write && b.kind == write {
			x.add(x.wmb, from+i, from+k)
		}
	}
}

// only marked: a relation between accesses that aren't plain.
func (x *execution) ofMarked(a rel) rel {
	if x.plain == nil {
		return a
	}
	return x.only(x.marked, a, x.marked)
}

// allowed reports whether the axioms of the memory model allow the execution, in which each
// location is coherent and each read-modify-write operation atomic.
func (x *execution) allowed() bool {
	x.used = x.start
	x.communicate()
	lockPo := x.seq(x.only(nil, x.po, x.unlocks), x.only(nil, x.or(x.po, x.rf), x.taken), x.po)
	strong := x.strong
	if x.handed != nil { // smp_mb__after_unlock_lock
		strong = x.or(strong, x.only(x.memory, x.seq(x.only(nil, lockPo, x.handed), x.po), x.memory))
	}
	overwrite := x.or(x.co, x.fr)
	x.carry()

	// The order that a CPU keeps.
	x.nonRW = x.or(strong, x.poRel, x.acqPo)
	x.fences = x.or(x.nonRW, x.rmb, x.wmb)
	toStore := x.or(x.rwdep, x.and(overwrite, x.within))
	toLoad := x.or(x.only(nil, x.addr, x.loads), x.seq(x.only(nil, x.dep, x.marked), x.and(x.rf, x.within)))
	if x.plain != nil {
		toStore = x.or(toStore, x.seq(x.only(nil, x.addr, x.plain), x.wmb))
	}
	ppo := x.or(toStore, toLoad, x.and(x.fences, x.within), x.and(lockPo, x.within))

	// Propagation of stores.
	x.rmwSeq = nil
	byOthers := x.or(strong, x.poRel)
	byOthers = x.or(byOthers, x.seq(x.only(nil, x.rfe, x.marked), byOthers), x.wmb, lockPo)
	cumul := x.ofMarked(byOthers)
	if x.pairs {
		x.rmwSeq = x.star(x.seq(x.rf, x.rmw))
		cumul = x.seq(cumul, x.rmwSeq)
	}
	x.cumul = x.star(cumul)
	x.prop = x.seq(x.opt(x.minus(overwrite, x.within)), x.cumul)
	x.prop = x.ofMarked(x.seq(x.ofMarked(x.prop), x.opt(x.rfe)))

	happens := x.and(x.prop, x.within)
	for i := range x.n {
		x.row(happens, i)[i/64] &^= 1 << (i % 64)
	}
	x.hb = x.ofMarked(x.or(ppo, x.rfe, happens))
	x.hbStar = x.plus(x.hb)
	if x.reflexive(x.hbStar) {
		return false
	}
	x.hbStar = x.opt(x.hbStar)
	x.pb = x.seq(x.prop, strong, x.ofMarked(x.hbStar))
	pbStar := x.plus(x.pb)
	if x.reflexive(pbStar) {
		return false
	}
	x.strongAll, x.xb = strong, x.or(x.hb, x.pb)
	if x.hasGrace && !x.graceAllows(strong, x.opt(pbStar)) {
		return false
	}
	return x.plain == nil || x.plainAllows()
}

// carry extends dependencies by those through what the thread itself has stored and reads back.
func (x *execution) carry() {
	carried := x.seq(x.textData, x.and(x.rf, x.within))
	x.addr, x.data, x.rwdep = x.textAddr, x.textData, x.textCtrl
	if !x.empty(carried) {
		carried = x.star(carried)
		x.addr, x.data, x.rwdep = x.seq(carried, x.addr), x.seq(carried, x.data), x.seq(carried, x.rwdep)
	}
	x.dep = x.or(x.addr, x.data)
	x.rwdep = x.only(nil, x.or(x.rwdep, x.dep), x.stores)
}

// communicate makes the relations between accesses of a location from reads and ahead: that is, of
// each store, a bit for each store of its location that comes before it.
func (x *execution) communicate() {
	x.rf, x.co, x.fr = x.rel(), x.rel(), x.rel()
	for i := range x.events {
		a, from := &x.events[i], i
		if !a.memory() {
			continue
		}
		to := x.co
		if a.kind == read {
			to = x.fr
			if from = x.reads[i]; from >= 0 {
				x.add(x.rf, from, i)
			}
		}
		for k := range x.events {
			b := &x.events[k]
			if b.kind == write && b.location == a.location && (from < 0 || x.ahead[k]>>x.number[from]&1 != 0) {
				x.add(to, i, k)
			}
		}
	}
	x.rfe = x.minus(x.rf, x.within)
}
