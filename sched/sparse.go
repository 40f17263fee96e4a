package sched

import "kpsim/sim"

// Sparse plays any list of deviations: a pick is taken modulo the number of
// alternatives, and a Seq that is never asked is skipped. So any list is a schedule,
// and so is any part of it, as generators and shrinkers need. Only Seq and Pick of the
// choices matter; they are sorted by Seq.
type Sparse struct {
	list []Choice
	pos  int
}

// A Gap is a deviation as a generator draws it: the number of questions since the last
// one, and the alternative. Deleting one shifts the rest.
type Gap struct {
	Gap  uint64
	Pick int
}

// FromGaps returns the deviations of the gaps.
func FromGaps(gaps []Gap) []Choice {
	list := make([]Choice, len(gaps))
	seq := uint64(0)
	for i, g := range gaps {
		seq += g.Gap
		list[i] = Choice{Seq: seq, Pick: g.Pick}
		seq++
	}
	return list
}

// NewSparse returns a strategy of one run, which plays list.
func NewSparse(list []Choice) *Sparse { return &Sparse{list: list} }

// Set sets the list to play in further runs.
func (s *Sparse) Set(list []Choice) { s.list = list }

// Begin implements Strategy.
func (s *Sparse) Begin(i uint64) bool {
	s.pos = 0
	return i == 0
}

// End implements Strategy.
func (s *Sparse) End(uint64) {}

func (s *Sparse) String() string { return "sparse" }

// Choose implements sim.Chooser. It holds only after the last deviation: for a list that never ran, the number of
// Step questions before a deviation isn't known.
func (s *Sparse) Choose(p *sim.Point) (pick, hold int) {
	for s.pos < len(s.list) && s.list[s.pos].Seq < p.Seq {
		s.pos++
	}
	if s.pos == len(s.list) {
		return 0, holdStep(p, forever)
	}
	c := &s.list[s.pos]
	if c.Seq > p.Seq {
		return 0, 0
	}
	s.pos++
	return int(uint(c.Pick) % uint(p.N)), 0
}
