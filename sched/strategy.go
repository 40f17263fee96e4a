package sched

import (
	"fmt"
	"math/bits"
	"strings"

	"kpsim/sim"
)

// A Strategy decides runs, one after another.
type Strategy interface {
	sim.Chooser

	// Begin prepares run number i. All its decisions are a function of the Params and
	// i. It returns false if no run is left.
	Begin(i uint64) bool

	// End reports how many questions were asked in the run, held ones included.
	End(asked uint64)

	// String names the strategy that decides the run, for the origin of a trace.
	String() string
}

// Params are the parameters of a strategy.
type Params struct {
	Seed   uint64
	Length uint64 // questions in the default run; 0: from its Shape
	Shape  *Shape // of the default run; nil: not known
	Delay  uint64 // questions after which delayed work is done at the latest; 0: Length
	Mean   int    // sticky: mean number of boundaries between switches; 0: drawn for each run
	Most   int    // deviations: the largest number of them; 0 for MostDeviations
	Depth  int    // pct: of the bugs to find; 0 for PCTDepth

	// Unbiased draws arrivals uniformly from all boundaries, instead of preferring
	// those before watched text.
	Unbiased bool

	// An instance decides the runs i = Shard, Shard+Shards, Shard+2*Shards, …
	// Shards 0 means 1.
	Shard, Shards uint64
	_             struct{}
}

// The defaults for zero Params.
const (
	MostDeviations = 2
	PCTDepth       = 3
)

// lengthMax bounds the length, which is only used for means; longer default runs gain
// nothing.
const lengthMax = 1 << 28

// normal returns p with its zero values filled in.
func (p Params) normal() Params {
	if p.Length == 0 && p.Shape != nil {
		p.Length = p.Shape.Questions
	}
	p.Length = min(max(p.Length, 1), lengthMax)
	if p.Delay = min(p.Delay, p.Length); p.Delay == 0 {
		p.Delay = p.Length
	}
	if p.Most <= 0 {
		p.Most = MostDeviations
	}
	if p.Depth <= 0 {
		p.Depth = PCTDepth
	}
	p.Shards = max(p.Shards, 1)
	if p.Shard >= p.Shards {
		sim.Bug("shard %d of %d", p.Shard, p.Shards)
	}
	return p
}

// All lists the strategies that search. To add one, write a file and a row.
var All = []struct {
	Name, Says string
	New        func(Params) Strategy
	// Seedless: the schedules and their order are the same for each seed.
	Seedless bool
}{
	{"portfolio", "all of those below, more time to those that show new behaviour", func(p Params) Strategy {
		return NewPortfolio(p)
	}, false},
	{"sticky", "one switch in some number of boundaries, dense or " +
		"rare", func(p Params) Strategy { return NewSticky(p) }, false},
	{"arriving", "random priorities, which change at 2 to 14 boundaries", func(p Params) Strategy {
		return NewArriving(p)
	}, false},
	{"pct", "random priorities of sources too, which change at 2 boundaries, at more while runs " +
		"repeat", func(p Params) Strategy { return newPCT(p) }, false},
	{"pos", "random priorities of the next actions, drawn anew after a race", func(p Params) Strategy {
		return newPOS(p)
	}, false},
	{"guided", "mutations of schedules that have shown something new", func(p Params) Strategy {
		return newGuided(p)
	}, false},
	{"overtake", "a CPU is held before a conflict until another has overtaken it, then that one",
		func(p Params) Strategy {
			return newOvertake(p)
		}, false},
	{"random", "each boundary anew, uniformly", func(p Params) Strategy { return NewRandom(p) }, false},
	{"deviations", "every schedule of at most 2 deviations", func(p Params) Strategy {
		return NewDeviations(p)
	}, true},
	{"default", "the default run, once", func(Params) Strategy { return new(Default) }, true},
}

// New returns the strategy with that name.
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

// Seedless reports whether a strategy of All makes the same schedules whatever the seed.
func Seedless(name string) bool {
	for _, s := range All {
		if s.Name == name {
			return s.Seedless
		}
	}
	return false
}

// Default decides the default run, once.
type Default struct{ sim.Always0 }

// Begin implements Strategy.
func (*Default) Begin(i uint64) bool { return i == 0 }

// End implements Strategy.
func (*Default) End(uint64) {}

func (*Default) String() string { return "default" }

// forever is a hold that is longer than any run.
const forever = sim.Forever

// calm returns how many alternatives are neither arrivals nor stores that take effect: the CPUs, the IPIs, and First
// in any case. They are alternatives 0 to calm-1.
func calm(p *sim.Point) int {
	n := bits.OnesCount64(p.Moves[0]) + bits.OnesCount64(p.Moves[1])
	if p.First >= sim.MoverSource {
		n++
	}
	return n
}

func isSource(m sim.Mover) bool { return m-sim.MoverSource < sim.MaxCPUs }

// gaps is a process with one event per mean boundaries, drawn in advance.
type gaps struct {
	mean int
	next uint64 // boundary of the next event
}

// begin draws the first event as if the process had always been running: the rest of
// the gap at a random point is distributed as the lesser of two gaps.
func (g *gaps) begin(r *sim.Rand) { g.next = uint64(min(r.Gap(g.mean-1), r.Gap(g.mean-1))) }

// pass draws the event after the one at boundary at.
func (g *gaps) pass(r *sim.Rand, at uint64) { g.next = at + 1 + uint64(r.Gap(g.mean-1)) }

// other answers a question other than Step. A fetch is fresh with probability 1/2, otherwise any of the older
// versions; a cost is nominal; a task is any.
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

// ObserverOf returns the observer for the steps of the run that s has begun, or nil if
// s needs none.
func ObserverOf(s Strategy) sim.Observer {
	s = unwrap(s)
	if f, ok := s.(*Portfolio); ok {
		s = f.Member()
	}
	if g, ok := s.(*guided); ok && !g.watches {
		return nil
	}
	o, _ := s.(sim.Observer)
	return o
}

// unwrap removes the wrappers from a strategy.
func unwrap(s Strategy) Strategy {
	for {
		switch w := s.(type) {
		case *Recorder:
			s = w.Strategy
		case NoHold:
			s = w.Strategy
		case *Labeller:
			s = w.Strategy
		case *Surveyor:
			s = w.Strategy
		default:
			return s
		}
	}
}
