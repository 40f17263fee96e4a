package sched

import (
	"fmt"

	"kpsim/sim"
	"kpsim/traces"
)

// Prefix answers the first questions of every run as a recording does, and leaves the others to strategies that take
// turns. It samples the continuations of a fixed beginning. For the strategies the run begins where the recording
// ends: everything drawn in advance, arrivals and switches, is drawn from there.
type Prefix struct {
	all  []Choice
	devs []int // indices of the choices that deviate, in order
	cut  int   // number of questions that the recording decides
	rest []Strategy
	mine Strategy // the one of rest that decides this run
}

// NewPrefix returns a Prefix of a run that was recorded with Recorder.All. Run i
// belongs to rest[i mod len(rest)]; the strategies of rest must allow runs in any
// order. All of the recording is followed until Cut is called.
func NewPrefix(r *Recording, rest ...Strategy) *Prefix {
	x := &Prefix{all: append([]Choice(nil), r.All...), rest: rest}
	for i := range x.all {
		if c := &x.all[i]; c.Seq != uint64(i) {
			sim.Bug("answer %d of a recording is to question %d: not all were recorded", i, c.Seq)
		}
		if x.all[i].Pick != 0 {
			x.devs = append(x.devs, i)
		}
	}
	x.cut = len(x.all)
	return x
}

// Continuations returns what goes on behind a Prefix: choices at random, and tasks that keep going for 64, 16 and 4
// questions in the mean.
func Continuations(params Params) []Strategy {
	list := []Strategy{NewRandom(params)}
	for _, mean := range [...]int{64, 16, 4} {
		q := params
		q.Mean, q.Seed = mean, sim.Mix(params.Seed+uint64(mean))
		list = append(list, NewSticky(q))
	}
	return list
}

// Cut sets how many questions of each further run the recording decides, in [0, the
// length of the recording].
func (x *Prefix) Cut(questions int) { x.cut = min(max(questions, 0), len(x.all)) }

func (x *Prefix) String() string { return fmt.Sprintf("%d questions as recorded", x.cut) }

// Begin implements Strategy.
func (x *Prefix) Begin(i uint64) bool {
	n := uint64(len(x.rest))
	x.mine = x.rest[i%n]
	return x.mine.Begin(i / n)
}

// End implements Strategy.
func (x *Prefix) End(asked uint64) { x.mine.End(asked - min(asked, uint64(x.cut))) }

// Choose implements sim.Chooser. Within the prefix it panics with a *Divergence
// where the run isn't the recorded one: that is the simulator's fault.
func (x *Prefix) Choose(p *sim.Point) (pick, hold int) {
	if p.Seq >= uint64(x.cut) {
		rest := *p
		rest.Seq -= uint64(x.cut)
		return x.mine.Choose(&rest)
	}
	c := &x.all[p.Seq]
	if c.Kind != p.Kind || c.N != p.N {
		panic(&Divergence{At: int(p.Seq), Want: *c, Asked: Choice{Seq: p.Seq, Kind: p.Kind, N: p.N}})
	}
	if c.Pick != 0 || p.Kind != sim.Step {
		return c.Pick, 0
	}
	next := x.next(int(p.Seq))
	if next == len(x.all) {
		return 0, forever
	}
	return 0, int(x.all[next].Steps - c.Steps - 1)
}

// next returns the first question after i that may not be held: one that deviates, or
// the first after the prefix.
func (x *Prefix) next(i int) int {
	lo, hi := 0, len(x.devs)
	for lo < hi {
		if mid := (lo + hi) / 2; x.devs[mid] > i {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo < len(x.devs) {
		return min(x.devs[lo], x.cut)
	}
	return x.cut
}

// A Spot labels one question of a run, whatever its answer. Like a Labeller it wraps a
// replay.
type Spot struct {
	Strategy
	at     uint64
	places places
	anchor traces.Deviation
}

// NewSpot returns a Spot for question number at of the runs of s.
func NewSpot(s Strategy, l Locator, at uint64) *Spot {
	return &Spot{Strategy: s, at: at, places: places{loc: l}}
}

// Anchor returns the question's label. Alt is the alternative taken, even if it was 0.
func (s *Spot) Anchor() traces.Deviation { return s.anchor }

// Begin implements Strategy.
func (s *Spot) Begin(i uint64) bool {
	s.places.reset()
	return s.Strategy.Begin(i)
}

// Choose implements sim.Chooser.
func (s *Spot) Choose(p *sim.Point) (pick, hold int) {
	at := s.places.visit(p)
	pick, _ = s.Strategy.Choose(p)
	if p.Seq == s.at {
		s.anchor = traces.Deviation{Mover: at.mover, Name: at.name, Off: at.off, Text: at.text, Occ: at.times,
			Kind: p.Kind,
			Alt:  s.places.loc.Alternative(p, pick)}
	}
	return pick, 0
}
