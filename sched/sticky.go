package sched

import (
	"fmt"
	"math/bits"

	"kpsim/sim"
)

// Sticky lets the current mover go on, and switches once per Mean boundaries on
// average, to any other CPU or IPI. Without a Mean each run has its own: the length of
// a run halved 1 to n times, so there are runs with two switches and runs with one in
// every few boundaries. In a third of the runs a CPU that reaches watched text is also
// switched from, once in watchedMean times. Sources fire when an arrival is due.
//
// All other boundaries are held, so that each costs the machine a decrement.
type Sticky struct {
	seed   uint64
	fixed  int // mean of all runs; 0: each run has its own
	means  int // the number of values from which it is drawn
	length int
	biased bool // there is watched text, and it may be preferred

	rand   sim.Rand
	others uint64 // questions so far that were no Step questions
	change gaps
	text   bool // this run prefers watched text
	arrive arrivals
	holds  holds
}

// watchedMean: a CPU that stands before watched text is switched from once in this many
// times.
const watchedMean = 8

// stickyLeast is the least mean that is drawn: denser runs are Random's.
const stickyLeast = 4

// NewSticky returns a Sticky. Its runs may be taken in any order.
func NewSticky(p Params) *Sticky {
	p = p.normal()
	s := &Sticky{seed: p.Seed, fixed: p.Mean, length: int(p.Length), biased: p.Mean == 0 && !p.Unbiased,
		arrive: newArrivals(p)}
	s.means = max(bits.Len64(p.Length/stickyLeast)-1, 1)
	return s
}

// Begin implements Strategy: there is always another run.
func (s *Sticky) Begin(i uint64) bool {
	s.rand.Seed(s.seed, i)
	s.others, s.text = 0, false
	s.holds.begin()
	if s.change.mean = s.fixed; s.fixed == 0 {
		s.change.mean = max(s.length>>(1+s.rand.N(s.means)), stickyLeast)
		s.text = s.biased && s.rand.N(3) == 0
	}
	s.change.begin(&s.rand)
	s.arrive.begin()
	return true
}

// End implements Strategy.
func (s *Sticky) End(uint64) {}

func (s *Sticky) String() string {
	if s.change.mean == 0 {
		return "sticky"
	}
	return fmt.Sprintf("sticky %d", s.change.mean)
}

// Choose implements sim.Chooser.
func (s *Sticky) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step {
		s.others++
		return s.holds.answer(&s.rand, p), 0
	}

	at := p.Seq - s.others
	s.arrive.see(&s.rand, p, at)
	until := forever
	if p.Moves[3] != 0 {
		if m := s.holds.next(&s.rand, p, at); m != sim.NoMover {
			return p.Pick(m), 0
		}
		until = s.holds.wait(at)
	}
	if p.Moves[2] != 0 {
		due, first := s.arrive.wait(p)
		if due != sim.NoMover {
			s.arrive.take(&s.rand, due)
			return p.Pick(due), 0
		}
		until = min(until, first)
	}
	change := s.text && p.Watched && s.rand.N(watchedMean) == 0
	if at >= s.change.next {
		s.change.pass(&s.rand, at)
		change = true
	}
	if change {
		if n := calm(p); n > 1 { // otherwise there is no other mover, and this switch is lost
			return 1 + s.rand.N(n-1), 0
		}
	}
	if p.First >= sim.MoverDrain {
		return p.Pick(goesOn(p)), 0
	}
	hold = min(int(s.change.next-at), until) - 1 + s.holds.outlasts(s.arrive.outlasts())
	if s.text {
		hold &^= sim.Through
	}
	return 0, hold
}
