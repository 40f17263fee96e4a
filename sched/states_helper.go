package sched

import "kpsim/sim"

// A Helper makes runs for a team, on a machine of its own. It has to observe the steps.
type Helper struct {
	States
	t        *Team
	portable Portable
	claims   Claim
	path     []*trail // the last run, up to where it branched off
	restored []*trail
	found    []*trail
	stopped  bool      // at a state that was reached before
	room     int       // how many new states it may add
	asleep   []dormant // at the last state, and the movers that go to sleep when it is left
	cribs    []*crib   // by state of the run
}

// mostNew is how many new states a helper's run goes through.
const mostNew = 64

// NewHelper returns a helper, whose machine is m.
func (t *Team) NewHelper(m Portable) *Helper {
	h := &Helper{t: t, portable: m}
	h.m, h.helper, h.sleeps = m, h, t.s.sleeps
	return h
}

// Know gives the helper the search's knowledge of conflicts. Call it at the beginning, and when the search has learnt
// something.
func (h *Helper) Know() { h.conflicts.copy(&h.t.s.conflicts) }

// Learnt reports whether the search has learnt a conflict since the last call.
func (t *Team) Learnt() bool {
	was := t.s.conflicts.learnt
	t.s.conflicts.learnt = false
	return was
}

// Learnt reports whether the run has shown a conflict that the search didn't know. Then the helper's results can't be
// used until it knows what the search knows.
func (h *Helper) Learnt() bool { return h.conflicts.learnt }

// Next returns a branch for the helper to try, nil if there is none now. It may be called only where the team's
// methods may.
func (h *Helper) Next() *Branch {
	for b := h.t.list.next; b != &h.t.list; b = b.next {
		if b.stage == toTry {
			b.stage, h.claims = trying, h.t.claims
			h.asleep = h.t.sleepers(b.way, h.asleep[:0])
			return b
		}
	}
	return nil
}

// Begin begins the run that explores a branch.
func (h *Helper) Begin(b *Branch) {
	n, same := b.way.depth, len(h.path) // what is beyond the length is of earlier paths
	if cap(h.path) < n {
		h.path = append(h.path[:cap(h.path)], make([]*trail, n-cap(h.path))...)
	}
	h.path = h.path[:n]
	at := n
	for w := b.way; w != nil; w = w.before {
		if at--; at < same && h.path[at] == w {
			break
		}
		h.path[at] = w
	}
	h.points = h.points[:min(at, len(h.points))]
	for i := len(h.points); i < n; i++ {
		h.points = append(h.points, h.path[i].point)
	}
	h.restored = restore(h.portable, h.path, h.restored)
	h.found, h.stopped, h.room, h.cribs = nil, false, mostNew, h.cribs[:0]
	h.next = 0
	h.States.Begin(0)
}

// come answers at a state. The run ends at a state that was reached before, unless a mover is
// awake that was asleep then.
func (h *Helper) come(p *sim.Point, k lanes) (pick int) {
	more := false
	if h.sleeps {
		pick, more = h.lie(p, k)
		h.mover = p.Mover(pick)
	} else {
		more, _ = h.claims(k.hi, k.lo, 0)
	}
	n := len(h.points)
	h.m.Keep(n)
	h.points = append(h.points, statePoint{seq: p.Seq, n: p.N, pick: pick, kind: p.Kind, state: k, mover: h.mover})
	if h.room--; h.room > 0 && more {
		return pick
	}
	h.stopped, h.over = true, true
	return sim.Enough
}

// End is called after the run.
func (h *Helper) End() {
	n, cribs := len(h.path), h.cribs
	before := h.path[n-1]
	if len(h.points) > n {
		h.found = make([]*trail, 0, len(h.points)-n)
	}
	for i := n; i < len(h.points); i++ {
		w := &trail{before: before, depth: i + 1, point: h.points[i]}
		if w.point.isState() {
			w.kept = h.portable.Kept(i)
			if h.sleeps {
				w.crib, cribs = cribs[0], cribs[1:]
			}
		}
		h.found = append(h.found, w)
		before = w
	}
	h.restored = append(h.restored[:n], h.found...)
	h.points = h.points[:n]
}

// lie is lieDown and wakes for a helper: it answers with the mover to be tried first. ok is false if there is none.
func (h *Helper) lie(p *sim.Point, k lanes) (pick int, ok bool) {
	c := &crib{first: p.First, moves: p.Moves, since: h.since.clone()}
	for i := len(h.points) - 1; i >= 0; i-- {
		if x := &h.points[i]; x.isState() {
			h.since.all = h.since.all || len(h.since.list) == 0 && !has(p, x.mover)
			break
		}
	}
	b := bed{first: p.First, moves: p.Moves, todo: h.conflicts.numbers(&p.Moves)}
	b.fallAsleep(h.asleep, &h.since)
	asleep := uint64(0)
	for i := range b.sleep {
		asleep |= 1 << b.sleep[i].mover
	}
	fresh, was := h.claims(k.hi, k.lo, asleep)
	if c.up = b.todo &^ asleep; !fresh {
		c.up = was &^ asleep
		b.keepAsleep(was)
	}
	c.sleep = b.sleep
	h.asleep = append(h.asleep[:0], c.sleep...)
	h.cribs = append(h.cribs, c)
	h.setOff(len(h.points))
	if b.todo = c.up; b.todo == 0 {
		return 0, false
	}
	return b.pick(&h.conflicts), true
}
