package sched

import (
	"slices"

	"kpsim/sim"
)

// A crib is a helper's knowledge of the sleepers at a state. The search makes the state's bed itself: a branch that
// it doesn't want is dropped, and a missing one is made when it asks for it. So a crib decides only what is tried
// ahead. Its lists are never changed.
type crib struct {
	first sim.Mover // the mover of answer 0
	moves sim.Moves
	since stretch   // from the previous state
	sleep []dormant // asleep on arrival, as far as was known
	up    uint64    // the movers to try
	done  []tucked  // the answers that were tried ahead
}

// A tucked is an answer that was tried.
type tucked struct {
	pick int
	dormant
}

// mover returns the mover of an answer.
func (c *crib) mover(pick int) sim.Mover {
	p := sim.Point{First: c.first, Moves: c.moves, N: sim.Movers}
	return p.Mover(pick)
}

// cribOf is the crib of a state whose bed the search has made.
func cribOf(b *bed) *crib { return &crib{first: b.first, moves: b.moves} }

// picks are the answers whose movers are in a set, except one, in the order in which the search tries them.
func (t *Team) picks(way *trail, movers uint64, but int) (list []int) {
	c, number := way.crib, &t.s.conflicts.number
	for pick := range way.point.n {
		if n := number[c.mover(pick)]; pick != but && n != 0 && movers>>(n-1)&1 != 0 {
			list = append(list, pick)
		}
	}
	slices.SortFunc(list, func(x, y int) int {
		if t.before(c, x, y) {
			return -1
		}
		return 1
	})
	return list
}

// expected makes the branches that the search is expected to want at a state that a helper has reached. last: the
// helper went no further.
func (t *Team) expected(w *trail, after *Branch, last bool) []*Branch {
	but := w.point.pick
	if last {
		but = -1
	}
	return t.branchesTo(w, after, t.picks(w, w.crib.up, but))
}

// turned reports whether the search continues from state i of a branch, its last point, as the helper did. If not,
// the helper's results after it are kept as a branch of their own, and the current branch becomes that of the
// search's answer.
func (t *Team) turned(b *Branch, i int) bool {
	n, w := len(t.ways)-1, b.found[i]
	last := i == len(b.found)-1 && !b.ended
	pick := t.s.points[n].pick
	if pick == w.point.pick && !last {
		return false
	}
	if !last {
		by := &Branch{way: w, stage: tried, epoch: t.epoch, found: b.found[i+1:], open: b.open[i+1:], ended: b.ended}
		t.insert(by, &t.list)
		t.open[n] = append(t.open[n], by)
	}
	after := &t.list
	for _, p := range t.picks(w, t.s.beds[n].todo, -1) {
		at := slices.IndexFunc(t.open[n], func(o *Branch) bool { return o.way.point.pick == p })
		if at < 0 {
			t.open[n] = append(t.open[n], t.branchesTo(w, after, []int{p})...)
			at = len(t.open[n]) - 1
		}
		after = t.open[n][at]
	}
	t.take(n, pick)
	return true
}

// lieDown makes the bed of a state that a helper has reached, as if the search had.
func (t *Team) lieDown(c *crib) {
	s := t.s
	last := len(s.points) - 1
	for last >= 0 && !s.points[last].isState() {
		last--
	}
	s.setOff(last)
	s.since.add(&c.since.footprint)
	s.since.by = c.since.by
	s.lieDown(&sim.Point{First: c.first, Moves: c.moves, N: sim.Movers})
}

// tell records, at the states that a branch leads from and to, the steps made after them.
func (t *Team) tell(b *Branch) {
	at := b.way.state()
	for _, w := range b.found {
		if w.crib == nil {
			continue
		}
		if at != nil {
			t.tuck(at, &w.crib.since)
		}
		at = w
	}
}

// state returns the last state of a way, nil if it has none with known sleepers.
func (w *trail) state() *trail {
	for w != nil && w.crib == nil {
		w = w.before
	}
	return w
}

// tuck records the steps made when the mover of w's answer went on.
func (t *Team) tuck(w *trail, did *stretch) {
	n := t.s.conflicts.number[w.crib.mover(w.point.pick)]
	if n == 0 {
		return
	}
	d := tucked{w.point.pick, dormant{n - 1, did.clone()}}
	i := slices.IndexFunc(w.crib.done, func(o tucked) bool { return o.pick == d.pick })
	if i < 0 {
		w.crib.done = append(w.crib.done, d)
		return
	}
	d.add(&w.crib.done[i].footprint)
	d.by |= w.crib.done[i].by
	w.crib.done[i] = d
}

// clone returns a stretch with a list of its own.
func (t *stretch) clone() stretch {
	c := *t
	c.list = slices.Clone(t.list)
	return c
}

// sleepers appends the movers that are asleep once the last state of a way is left by its answer.
func (t *Team) sleepers(way *trail, list []dormant) []dormant {
	w := way.state()
	if w == nil {
		return list
	}
	c := w.crib
	if n := w.depth - 1; n < len(t.ways) && t.ways[n].crib == c { // the search has reached it
		b := &t.s.beds[n]
		for _, from := range [2][]dormant{b.sleep, b.done} {
			for i := range from {
				list = append(list, dormant{from[i].mover, from[i].stretch.clone()})
			}
		}
	} else {
		list = append(list, c.sleep...)
	}
	for i := range c.done {
		if d := &c.done[i]; t.before(c, d.pick, w.point.pick) && !slices.ContainsFunc(list, func(o dormant) bool {
			return o.mover == d.mover
		}) {
			list = append(list, d.dormant)
		}
	}
	return list
}

// before reports whether the search tries one answer before another: the first one, and the
// others by their movers' numbers.
func (t *Team) before(c *crib, pick, other int) bool {
	number := &t.s.conflicts.number
	return other != 0 && (pick == 0 || number[c.mover(pick)] < number[c.mover(other)])
}
