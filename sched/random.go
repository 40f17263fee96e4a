package sched

import "kpsim/sim"

// Random is the uniform walk: at each boundary every CPU and every pending IPI is
// equally likely to move. Sources fire when an arrival is due.
type Random struct {
	seed   uint64
	rand   sim.Rand
	others uint64 // questions so far that were no Step questions
	arrive arrivals
	holds  holds
}

// NewRandom returns a Random. Its runs may be taken in any order.
func NewRandom(p Params) *Random {
	p = p.normal()
	return &Random{seed: p.Seed, arrive: newArrivals(p)}
}

// Begin implements Strategy: there is always another run.
func (r *Random) Begin(i uint64) bool {
	r.rand.Seed(r.seed, i)
	r.others = 0
	r.holds.begin()
	r.arrive.begin()
	return true
}

// End implements Strategy.
func (r *Random) End(uint64) {}

func (r *Random) String() string { return "random" }

// Choose implements sim.Chooser. It draws once a question, and never holds.
func (r *Random) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step {
		r.others++
		return r.holds.answer(&r.rand, p), 0
	}
	at := p.Seq - r.others
	r.arrive.see(&r.rand, p, at)
	if p.Moves[2]|p.Moves[3] == 0 { // the usual case
		return r.rand.N(p.N), 0
	}
	if p.Moves[3] != 0 {
		if m := r.holds.next(&r.rand, p, at); m != sim.NoMover {
			return p.Pick(m), 0
		}
	}
	if m := r.arrive.due(p); m != sim.NoMover {
		r.arrive.take(&r.rand, m)
		return p.Pick(m), 0
	}
	if p.First >= sim.MoverDrain {
		if n := calm(p); n > 1 {
			return 1 + r.rand.N(n-1), 0
		}
		return p.Pick(goesOn(p)), 0
	}
	n := calm(p)
	if n == 1 && isSource(p.First) { // only sources: one must fire, and any may
		n = p.N
	}
	if n == 1 {
		return 0, 0
	}
	return r.rand.N(n), 0
}
