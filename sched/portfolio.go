package sched

import (
	"fmt"

	"kpsim/sim"
)

// Portfolio gives each run to one of several strategies, its members. Each has
// a share of the runs, which says how often it is best when nothing is known of
// the program, and one that shows what none has shown before gets up to
// bonusMost times its share as long as it does. A member with nothing left to
// run drops out.
//
// Who is next is decided by credit: before each run a member's credit grows by
// its share, and who has most pays for the run with what all were given.
type Portfolio struct {
	members    []*member // those with runs left
	turn       *member   // whose run this is; nil before the first
	next       uint64    // run number
	shards     uint64
	seen       novelty
	deviations *Deviations
}

type member struct {
	Strategy
	share  int
	credit int
	fresh  int    // what is left of its bonus: features that were new, of late
	next   uint64 // its own run number
}

const (
	bonusMost = 3  // times the share that showing new features brings, at most
	bonusUnit = 16 // so much of fresh is a bonus of one share
	freshEach = 8  // what a new feature adds to fresh
)

// NewPortfolio returns a Portfolio. Its runs are taken in order.
func NewPortfolio(p Params) *Portfolio {
	p = p.normal()
	f := &Portfolio{next: p.Shard, shards: p.Shards, deviations: NewDeviations(p)}
	// A member's run number i is what it would be alone, with the same seed: so a
	// portfolio can be compared with each, by the luck of the same draws.
	f.add(p, 72, NewSticky(p))
	f.add(p, 20, NewArriving(p))
	f.add(p, 3, NewRandom(p))
	for depth := range 3 {
		q := p
		if q.Depth = 1 + depth; q.Depth != p.Depth {
			q.Seed = sim.Mix(p.Seed + uint64(depth)) // else they would have the same priorities
		}
		f.add(p, 1, NewPCT(q))
	}
	f.add(p, 4, NewPOS(p))
	f.add(p, 4, NewGuided(p))
	f.add(p, 3, f.deviations) // it alone can be complete
	return f
}

func (f *Portfolio) add(p Params, share int, s Strategy) {
	f.members = append(f.members, &member{Strategy: s, share: share, next: p.Shard})
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
	for {
		k := f.richest()
		f.turn = f.members[k]
		if f.turn.Begin(f.turn.next) {
			f.turn.next += f.shards
			return true
		}
		f.members = append(f.members[:k], f.members[k+1:]...) // some stay for ever
	}
}

// richest pays every member its share, and returns the one whose turn it is.
func (f *Portfolio) richest() (best int) {
	total := 0
	for i, m := range f.members {
		pay := m.share * (bonusUnit + min(m.fresh, (bonusMost-1)*bonusUnit))
		m.credit += pay
		total += pay
		if m.credit > f.members[best].credit {
			best = i
		}
	}
	f.members[best].credit -= total
	return best
}

// Learn implements Learner.
func (f *Portfolio) Learn(features []uint64) {
	m := f.turn
	m.fresh -= (m.fresh + 3) / 4 // what was new some runs ago counts less and less
	for _, x := range features {
		if f.seen.add(x) {
			m.fresh += freshEach
		}
	}
	m.fresh = min(m.fresh, 4*bonusUnit)
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
