package sched

import "kpsim/sim"

// Arriving is PCT's priorities with other ways to interrupt and to go on.
//
// In two thirds of the runs sources are no movers, but fire when an arrival of
// theirs is due. To interrupt a CPU at one certain boundary then costs a factor of
// twice the boundaries of that CPU, where PCT spends a change point and needs the
// right priorities besides. In the others they are movers as they are to PCT, and
// so fire where somebody is lowered.
//
// In half of the runs whoever goes on by default does, unless it was lowered: who
// waits is answered at once, and only change points break the default order. In
// the others all orders are as likely.
//
// A run has 2 to 14 change points, for a bug may need few or many. In a third of
// the runs each of them is as likely to be one of the boundaries at which a CPU
// stands before watched text. Who is lowered last is lowest of all, so that with
// many change points the movers take turns.
//
// It has no bound such as PCT's: an arrival may be drawn where its source can't
// fire, or beyond the end.
type Arriving struct {
	seed    uint64
	length  int // questions from which change points are drawn
	watched int // boundaries before watched text from which they are drawn; 0: none are

	rand   sim.Rand
	moving bool   // in this run sources are movers
	usual  bool   // in this run the default order stands
	others uint64 // questions so far that were no Step
	stood  uint64 // those of them before watched text
	priorities
	change changes // by the number of a Step question
	stand  changes // by the number of one before watched text
	arrive arrivals
}

// changeCounts are how many change points a run may have, each as likely.
var changeCounts = [...]int{2, 4, 8, 14}

// NewArriving returns an Arriving. Its runs may be taken in any order.
func NewArriving(p Params) *Arriving {
	p = p.normal()
	s := &Arriving{seed: p.Seed, length: int(p.Length), arrive: newArrivals(p)}
	if p.Shape != nil && !p.Unbiased {
		for i := range p.Shape.CPUs {
			s.watched += p.Shape.CPUs[i].Watched
		}
		s.watched += s.watched / 2 // other runs come to stand there more often
	}
	return s
}

// Begin implements Strategy: there is always another run.
func (s *Arriving) Begin(i uint64) bool {
	s.rand.Seed(s.seed, i)
	s.others, s.stood = 0, 0
	s.priorities.begin(&s.rand)
	s.arrive.begin()
	s.change.begin()
	s.stand.begin()
	s.moving, s.usual = s.rand.N(3) == 0, s.rand.N(2) == 0
	bias := s.watched > 0 && s.rand.N(3) == 0
	for i := range changeCounts[s.rand.N(len(changeCounts))] {
		if bias && s.rand.N(2) == 0 {
			s.stand.add(uint64(s.rand.N(s.watched)), i)
		} else {
			s.change.add(uint64(s.rand.N(s.length)), i)
		}
	}
	return true
}

// End implements Strategy.
func (s *Arriving) End(uint64) {}

func (s *Arriving) String() string { return "arriving" }

// Choose implements sim.Chooser.
func (s *Arriving) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step {
		s.others++
		return other(&s.rand, p), 0
	}
	at := p.Seq - s.others
	sources, until := p.Moves[2], forever
	if !s.moving {
		s.arrive.see(&s.rand, p, at)
		var due sim.Mover
		if due, until = s.arrive.wait(p); due != sim.NoMover {
			s.arrive.take(&s.rand, due)
			return pickOf(p, due), 0
		}
		sources = 0 // none fires unbidden but the one that the default schedule has
		if isSource(p.First) {
			sources = 1 << (p.First - sim.MoverSource)
		}
	}

	m := s.goes(p, sources)
	for s.change.next() <= at {
		s.change.pass()
		s.lower(m, changesMost-s.lows)
		m = s.goes(p, sources)
	}
	if p.Watched {
		for s.stand.next() <= s.stood {
			s.stand.pass()
			s.lower(p.First, changesMost-s.lows)
			m = s.goes(p, sources)
		}
		s.stood++
	}
	if m != p.First {
		return pickOf(p, m), 0
	}
	return 0, int(min(s.change.next()-at, uint64(until))) - 1
}

// goes returns who is to go on, of the CPUs, the IPIs and these sources.
func (s *Arriving) goes(p *sim.Point, sources uint64) sim.Mover {
	if s.usual && !s.lowered(p.First) {
		return p.First
	}
	return s.highest(p, sources)
}
