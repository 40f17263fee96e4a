package sched

import (
	"fmt"

	"kpsim/sim"
)

// Sticky lets whoever runs go on, and switches once per Mean boundaries in the
// mean, to any other CPU or IPI. Sources fire when an arrival is due. What is
// neither is held, so that a boundary costs the machine a decrement.
type Sticky struct {
	seed   uint64
	rand   sim.Rand
	others uint64 // questions so far that were no Step
	change gaps
	arrive arrivals
}

// NewSticky returns a Sticky. Its runs may be taken in any order.
func NewSticky(p Params) *Sticky {
	p = p.normal()
	return &Sticky{seed: p.Seed, change: gaps{mean: p.Mean}, arrive: newArrivals(p)}
}

// Begin implements Strategy: there is always another run.
func (s *Sticky) Begin(i uint64) bool {
	s.rand.Seed(s.seed, i)
	s.others = 0
	s.change.begin(&s.rand)
	s.arrive.begin(&s.rand)
	return true
}

// End implements Strategy.
func (s *Sticky) End(uint64) {}

func (s *Sticky) String() string { return fmt.Sprintf("sticky %d", s.change.mean) }

// Choose implements sim.Chooser.
func (s *Sticky) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step {
		s.others++
		return other(&s.rand, p), 0
	}

	at := p.Seq - s.others
	if s.arrive.due(p, at) {
		return s.arrive.take(&s.rand, p, at), 0
	}
	if at >= s.change.next {
		s.change.pass(&s.rand, at)
		if n := calm(p); n > 1 { // else there is nobody to switch to, and this one is lost
			return 1 + s.rand.N(n-1), 0
		}
	}

	until := s.change.next
	if s.arrive.next > at { // else one is due, and waits for the moves to change
		until = min(until, s.arrive.next)
	}
	return 0, int(until - at - 1)
}
