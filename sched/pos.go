package sched

import (
	"math/bits"

	"kpsim/sim"
)

// POS is partial order sampling (Yuan, Yang and Gu, "Partial Order Aware Concurrency Sampling", CAV 2018). The next
// action of each mover has a random priority, and the highest goes first. After it, the mover's next action gets a
// new priority, and so does that of each other mover that is in a race with the action. So orders that don't matter
// aren't drawn, and no order that matters is much rarer than others: a step that is in a race with the last of k
// others comes after all of them with probability 1/(k+1), where the uniform walk has 2^-k.
//
// An action is a step that touches something shared: until a mover reaches the next one it keeps its priority. So POS
// observes each step. A mover's next action is known as far as the machine knows it (Point.Ahead).
//
// Sources fire at arrivals drawn for them.
type POS struct {
	seed   uint64
	rand   sim.Rand
	others uint64 // questions so far that were no Step questions
	arrive arrivals
	holds  holds

	priority [2 * sim.MaxCPUs]uint64 // of each mover's next action; 0: not drawn
	done     []sim.Touch             // by the steps since the last question
}

// newPOS returns a POS. Its runs may be taken in any order.
func newPOS(p Params) *POS {
	p = p.normal()
	return &POS{seed: p.Seed, arrive: newArrivals(p), done: make([]sim.Touch, 0, 64)}
}

// Begin implements Strategy: there is always another run.
func (s *POS) Begin(i uint64) bool {
	s.rand.Seed(s.seed, i)
	s.others = 0
	s.holds.begin()
	s.arrive.begin()
	clear(s.priority[:])
	s.done = s.done[:0]
	return true
}

// End implements Strategy.
func (s *POS) End(uint64) {}

func (s *POS) String() string { return "pos" }

// Stepped implements sim.Observer.
func (s *POS) Stepped(mv sim.Mover, touched []sim.Touch) {
	if len(touched) == 0 {
		return
	}
	if mv < 2*sim.MaxCPUs {
		s.priority[mv] = 0
	}
	s.done = append(s.done, touched...)
}

// Plans implements sim.Planner.
func (*POS) Plans() {}

// Choose implements sim.Chooser. It never holds.
func (s *POS) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step {
		s.others++
		return s.holds.answer(&s.rand, p), 0
	}
	at := p.Seq - s.others
	s.arrive.see(&s.rand, p, at)
	if p.Moves[3] != 0 {
		if m := s.holds.next(&s.rand, p, at); m != sim.NoMover {
			return p.Pick(m), 0
		}
	}
	if m, _ := s.arrive.wait(p); m != sim.NoMover {
		s.arrive.take(&s.rand, m)
		return p.Pick(m), 0
	}
	if p.Ahead != nil && len(s.done) > 0 {
		for set := p.Moves[0]; set != 0; set &= set - 1 {
			m := bits.TrailingZeros64(set)
			if s.races(p.Ahead[m]) {
				s.priority[m] = 0
			}
		}
		s.done = s.done[:0]
	}

	best, most := goesOn(p), uint64(0)
	for w, set := range p.Moves[:2] {
		for ; set != 0; set &= set - 1 {
			m := sim.Mover(w*sim.MaxCPUs + bits.TrailingZeros64(set))
			if s.priority[m] == 0 {
				s.priority[m] = s.rand.Uint64() | 1
			}
			if s.priority[m] > most {
				best, most = m, s.priority[m]
			}
		}
	}
	return p.Pick(best), 0
}

// races reports whether a touch conflicts with anything done since the last question.
func (s *POS) races(a sim.Touch) bool {
	if a.Object == 0 {
		return false
	}
	for _, t := range s.done {
		if t.Object == a.Object && (t.Write || a.Write) {
			return true
		}
	}
	return false
}
