package sched

import (
	"fmt"

	"kpsim/sim"
)

// Portfolio gives each run to one of several strategies, its members. What it
// shares out is time: four fifths of it in equal parts to the two that are good at
// most things and cheap, the rest to those that are good at some.
//
// A member's part is its share, times how many new things its runs have shown for
// each that would be expected of the time they took, but no less than half and no
// more than twice its share. What was seen counts a quarter whenever there are
// twice as many runs. A member with nothing left to run drops out.
//
// Who is next is decided by credit: who has most pays for the run, and all are
// given their parts of what it costs.
type Portfolio struct {
	members    []*member // those with runs left
	turn       *member   // whose run this is; nil before the first
	next       uint64    // run number
	shards     uint64
	runs       uint64 // begun
	seen       novelty
	deviations *Deviations
}

type member struct {
	Strategy
	share  int    // of the time, when nothing is known of the program
	part   int    // of the time now: share, and what it is worth more or less
	price  int    // what a run costs
	credit int    // time that it has coming
	fresh  int    // features that its runs showed first
	spent  int    // the time those runs took that were learnt from
	next   uint64 // its own run number
	begun  int    // its runs
}

// What a run costs, in quarters of one of Sticky's, as BenchmarkSchedules of
// harness measures it. It needn't be so for each program, but it must be the same
// on each computer.
const (
	priceUsual  = 4
	pricePCT    = 3 // it is asked little, and its runs are short
	pricePOS    = 8 // it is told of each step
	priceGuided = 5 // so is it, in some runs
)

const (
	reviewEvery = 16 // runs, after which the parts are set anew
	learnEvery  = 4  // of so many runs of a member the first is looked at
	freshSure   = 8  // new features: so many more or fewer than expected may be luck

	partOne   = 64 // the part for each share of a member that shows what is expected
	partMost  = 2 * partOne
	partLeast = partOne / 2
)

// NewPortfolio returns a Portfolio. Its runs are taken in order.
func NewPortfolio(p Params) *Portfolio {
	p = p.normal()
	f := &Portfolio{next: p.Shard, shards: p.Shards, deviations: NewDeviations(p)}
	// A member's run number i is what it would be alone, with the same seed: so a
	// portfolio can be compared with each, by the luck of the same draws.
	f.add(p, 24, priceUsual, NewSticky(p))
	f.add(p, 24, priceUsual, NewArriving(p))
	f.add(p, 3, priceUsual, NewRandom(p))
	for depth := range 3 {
		q := p
		if q.Depth = 1 + depth; q.Depth != p.Depth {
			q.Seed = sim.Mix(p.Seed + uint64(depth)) // else they would have the same priorities
		}
		f.add(p, 1, pricePCT, NewPCT(q))
	}
	f.add(p, 4, pricePOS, NewPOS(p))
	f.add(p, 2, priceGuided, NewGuided(p))
	f.add(p, 1, priceUsual, f.deviations) // it alone can be complete
	return f
}

func (f *Portfolio) add(p Params, share, price int, s Strategy) {
	f.members = append(f.members, &member{Strategy: s, share: share, part: share * partOne, price: price, next: p.Shard})
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
		f.members = append(f.members[:k], f.members[k+1:]...) // some stay for ever
	}
}

// richest returns the place of the member with most credit.
func (f *Portfolio) richest() (best int) {
	for i, m := range f.members {
		if m.credit > f.members[best].credit {
			best = i
		}
	}
	return best
}

// pay pays for the run that begins.
func (f *Portfolio) pay() {
	for _, m := range f.members {
		pay := m.part * f.turn.price
		m.credit += pay
		f.turn.credit -= pay
	}
}

// review sets each member's part of the time.
func (f *Portfolio) review() {
	fresh, spent := 0, 0
	for _, m := range f.members {
		if f.runs&(f.runs-1) == 0 { // as many again as the last time
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

// learns says whether what this run shows is looked at. That some are not is for
// their speed.
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
