package sched

import (
	"fmt"

	"kpsim/sim"
)

// Portfolio takes turns: random, sticky at three means, and all schedules of
// few deviations. A member with nothing left to run drops out, and its turns
// go to the others.
type Portfolio struct {
	members    []*member // those with runs left; one that stands twice has two turns a round
	turn       int       // whose run this is
	next       uint64    // run number
	shards     uint64
	deviations *Deviations
}

type member struct {
	Strategy
	next uint64 // its own run number
}

// NewPortfolio returns a Portfolio. Its runs are taken in order.
func NewPortfolio(p Params) *Portfolio {
	p = p.normal()
	f := &Portfolio{next: p.Shard, shards: p.Shards, turn: -1, deviations: NewDeviations(p)}
	f.add(p, NewRandom(p))
	for _, mean := range [...]int{64, 16, 4} {
		q := p
		q.Mean = mean
		q.Seed = sim.Mix(p.Seed + uint64(mean)) // else all would draw the same numbers
		f.add(p, NewSticky(q))
	}
	f.add(p, f.deviations)
	f.members = append(f.members, f.members[len(f.members)-1]) // it alone can be complete
	return f
}

func (f *Portfolio) add(p Params, s Strategy) { f.members = append(f.members, &member{s, p.Shard}) }

// Deviations returns the member that can be complete.
func (f *Portfolio) Deviations() *Deviations { return f.deviations }

func (f *Portfolio) String() string {
	if f.turn < 0 {
		return "portfolio"
	}
	return fmt.Sprintf("portfolio, %v", f.members[f.turn].Strategy)
}

// Begin implements Strategy.
func (f *Portfolio) Begin(i uint64) bool {
	if i != f.next {
		sim.Bug("portfolio: run %d was begun when run %d was next", i, f.next)
	}
	f.next += f.shards
	for f.turn++; ; {
		if f.turn == len(f.members) {
			f.turn = 0
		}
		m := f.members[f.turn]
		if m.Begin(m.next) {
			m.next += f.shards
			return true
		}
		f.members = append(f.members[:f.turn], f.members[f.turn+1:]...) // random stays for ever
	}
}

// Member returns the strategy that decides this run.
func (f *Portfolio) Member() Strategy { return f.members[f.turn].Strategy }

// End implements Strategy.
func (f *Portfolio) End(asked uint64) { f.members[f.turn].End(asked) }

// Choose implements sim.Chooser.
func (f *Portfolio) Choose(p *sim.Point) (pick, hold int) { return f.members[f.turn].Choose(p) }
