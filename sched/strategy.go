package sched

import (
	"fmt"
	"strings"

	"kpsim/sim"
)

// A Strategy decides runs, one after another.
type Strategy interface {
	sim.Chooser

	// Begin prepares run number i; all it will decide is a function of the
	// Params and i. It returns false if nothing is left to run.
	Begin(i uint64) bool

	// End tells how many questions were asked in the run, held ones counted.
	End(asked uint64)

	// String names what decides the run, for the origin of a trace.
	String() string
}

// Params are what a strategy is made from.
type Params struct {
	Seed   uint64
	Length uint64 // questions in the default run
	Mean   int    // sticky: boundaries per switch, in the mean; 0 for StickyMean
	Most   int    // deviations: how many at most; 0 for MostDeviations

	// An instance decides the runs i = Shard, Shard+Shards, Shard+2*Shards, …
	// Shards 0 means 1.
	Shard, Shards uint64
	_             struct{}
}

// What the zero values of Params stand for.
const (
	StickyMean     = 64
	MostDeviations = 2
)

// Longer default runs are as good as this one: all we take from a length is a mean.
const lengthMax = 1 << 30

// normal returns p with its zero values filled in.
func (p Params) normal() Params {
	p.Length = min(max(p.Length, 1), lengthMax)
	if p.Mean <= 0 {
		p.Mean = StickyMean
	}
	if p.Most <= 0 {
		p.Most = MostDeviations
	}
	p.Shards = max(p.Shards, 1)
	if p.Shard >= p.Shards {
		sim.Bug("shard %d of %d", p.Shard, p.Shards)
	}
	return p
}

// All lists the strategies that search. To add one: a file and a row.
var All = []struct {
	Name, Says string
	New        func(Params) Strategy
}{
	{"portfolio", "rounds of random, sticky 64, 16 and 4, and deviations", func(p Params) Strategy { return NewPortfolio(p) }},
	{"random", "each boundary anew, uniformly", func(p Params) Strategy { return NewRandom(p) }},
	{"sticky", "one switch per 64 boundaries in the mean", func(p Params) Strategy { return NewSticky(p) }},
	{"deviations", "every schedule of at most 2 deviations", func(p Params) Strategy { return NewDeviations(p) }},
	{"default", "the default run, once", func(Params) Strategy { return new(Default) }},
}

// New returns the strategy of that name.
func New(name string, p Params) (Strategy, error) {
	var names []string
	for _, s := range All {
		if s.Name == name {
			return s.New(p), nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("no strategy is called %q; there are %s", name, strings.Join(names, ", "))
}

// Default decides the default run, once.
type Default struct{ sim.Always0 }

// Begin implements Strategy.
func (*Default) Begin(i uint64) bool { return i == 0 }

// End implements Strategy.
func (*Default) End(uint64) {}

func (*Default) String() string { return "default" }

// forever is a hold that outlasts any run.
const forever = 1 << 30

// calm returns how many alternatives are no arrivals: the CPUs and IPIs, and
// First whatever it is. They are the alternatives 0 to calm-1.
func calm(p *sim.Point) int {
	n := p.N - p.Sources()
	if isSource(p.First) {
		n++
	}
	return n
}

// source returns the alternative that is number k of the sources that can fire.
func source(p *sim.Point, k int) int {
	if k == 0 && isSource(p.First) {
		return 0
	}
	return p.N - p.Sources() + k
}

func isSource(m sim.Mover) bool { return m-sim.MoverSource < sim.MaxCPUs }

// gaps is a process with one event per mean boundaries, drawn ahead.
type gaps struct {
	mean int
	next uint64 // boundary of the next event
}

// begin draws the first event as if the process had always been going on: what
// is left of a gap one falls into is distributed as the lesser of two gaps.
func (g *gaps) begin(r *sim.Rand) { g.next = uint64(min(r.Gap(g.mean-1), r.Gap(g.mean-1))) }

// pass draws the event after the one at boundary at.
func (g *gaps) pass(r *sim.Rand, at uint64) { g.next = at + 1 + uint64(r.Gap(g.mean-1)) }

// arrivals draws when interrupt sources fire. They are drawn as times, never
// as a coin per boundary, which would deliver nearly everything a scenario has
// within the first boundaries of a run.
type arrivals struct{ gaps }

// arrivalsPerRun is how many arrivals a run of the default's length has.
const arrivalsPerRun = 3

func newArrivals(p Params) arrivals {
	return arrivals{gaps{mean: int(max(p.Length/arrivalsPerRun, 1))}}
}

// due says that an arrival is to be delivered at boundary at. One that finds
// no source able to fire stays due.
func (a *arrivals) due(p *sim.Point, at uint64) bool { return at >= a.next && p.Moves[2] != 0 }

// take delivers it: any of the sources that can fire.
func (a *arrivals) take(r *sim.Rand, p *sim.Point, at uint64) (pick int) {
	a.pass(r, at)
	return source(p, r.N(p.Sources()))
}

// other answers a question that is no Step. A fetch is fresh with probability
// 1/2, else any of the older versions; a cost is nominal; a task is any.
func other(r *sim.Rand, p *sim.Point) (pick int) {
	switch p.Kind {
	case sim.Fetch:
		if k := r.N(2 * (p.N - 1)); k < p.N-1 {
			return k + 1
		}
		return 0
	case sim.Cost:
		return 0
	}
	return r.N(p.N)
}
