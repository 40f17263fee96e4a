package sched

import "kpsim/sim"

// Arriving is PCT with other ways to interrupt a CPU and to choose the next mover.
//
// In two thirds of the runs sources are no movers; they fire when an arrival is due. To
// interrupt a CPU at one certain boundary then costs a factor of twice the boundaries
// of that CPU, where PCT needs a change point and the right priorities. In the other
// runs sources are movers as in PCT, and fire when a mover is lowered.
//
// In half of the runs the default mover goes on unless it was lowered: a waiting CPU is
// answered at once, and only change points break the default order. In the others all
// orders are equally likely.
//
// A run has 2 to 14 change points, because a bug may need few or many. In a third of
// the runs each of them is equally likely to be a boundary at which a CPU stands before
// watched text. The mover that was lowered last has the lowest priority, so with many
// change points the movers take turns.
//
// It has no bound like PCT's: an arrival may be drawn where its source can't fire, or
// beyond the end.
type Arriving struct {
	seed    uint64
	length  int // number of questions from which change points are drawn
	watched int // number of boundaries before watched text from which they are drawn; 0: none are

	rand   sim.Rand
	moving bool   // in this run sources are movers
	usual  bool   // in this run the default order holds
	others uint64 // questions so far that were no Step questions
	stood  uint64 // Step questions so far before watched text
	priorities
	change changes // by the number of a Step question
	stand  changes // by the number of a Step question before watched text
	arrive arrivals
	holds  holds
}

// changeCounts are the possible numbers of change points of a run, equally likely.
var changeCounts = [...]int{2, 4, 8, 14}

// NewArriving returns an Arriving. Its runs may be taken in any order.
func NewArriving(p Params) *Arriving {
	p = p.normal()
	s := &Arriving{seed: p.Seed, length: int(p.Length), arrive: newArrivals(p)}
	if p.Shape != nil && !p.Unbiased {
		for i := range p.Shape.CPUs {
			s.watched += p.Shape.CPUs[i].Watched
		}
		s.watched += s.watched / 2 // runs other than the default one are there more often
	}
	return s
}

// Begin implements Strategy: there is always another run.
func (s *Arriving) Begin(i uint64) bool {
	s.rand.Seed(s.seed, i)
	s.others, s.stood = 0, 0
	s.holds.begin()
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
		return s.holds.answer(&s.rand, p), 0
	}
	at := p.Seq - s.others
	if !s.moving {
		s.arrive.see(&s.rand, p, at)
	}
	if p.Moves[3] != 0 {
		if m := s.holds.next(&s.rand, p, at); m != sim.NoMover {
			return p.Pick(m), 0
		}
	}
	sources, until := p.Moves[2], s.holds.wait(at)
	if !s.moving {
		due, first := s.arrive.wait(p)
		if due != sim.NoMover {
			s.arrive.take(&s.rand, due)
			return p.Pick(due), 0
		}
		until = min(until, first)
		sources = 0 // only the default schedule's source fires
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
		return p.Pick(m), 0
	}
	return 0, int(min(s.change.next()-at, uint64(until))) - 1 + s.outlasts()
}

// outlasts returns what is added to a hold: the set of movers doesn't matter as long as
// the default mover goes on, nor does watched text as long as no change point counts
// it.
func (s *Arriving) outlasts() int {
	n := sim.Steady + sim.Through
	if !s.moving {
		n = s.arrive.outlasts()
	}
	if !s.usual || s.lows > 0 {
		n &^= sim.Steady
	}
	if s.stand.passed < s.stand.n {
		n &^= sim.Through
	}
	return s.holds.outlasts(n)
}

// goes returns the mover with the highest priority, of the CPUs, the IPIs and these
// sources.
func (s *Arriving) goes(p *sim.Point, sources uint64) sim.Mover {
	if first := goesOn(p); s.usual && !s.lowered(first) || p.Moves[0]|p.Moves[1] == 0 && p.First >= sim.MoverDrain {
		return first
	}
	return s.highest(p, sources)
}
