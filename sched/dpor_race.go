package sched

import (
	"math/bits"
	"slices"

	"kpsim/sim"
)

// A footprint is the set of objects that an event touches: their numbers shifted left
// by one, plus 1 for a write. The masks have a bit for 64 objects each.
type footprint struct {
	list          []uint32
	reads, writes uint64
	all           bool // everything: it commutes with nothing
}

func (fp *footprint) clear() { *fp = footprint{list: fp.list[:0]} }

// touch adds an object.
func (fp *footprint) touch(object int32, write bool) {
	bit := uint64(1) << (object & 63)
	t := uint32(object) << 1
	if write {
		t |= 1
		fp.writes |= bit
	} else {
		fp.reads |= bit
	}
	for i := range fp.list {
		if fp.list[i]>>1 == uint32(object) {
			fp.list[i] |= t
			return
		}
	}
	fp.list = append(fp.list, t)
}

// add adds the objects of another footprint.
func (fp *footprint) add(o *footprint) {
	fp.all = fp.all || o.all
	for _, t := range o.list {
		fp.touch(int32(t>>1), t&1 != 0)
	}
}

// commutes reports whether no object is touched by both and written by one.
func (fp *footprint) commutes(o *footprint) bool {
	if fp.all || o.all {
		return false
	}
	if fp.writes&(o.reads|o.writes)|fp.reads&o.writes == 0 {
		return true
	}
	for _, s := range fp.list {
		for _, t := range o.list {
			if s>>1 == t>>1 && (s|t)&1 != 0 {
				return false
			}
		}
	}
	return true
}

// accessed is one event's touch of an object.
type accessed struct {
	event int32
	write bool
	under int32 // index in the list of the last write before it, -1 for none
}

// A race is a pair of conflicting events of different movers without an event between
// them that the first comes before and that comes before the second.
type race struct{ first, second int32 }

// clock returns the clock of event k.
func (f *Full) clock(k int32) []uint32 {
	return f.clocks[int(k)*f.width : int(k)*f.width+f.width]
}

// before reports whether event i is event k or comes before it: k, directly or through
// other events, has seen what i made.
func (f *Full) before(i, k int32) bool {
	e := &f.events[i]
	return f.clocks[int(k)*f.width+int(e.mover)] >= e.nth
}

// widen doubles the width of clocks.
func (f *Full) widen() {
	wide := make([]uint32, 2*f.width*len(f.nodes))
	for k := range f.nodes {
		copy(wide[2*f.width*k:], f.clock(int32(k)))
	}
	f.clocks, f.width = wide, 2*f.width
}

// record notes what event k, just made, has touched, which events it comes after, and
// which it races with.
func (f *Full) record(k int, touched []sim.Touch) {
	e := &f.events[k]
	e.fp.clear()
	for _, t := range touched {
		e.fp.touch(f.objects.of(t.Object), t.Write)
	}
	f.know()
	if interrupts(f.movers[e.mover]) {
		f.learned[e.mover].add(&e.fp)
	}
	if f.every {
		e.fp.all = len(touched) == 0 // the reason why it stopped isn't known
		return
	}
	e.prev = f.last[e.mover]
	f.last[e.mover] = int32(k)
	f.arrange(int32(k), int32(k))
	for _, i := range f.cand {
		f.races = append(f.races, race{i, int32(k)})
	}
	for _, t := range e.fp.list {
		list := f.access[t>>1]
		under := int32(-1)
		if n := len(list); n > 0 {
			if under = list[n-1].under; list[n-1].write {
				under = int32(n - 1)
			}
		}
		f.access[t>>1] = append(list, accessed{int32(k), t&1 != 0, under})
	}
}

// arrange computes the clock of event k, made after the events before number at. Its
// mover, prev and footprint are known. It leaves in cand the events that it races with.
func (f *Full) arrange(k, at int32) {
	e := &f.events[k]
	clock := f.clock(k)
	if e.prev < 0 {
		clear(clock)
		e.nth = 1
	} else {
		copy(clock, f.clock(e.prev))
		e.nth = f.events[e.prev].nth + 1
	}
	f.cand = f.cand[:0]
	for _, t := range e.fp.list {
		list := f.access[t>>1]
		n := len(list)
		for n > 0 && list[n-1].event >= at {
			n--
		}
		if n == 0 {
			continue
		}
		from := int(list[n-1].under) // the last write
		if list[n-1].write {
			from = n - 1
		}
		if t&1 == 0 { // a read conflicts with the last write only
			n = from + 1
		}
		seen := uint64(1) << e.mover
		for i := n - 1; i >= max(from, 0); i-- { // the last event of each mover
			a := list[i].event
			if m := f.events[a].mover; seen>>m&1 == 0 {
				seen |= 1 << m
				if !f.before(a, k) {
					f.cand = append(f.cand, a)
				}
			}
		}
	}
	f.order(k)
}

// order makes event k come after all candidates, the latest first, and keeps those that
// it doesn't come after by then: they race with it.
func (f *Full) order(k int32) {
	c := f.cand
	for i := 1; i < len(c); i++ {
		for j := i; j > 0 && c[j] > c[j-1]; j-- {
			c[j], c[j-1] = c[j-1], c[j]
		}
	}
	clock := f.clock(k)
	racing := c[:0]
	for _, i := range c {
		if f.before(i, k) {
			continue
		}
		racing = append(racing, i)
		for m, n := range f.clock(i) {
			clock[m] = max(clock[m], n)
		}
	}
	f.cand = racing
	clock[f.events[k].mover] = f.events[k].nth
}

// conflictsWithAll makes event k, the last one, conflict with every other.
func (f *Full) conflictsWithAll(k int) {
	f.events[k].fp.all = true
	if f.every {
		return
	}
	f.cand = f.cand[:0]
	for m, i := range f.last {
		if i >= 0 && m != int(f.events[k].mover) {
			f.cand = append(f.cand, i)
		}
	}
	f.order(int32(k))
	for _, i := range f.cand {
		f.races = append(f.races, race{i, int32(k)})
	}
}

// truncate forgets the events from number k on.
func (f *Full) truncate(k int) {
	for i := f.n - 1; i >= k && !f.every; i-- {
		e := &f.events[i]
		for _, t := range e.fp.list {
			f.access[t>>1] = f.access[t>>1][:len(f.access[t>>1])-1]
		}
		f.last[e.mover] = e.prev
	}
	f.n = min(f.n, k)
}

// stopped prescribes, for each event that has stopped movers, that these move before it, as they could have. The end
// of the run stops all movers. Before such a move come all events that don't come after the stopping event; so each
// run contributes something of its own, unless it equals the one before.
func (f *Full) stopped() {
	for k := range int32(f.n) {
		after := uint64(0)
		if int(k)+1 < f.n || f.blocked {
			after = f.nodes[k+1].enabled
		}
		nd := &f.nodes[k]
		gone := nd.enabled &^ after &^ (1 << f.events[k].mover)
		if gone == 0 {
			continue
		}
		i := int32(max(f.kept-1, 0))
		for i < int32(f.n) && i != k && (i < k || f.before(k, i)) {
			i++
		}
		for ; i < int32(f.n) && gone != 0; gone &= gone - 1 {
			x := f.whatIf(uint8(bits.TrailingZeros64(gone)))
			if fp := &f.learned[f.events[x].mover]; len(fp.list) > 0 && !f.events[k].fp.all {
				f.events[x].fp.add(fp)
			} else {
				f.events[x].fp.all = true // as far as is known
			}
			f.prescribe(k, x)
		}
	}
}

// whatIf returns the number of an event that wasn't made.
func (f *Full) whatIf(mover uint8) (x int32) {
	x = int32(f.n) + 1
	e := &f.events[x]
	e.mover, e.answers = mover, e.answers[:0]
	e.fp.clear()
	return x
}

// reverse prescribes that the second event of a race come before the first. The second
// is made, or to be made, after the events before number at. It returns false if that
// is impossible, because the second's mover can't move there either.
func (f *Full) reverse(first, second, at int32) bool {
	able := f.nodes[first].enabled>>f.events[second].mover&1 != 0
	for i := first + 1; i < at && !able; i++ { // or if another event enables it
		able = !f.before(first, i) && f.before(i, second)
	}
	if able {
		// Before an interrupt that was delivered to it a CPU doesn't make the steps that it made afterwards; its
		// steps then aren't known.
		fp := &f.events[second].fp
		was := fp.all
		fp.all = was || f.movers[f.events[first].mover] >= sim.MoverIPI &&
			f.movers[f.events[second].mover] < sim.MoverIPI
		f.prescribe(first, second)
		fp.all = was
	}
	return able
}

// prescribe prescribes a run that goes another way where event first was chosen: first
// everything that doesn't come after that event, and then the second. It prescribes
// nothing if that leads to nothing new, because the run could just as well begin with a
// sleeper.
func (f *Full) prescribe(first, second int32) {
	nd := &f.nodes[first]
	v := f.v[:0]
	for i := first + 1; i < int32(f.n); i++ {
		if i != second && !f.before(first, i) {
			v = append(v, i)
		}
	}
	v = append(v, second)
	f.v = v
	// With interrupts, a sleeper may commute here with events that weren't made.
	for _, list := range [...][]sleeper{nd.sleep, nd.done} {
		for i := range list {
			if at, ok := f.mayBegin(v, list[i].mover, &list[i].fp); ok && (at >= 0 || !f.interrupts) {
				return
			}
		}
	}
	if f.insert(&nd.wake, v) {
		f.stats.Inserted++
		f.blame(&f.events[first].fp, &f.events[second].fp)
	}
}

// blame counts at which objects two events conflict.
func (f *Full) blame(a, b *footprint) {
	for _, s := range a.list {
		for _, t := range b.list {
			if s>>1 == t>>1 && (s|t)&1 != 0 {
				f.raced[t>>1]++
			}
		}
	}
}

// A failed event was prescribed and couldn't be made.
type failed struct {
	mover uint8
	at    int32
	fp    footprint
}

// fail notes that a mover couldn't move at node at, where it should have made an event
// that touches fp.
func (f *Full) fail(m uint8, fp *footprint, at int) {
	if fp.all {
		return // nothing is known about it
	}
	if len(f.failures) < cap(f.failures) {
		f.failures = f.failures[:len(f.failures)+1]
	} else {
		f.failures = append(f.failures, failed{})
	}
	x := &f.failures[len(f.failures)-1]
	x.mover, x.at = m, int32(at)
	x.fp.clear()
	x.fp.add(fp)
}

// lookBack is called when mover m can't move at node at, where it should make an event
// that touches fp: a lock is held, or interrupts are off. It finds the events that that
// event would race with there, and reverses these races: the event that stopped the
// mover is one of them, or is found by looking back from there.
func (f *Full) lookBack(m uint8, fp *footprint, at int32) {
	if fp.all {
		return
	}
	x := f.whatIf(m)
	e := &f.events[x]
	e.fp.add(fp)
	f.back = append(f.back[:0], at)
	for next := 0; next < len(f.back); next++ {
		at = f.back[next]
		e.prev = f.last[m]
		for e.prev >= at {
			e.prev = f.events[e.prev].prev
		}
		f.arrange(x, at)
		for _, i := range f.cand {
			if !f.reverse(i, x, at) && !slices.Contains(f.back, i) {
				f.back = append(f.back, i)
			}
		}
	}
}

// mayBegin reports whether the events of v could just as well begin with mover m, which
// would touch fp: its first event there, at v[at], comes after none of the others, or
// it has none there (at < 0). Its footprint must commute with everything before: the
// last event of v was made in another state, and may have touched less.
func (f *Full) mayBegin(v []int32, m uint8, fp *footprint) (at int, ok bool) {
	at = -1
	for i, k := range v {
		if f.events[k].mover == m {
			at = i
			break
		}
	}
	first := v
	if at >= 0 {
		first = v[:at]
	}
	for _, i := range first {
		if !fp.commutes(&f.events[i].fp) || at >= 0 && v[at] < int32(f.n) && f.before(i, v[at]) {
			return 0, false
		}
	}
	return at, true
}
