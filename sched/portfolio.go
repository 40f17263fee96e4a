package sched

import (
	"fmt"

	"kpsim/sim"
)

// Portfolio gives each run to one of several strategies, its members. It shares out
// time: four fifths in equal parts to the two that are cheap and good at most things,
// the rest to those that are good at some. Overtake is a third one in programs for which it
// is meant (Shape.Engine).
//
// A member's part is its share, times how many new things its runs have shown for each
// that would be expected from the time they took, but at least half and at most twice
// its share. Earlier findings are divided by four whenever the number of runs has
// doubled. A member with no run left drops out.
//
// The next member is chosen by credit: the one with most pays for the run, and each
// gets its part of what the run costs.
type Portfolio struct {
	members    []*member // those with runs left
	turn       *member   // the member that makes this run; nil before the first
	next       uint64    // run number
	shards     uint64
	runs       uint64 // begun
	seen       novelty
	deviations *Deviations
}

type member struct {
	Strategy
	share  int    // of the time, while nothing is known about the program
	part   int    // of the time now: share, adjusted by the findings
	price  int    // of a run
	credit int    // time that it is owed
	fresh  int    // features that its runs showed first
	spent  int    // time of the runs that were learnt from
	next   uint64 // its next run number
	begun  int    // runs begun
}

// prices are what a run takes, in quarters of one of Sticky's. They may differ for some programs,
// but must be the same on each computer.
type prices struct {
	usual    int
	pct      int // few questions, short runs
	pos      int // it observes each step
	guided   int // it observes the steps of some runs
	overtake int // it observes each step, and tries the next ones of all CPUs
}

// pricesOf has those of kpsim's own engine, as BenchmarkSchedules measures them, and those of a
// compiled engine (linux's BenchmarkRun): there a step that isn't observed is one instruction of thousands.
var pricesOf = map[bool]prices{
	false: {usual: 4, pct: 3, pos: 8, guided: 5},
	true:  {usual: 4, pct: 4, pos: 28, guided: 7, overtake: 32},
}

const (
	reviewEvery = 16 // runs, after which the parts are computed again
	learnEvery  = 4  // one run of a member in this many is learnt from
	freshSure   = 8  // new features: a difference of this many from the expectation may be luck

	partOne   = 64 // the part for each share of a member that shows what is expected
	partMost  = 2 * partOne
	partLeast = partOne / 2
)

// NewPortfolio returns a Portfolio. Its runs must be taken in order.
func NewPortfolio(p Params) *Portfolio {
	p = p.normal()
	f := &Portfolio{next: p.Shard, shards: p.Shards, deviations: NewDeviations(p)}
	// A member's run number i is the one that it would have alone, with the same seed. So a portfolio and its members
	// can be compared on the same draws.
	compiled := p.Shape != nil && p.Shape.Engine
	price := pricesOf[compiled]
	f.add(p, 24, price.usual, NewSticky(p))
	f.add(p, 24, price.usual, NewArriving(p))
	f.add(p, 3, price.usual, NewRandom(p))
	for depth := range 3 {
		q := p
		if q.Depth = 1 + depth; q.Depth != p.Depth {
			q.Seed = sim.Mix(p.Seed + uint64(depth)) // otherwise they would have the same priorities
		}
		f.add(p, 1, price.pct, newPCT(q))
	}
	f.add(p, 4, price.pos, newPOS(p))
	f.add(p, 2, price.guided, newGuided(p))
	if compiled {
		f.add(p, 24, price.overtake, newOvertake(p))
	}
	f.add(p, 1, price.usual, f.deviations) // only it can be complete
	return f
}

func (f *Portfolio) add(p Params, share, price int, s Strategy) {
	f.members = append(f.members, &member{Strategy: s, share: share, part: share * partOne, price: price,
		next: p.Shard})
}

// Deviations returns the member that can be complete.
func (f *Portfolio) Deviations() *Deviations { return f.deviations }

func (f *Portfolio) String() string {
	if f.turn == nil {
		return "portfolio"
	}
	return fmt.Sprintf("portfolio, %v", f.turn.Strategy)
}

// Begin implements Strategy.
func (f *Portfolio) Begin(i uint64) bool {
	if i != f.next {
		sim.Bug("portfolio: run %d was begun when run %d was next", i, f.next)
	}
	f.next += f.shards
	if f.runs++; f.runs%reviewEvery == 0 {
		f.review()
	}
	for {
		k := f.richest()
		f.turn = f.members[k]
		if f.turn.Begin(f.turn.next) {
			f.turn.next += f.shards
			f.turn.begun++
			f.pay()
			return true
		}
		f.members = append(f.members[:k], f.members[k+1:]...) // some members stay for ever
	}
}

// richest returns the index of the member with most credit.
func (f *Portfolio) richest() (best int) {
	for i, m := range f.members {
		if m.credit > f.members[best].credit {
			best = i
		}
	}
	return best
}

// pay charges for the run that begins.
func (f *Portfolio) pay() {
	for _, m := range f.members {
		pay := m.part * f.turn.price
		m.credit += pay
		f.turn.credit -= pay
	}
}

// review computes each member's part of the time.
func (f *Portfolio) review() {
	fresh, spent := 0, 0
	for _, m := range f.members {
		if f.runs&(f.runs-1) == 0 { // twice as many runs as the last time
			m.fresh, m.spent = m.fresh/4, m.spent/4
		}
		fresh += m.fresh
		spent += m.spent
	}
	if spent == 0 {
		return
	}
	for _, m := range f.members {
		worth := partOne * (m.fresh + freshSure) * spent / (fresh*m.spent + freshSure*spent)
		m.part = m.share * min(max(worth, partLeast), partMost)
	}
}

// learns reports whether this run is learnt from. Some aren't, for speed.
func (f *Portfolio) learns() bool {
	if _, ok := f.turn.Strategy.(Learner); ok {
		return true
	}
	return f.turn.begun%learnEvery == 1
}

// Learn implements Learner.
func (f *Portfolio) Learn(features []uint64) {
	m := f.turn
	m.spent += m.price
	for _, x := range features {
		if f.seen.add(x) {
			m.fresh++
		}
	}
	if l, ok := m.Strategy.(Learner); ok {
		l.Learn(features)
	}
}

// Member returns the strategy that decides this run.
func (f *Portfolio) Member() Strategy { return f.turn.Strategy }

// End implements Strategy.
func (f *Portfolio) End(asked uint64) { f.turn.End(asked) }

// Choose implements sim.Chooser.
func (f *Portfolio) Choose(p *sim.Point) (pick, hold int) { return f.turn.Choose(p) }
