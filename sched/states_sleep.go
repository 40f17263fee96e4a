package sched

import (
	"math/bits"

	"kpsim/sim"
)

// Sleep makes the search put movers to sleep. A mover that went on at a state, in every
// possible way, sleeps during the other movers' steps until one of them conflicts with
// what it did. Until then it leads to nothing new, because it leads to what was already
// run, with commuting steps exchanged. If a state is reached again, and a mover is
// awake that slept each time before, it is tried then (Godefroid, "Partial-order
// methods for the verification of concurrent systems", LNCS 1032, 1996, chapter 5).
//
// With Sleep the number of schedules isn't known, and a schedule without an end may be
// cut short without being run round.
func (s *States) Sleep() { s.sleeps = true }

// A bed holds the sleepers at a state on the way of the run. Sets of movers have a bit
// for the number of each.
type bed struct {
	first sim.Mover // the mover of alternative 0
	moves sim.Moves
	todo  uint64    // the movers to try, including the one that is being tried
	later uint64    // the movers to try when the state has been left, as if reached again
	sleep []dormant // the movers that were asleep on arrival
	done  []dormant // the movers that were tried
	pool  []uint32  // the storage of done
	tried stretch   // the steps of the mover that is being tried, in all the runs that it led to
}

// A dormant is a mover, and the steps made when it went on.
type dormant struct {
	mover uint8
	stretch
}

// A stretch is the steps from one state to the next, and their movers: the one that was chosen, and those that went
// on after it without a question.
type stretch struct {
	footprint
	by uint64
}

func (t *stretch) clear() {
	t.footprint.clear()
	t.by = 0
}

func (t *stretch) commutes(o *stretch) bool {
	return t.by&o.by == 0 && t.footprint.commutes(&o.footprint)
}

// setOff begins a stretch at point i.
func (s *States) setOff(i int) {
	s.last, s.arrived = i, false
	s.since.clear()
}

// note adds a step to the stretch.
func (s *States) note(mv sim.Mover, touched []sim.Touch) {
	s.since.by |= 1 << s.conflicts.numberOf(mv)
	for _, t := range touched {
		s.since.touch(s.conflicts.objects.of(t.Object), t.Write)
	}
}

// arrive ends the stretch: it is one of those that the mover tried at the last state leads to.
func (s *States) arrive() {
	s.arrived = true
	if s.last >= 0 {
		b := &s.beds[s.last]
		b.tried.add(&s.since.footprint)
		b.tried.by |= s.since.by
	}
}

// ended is called at the end of a run, which commutes with nothing.
func (s *States) ended() {
	if !s.arrived {
		s.since.all = true
		s.arrive()
	}
}

// lieDown makes the bed of the state that the run has reached. A mover sleeps there if it slept at the last state, or
// was tried there, and its steps commute with those made since. A mover that can't move is awake: it could move if
// nothing had conflicted with it.
func (s *States) lieDown(p *sim.Point) {
	for len(s.beds) <= len(s.points) {
		s.beds = append(s.beds, bed{})
	}
	b := &s.beds[len(s.points)]
	b.first, b.moves = p.First, p.Moves
	b.todo, b.later = s.conflicts.numbers(&p.Moves), 0
	b.sleep, b.done, b.pool = b.sleep[:0], b.done[:0], b.pool[:0]
	b.tried.clear()
	if s.last >= 0 {
		if len(s.since.list) == 0 && !has(p, s.points[s.last].mover) {
			s.since.all = true // the reason why it stopped isn't known
		}
		was := &s.beds[s.last]
		b.fallAsleep(was.sleep, &s.since)
		b.fallAsleep(was.done, &s.since)
	}
	s.arrive()
}

func (b *bed) fallAsleep(list []dormant, since *stretch) {
	for i := range list {
		if d := &list[i]; b.todo>>d.mover&1 != 0 && d.commutes(since) {
			b.sleep = append(b.sleep, *d)
		}
	}
}

// wakes finds the movers to try at the state that the run has reached, and reports
// whether there are any.
func (s *States) wakes(k lanes, was *seen, again bool) bool {
	b := &s.beds[len(s.points)]
	asleep := uint64(0)
	for i := range b.sleep {
		asleep |= 1 << b.sleep[i].mover
	}
	if !again {
		was.asleep = asleep
		if b.todo &^= asleep; b.todo == 0 {
			s.seen[k] = *was
		}
		return b.todo != 0
	}
	missing := was.asleep &^ asleep
	if missing == 0 {
		return false
	}
	was.asleep &= asleep
	if was.open { // the way to it hasn't been left yet
		i := 0
		for s.points[i].state != k {
			i++
		}
		s.beds[i].later |= missing
		s.seen[k] = *was
		return false
	}
	b.todo = missing
	b.keepAsleep(was.asleep)
	return true
}

// keepAsleep wakes all sleepers except those of a set.
func (b *bed) keepAsleep(set uint64) {
	kept := b.sleep[:0]
	for _, d := range b.sleep {
		if set>>d.mover&1 != 0 {
			kept = append(kept, d)
		}
	}
	b.sleep = kept
}

// retire puts the mover that was tried at point i to sleep, and makes the next one the
// answer to try. It returns false if there is none.
func (s *States) retire(i int) bool {
	b := &s.beds[i]
	d := dormant{s.conflicts.numberOf(s.points[i].mover), b.tried}
	from := len(b.pool)
	b.pool = append(b.pool, b.tried.list...)
	d.list = b.pool[from:len(b.pool):len(b.pool)]
	b.done = append(b.done, d)
	b.tried.clear()
	if b.todo &^= 1 << d.mover; b.todo == 0 {
		if b.later == 0 {
			return false
		}
		b.todo, b.later = b.later, 0
		b.keepAsleep(s.seen[s.points[i].state].asleep)
		b.done = b.done[:0] // they were tried while those slept
	}
	s.points[i].pick = b.pick(&s.conflicts)
	return true
}

// pick returns the answer of a mover to try, alternative 0 if possible.
func (b *bed) pick(c *conflicts) int {
	if b.todo>>c.numberOf(b.first)&1 != 0 {
		return 0
	}
	p := sim.Point{First: b.first, Moves: b.moves, N: sim.Movers}
	return alternative(&p, c.movers[bits.TrailingZeros64(b.todo)])
}

// triedOf returns how many movers were tried, and how many there are to try.
func (b *bed) triedOf() (tried, of int) {
	return len(b.done), len(b.done) + bits.OnesCount64(b.todo|b.later)
}
