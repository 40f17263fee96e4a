package sched

import (
	"fmt"

	"kpsim/sim"
)

// Nudged plays a recorded run with one of its deviations drawn anew: somewhere between the deviation before it and
// the one after it, with an answer that is drawn, too. The other deviations keep their places, counted in questions
// of their sort: Step questions apart from others. So the runs lie around the recorded one, each one deviation away.
type Nudged struct {
	seed  uint64
	all   []nudge
	ends  [2]uint64 // number of Step questions of the recorded run, and of others
	drawn int       // index of the deviation that is drawn
	list  sparse
	plays player
}

// A nudge is a deviation of the recorded run.
type nudge struct {
	sort int       // 0: of a Step question; 1: of another
	at   [2]uint64 // number of Step questions before it, and of others
	pick int
}

// NewNudged returns a Nudged of a run with at least one deviation that was recorded with Recorder.All. Of is to be
// called before the first run. Its runs may be taken in any order.
func NewNudged(r *Recording, seed uint64) *Nudged {
	s := &Nudged{seed: seed, list: newSparse()}
	for i := range r.All {
		c := &r.All[i]
		sort := 1
		if c.Kind == sim.Step {
			sort = 0
		}
		if c.Pick != 0 {
			s.all = append(s.all, nudge{sort, [2]uint64{c.Steps, c.Seq - c.Steps}, c.Pick})
		}
		s.ends[sort]++
	}
	return s
}

// Deviations returns the number of the recorded run's deviations. At most spotsMost are played, the first ones.
func (s *Nudged) Deviations() int { return min(len(s.all), spotsMost) }

// Of sets the index of the deviation that is drawn, in [0, Deviations()).
func (s *Nudged) Of(drawn int) { s.drawn = drawn }

func (s *Nudged) String() string { return fmt.Sprintf("deviation %d drawn anew", s.drawn) }

// Begin implements Strategy: there is always another run.
func (s *Nudged) Begin(i uint64) bool {
	var r sim.Rand
	r.Seed(s.seed+uint64(s.drawn), i)
	s.list.clear()
	for k := range s.Deviations() {
		d := s.all[k]
		place, pick := d.at[d.sort], d.pick
		if k == s.drawn {
			from, to := uint64(0), s.ends[d.sort]
			if k > 0 {
				from = s.all[k-1].at[d.sort]
				if s.all[k-1].sort == d.sort {
					from++
				}
			}
			if k+1 < len(s.all) {
				to = s.all[k+1].at[d.sort]
			}
			place, pick = from+uint64(r.N(int(to-from))), 1+r.N(pickMost)
		}
		list := &s.list.steps
		if d.sort == 1 {
			list = &s.list.others
		}
		*list = append(*list, spot{place, pick})
	}
	s.plays.begin(&s.list)
	return true
}

// End implements Strategy.
func (s *Nudged) End(uint64) {}

// Choose implements sim.Chooser.
func (s *Nudged) Choose(p *sim.Point) (pick, hold int) {
	pick, hold = s.plays.answer(p)
	s.plays.count(p)
	return pick, hold
}
