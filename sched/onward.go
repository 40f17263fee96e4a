package sched

import "kpsim/sim"

// A Way is the path of a run to some place: the answers at its points that aren't 0,
// and the ordinal of the question it has reached.
type Way struct {
	Points []Choice
	Seq    uint64
}

// Check makes the search call f for one state in every, in the order in which states are reached:
// with the way that first led to the state, and with each other way that leads there again. The
// run that has just reached it isn't over yet.
func (s *States) Check(every int, f func(first, again Way)) { s.every, s.merged = every, f }

// The memory of a way.
const wayBytes, choiceBytes = 64, 40

// pickOut keeps the way to a new state if that state is to be checked.
func (s *States) pickOut(seq uint64) int32 {
	if s.every == 0 || len(s.seen)%s.every != 0 {
		return 0
	}
	w := s.way(seq)
	s.first = append(s.first, w)
	s.firstBytes += wayBytes + cap(w.Points)*choiceBytes
	return int32(len(s.first))
}

// way returns the path of the run to a question.
func (s *States) way(seq uint64) Way {
	w := Way{Seq: seq}
	for i := range s.points {
		p := &s.points[i]
		if p.pick == 0 {
			continue // a run in a circle has 200,000 of them
		}
		w.Points = append(w.Points, Choice{Seq: p.seq, Kind: p.kind, N: p.n, Pick: p.pick})
	}
	return w
}

// Onward is one run that follows a Way and then continues at random among the movers
// that can move. The continuation depends on them and on the seed, not on the default
// mover. So if two ways lead to the same state, it is the same after both.
type Onward struct {
	way    Way
	at     int
	mover  sim.Mover
	rand   sim.Rand
	beyond func(p *sim.Point)
	begun  bool
}

// NewOnward returns an Onward. beyond is called with each question from the end of the
// way on.
func NewOnward(w Way, seed uint64, beyond func(p *sim.Point)) *Onward {
	o := &Onward{way: w, beyond: beyond, mover: sim.NoMover}
	o.rand.Seed(seed, 0)
	return o
}

// Begin implements Strategy: there is one run.
func (o *Onward) Begin(uint64) bool {
	first := !o.begun
	o.begun = true
	return first
}

// End implements Strategy.
func (o *Onward) End(uint64) {}

func (o *Onward) String() string { return "onward" }

// Choose implements sim.Chooser.
func (o *Onward) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Buffer {
		return holdsStores, 0 // as in the search, whose ways don't record it
	}
	if p.Seq < o.way.Seq {
		return o.along(p), 0
	}
	o.beyond(p)
	if p.Kind != sim.Step {
		return o.rand.N(p.N), 0
	}
	if stay, n := o.rand.N(8), o.rand.N(p.N); o.mover == sim.NoMover || stay == 0 || !has(p, o.mover) {
		o.mover = moverOf(p, n)
	}
	return alternative(p, o.mover), 0
}

// along answers as the run of the way did.
func (o *Onward) along(p *sim.Point) int {
	for o.at < len(o.way.Points) && o.way.Points[o.at].Seq < p.Seq {
		o.at++ // the machine has answered it itself
	}
	if o.at < len(o.way.Points) && p.Seq == o.way.Points[o.at].Seq {
		o.at++
		return o.way.Points[o.at-1].Pick
	}
	return 0
}

// moverOf returns the mover of number n, from 0, among those that can move.
func moverOf(p *sim.Point, n int) sim.Mover {
	for mv := range sim.NoMover {
		if has(p, mv) {
			if n == 0 {
				return mv
			}
			n--
		}
	}
	sim.Bug("question %d has less than %d answers", p.Seq, p.N)
	return sim.NoMover
}
