package sched

import (
	"fmt"
	"math/bits"

	"kpsim/sim"
)

// Overtake turns conflicting actions around. It learns which CPUs touch which objects, one of them writing, and draws
// such a pair for each run: a CPU that is about to touch the object is held there until the other one has touched it;
// then that one is held, while the first goes on alone for some time. So the value that a CPU has read is old when it
// uses it, because of the one change that another CPU made in between. Sticky decides everything else.
//
// It is for programs with many steps and few conflicts, such as instructions: the number of pairs doesn't grow with
// the length of a run. It observes each step, and knows the next one from Point.Ahead.
type Overtake struct {
	seed        uint64
	length      int
	next, every uint64 // run number, and the distance to the next one
	rand        sim.Rand
	walk        *Sticky
	run         uint32 // counts runs

	objects objectIndex
	heads   []int32 // by object: its first actor, or -1
	actors  []actor
	pairs   []pair
	known   map[pair]bool
	asked   sim.Mover  // the mover that the last question chose
	ahead   sim.Object // the object that it was expected to touch

	goals int // the pairs left in this run, this one included; 0: no CPU is held
	goal  pair
	at    uint32 // the touch of the goal's object by its first CPU at which it is held
	phase phase
	left  int // questions until the phase is given up
}

// A pair is the CPU that is to be overtaken and the one that overtakes, as indices of
// their actors on one object.
type pair struct{ late, early int32 }

// An actor is a CPU that touches an object.
type actor struct {
	object   sim.Object
	next     int32 // of the same object, -1: none
	cpu      sim.Mover
	writes   bool
	foretell bool   // a touch of it was known before the step
	run      uint32 // the run that n is for
	n, most  uint32 // touches in this run, and in any
}

type phase uint8

const (
	approach  phase = iota // all go on
	holdLate               // the first CPU is held before its touch
	holdEarly              // the second is held after its touch
)

// mostGoals is how many pairs of a run are turned around at most, one after another.
const mostGoals = 3

// newOvertake returns an Overtake. Its runs must be taken in order.
func newOvertake(p Params) *Overtake {
	p = p.normal()
	s := &Overtake{seed: p.Seed, length: int(p.Length), next: p.Shard, every: p.Shards, known: make(map[pair]bool),
		asked: sim.NoMover}
	p.Seed = sim.Mix(p.Seed ^ 1)
	s.walk = NewSticky(p)
	return s
}

// Begin implements Strategy: there is always another run.
func (s *Overtake) Begin(i uint64) bool {
	if i != s.next {
		sim.Bug("overtake: run %d was begun when run %d was next", i, s.next)
	}
	s.next += s.every
	s.rand.Seed(s.seed, i)
	s.walk.Begin(i)
	s.run++
	s.asked, s.ahead = sim.NoMover, 0
	s.goals = 0
	if len(s.pairs) > 0 {
		s.goals = 1 + s.rand.N(mostGoals)
		s.aim()
	}
	return true
}

// aim draws the next pair to be turned around.
func (s *Overtake) aim() {
	s.goal = s.pairs[s.rand.N(len(s.pairs))]
	s.phase = approach
	a := &s.actors[s.goal.late]
	s.at = uint32(s.rand.N(int(a.most)))
	if a.run == s.run { // among those left
		s.at = a.n + uint32(s.rand.N(int(max(a.most, a.n+1)-a.n)))
	}
}

// End implements Strategy.
func (s *Overtake) End(asked uint64) { s.walk.End(asked) }

func (s *Overtake) String() string { return fmt.Sprintf("overtake, %v", s.walk) }

// Plans implements sim.Planner.
func (*Overtake) Plans() {}

// Stepped implements sim.Observer.
func (s *Overtake) Stepped(mv sim.Mover, touched []sim.Touch) {
	if mv >= sim.MaxCPUs {
		return
	}
	expected := sim.Object(0)
	if mv == s.asked {
		expected = s.ahead
	}
	s.asked = sim.NoMover
	for _, t := range touched {
		i := s.actor(t.Object, mv)
		a := &s.actors[i]
		if a.run != s.run {
			a.run, a.n = s.run, 0
		}
		a.n++
		a.most = max(a.most, a.n)
		if t.Write && !a.writes || t.Object == expected && !a.foretell {
			a.writes = a.writes || t.Write
			a.foretell = a.foretell || t.Object == expected
			s.meet(i)
		}
		if s.goals > 0 && s.phase == holdLate && i == s.goal.early {
			s.phase, s.left = holdEarly, 1<<s.rand.N(bits.Len(uint(s.length)))
		}
	}
}

// actor returns the index of a CPU's actor on an object.
func (s *Overtake) actor(o sim.Object, cpu sim.Mover) int32 {
	n := s.objects.of(o)
	for int(n) >= len(s.heads) {
		s.heads = append(s.heads, -1)
	}
	for i := s.heads[n]; i >= 0; i = s.actors[i].next {
		if s.actors[i].cpu == cpu {
			return i
		}
	}
	s.actors = append(s.actors, actor{object: o, cpu: cpu, next: s.heads[n]})
	s.heads[n] = int32(len(s.actors) - 1)
	s.meet(s.heads[n])
	return s.heads[n]
}

// meet finds the pairs of an actor about which something new is known.
func (s *Overtake) meet(i int32) {
	for j := s.heads[s.objects.of(s.actors[i].object)]; j >= 0; j = s.actors[j].next {
		a, b := &s.actors[i], &s.actors[j]
		if i == j || !a.writes && !b.writes {
			continue
		}
		if a.foretell {
			s.add(pair{i, j})
		}
		if b.foretell {
			s.add(pair{j, i})
		}
	}
}

func (s *Overtake) add(p pair) {
	if !s.known[p] {
		s.known[p] = true
		s.pairs = append(s.pairs, p)
	}
}

// Choose implements sim.Chooser. It never holds.
func (s *Overtake) Choose(p *sim.Point) (pick, hold int) {
	pick, _ = s.walk.Choose(p)
	if p.Kind != sim.Step {
		return pick, 0
	}
	m := p.Mover(pick)
	if s.goals > 0 && m < sim.MoverSource {
		m = s.direct(p, m)
		pick = p.Pick(m)
	}
	s.asked, s.ahead = m, 0
	if p.Ahead != nil && m < sim.MaxCPUs {
		s.ahead = p.Ahead[m].Object
	}
	return pick, 0
}

// direct returns the mover that steps in place of m, on the way to the goal.
func (s *Overtake) direct(p *sim.Point, m sim.Mover) sim.Mover {
	late, early := &s.actors[s.goal.late], &s.actors[s.goal.early]
	if s.phase == approach {
		if p.Ahead == nil || m != late.cpu || p.Ahead[m].Object != late.object ||
			s.at > 0 && (late.run != s.run || late.n < s.at) {
			return m
		}
		s.phase, s.left = holdLate, s.length
	}
	if s.left--; s.left < 0 {
		s.done()
		return m
	}
	if s.phase == holdEarly {
		return prefer(p, late.cpu, early.cpu, m)
	}
	if p.Ahead[late.cpu].Object != late.object { // an interrupt's handler must end first
		return prefer(p, early.cpu, sim.NoMover, m)
	}
	if m = prefer(p, early.cpu, late.cpu, m); m == late.cpu { // only it can go on: the other waits for it
		s.done()
	}
	return m
}

// done goes on to the next pair, if there is one.
func (s *Overtake) done() {
	if s.goals--; s.goals > 0 {
		s.aim()
	}
}

// prefer returns a CPU, or its IPI, if one of them can move; otherwise m if it isn't one of last's, or any other such
// mover; otherwise last's.
func prefer(p *sim.Point, cpu, last, m sim.Mover) sim.Mover {
	for w := range sim.Mover(2) {
		if p.Moves[w]>>cpu&1 != 0 {
			return cpu + w*sim.MaxCPUs
		}
	}
	if last == sim.NoMover || m%sim.MaxCPUs != last {
		return m
	}
	for w := range sim.Mover(2) {
		if set := p.Moves[w] &^ (1 << last); set != 0 {
			return sim.Mover(bits.TrailingZeros64(set)) + w*sim.MaxCPUs
		}
	}
	return m
}
