package explore

import (
	"cmp"
	"fmt"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// A Spec says what to explore, and how long.
type Spec struct {
	Scenario *scenario.Scenario
	Mutant   string // "" is the right engine
	Strategy string // a name of sched.All; "" is portfolio
	// how many, unless the strategy has nothing left before, or every run is broken (everyRun); at least 1
	Runs     uint64
	Seed     uint64
	Delay    uint64         // sched.Params.Delay
	Unbiased bool           // no strategy prefers watched text: sched.Params.Unbiased
	Workers  int            // 0: one a processor
	Blind    bool           // make no witness and no statistics: whether anything is broken is all that is asked
	Ignore   properties.Set // runs go on after these were broken (goOn), as if they weren't properties
	// and after these, which count all the same: with properties.Every all that a run breaks is seen
	Past properties.Set
	Stop bool // stop soon after the first violation: then Runs and Violations depend on the workers
	Most int  // of deviations, or of the portfolio's member: how many at most; 0: sched.MostDeviations

	// Dealt is to how many shards the runs are dealt out; 0: 16. See Deal.
	Dealt int

	// From is the number of the first run that a witness is made of: those before it are made,
	// and counted, all the same.
	From uint64

	// Share k of Shares, from 1: only the runs that are its own are made. 0 of 0
	// is all of them. See Merge.
	Share, Shares int

	// Look, if not nil, makes what looks at the runs of a shard. One goroutine uses it.
	Look func() Look

	// Progress, if not nil, is called now and then, by several goroutines.
	Progress func(runs, violations uint64)

	// Cancelled, if not nil, ends the exploration early when it is set.
	Cancelled *atomic.Bool
	_         struct{}
}

// A Result is what all runs of an exploration showed together.
type Result struct {
	Runs       uint64
	Violations uint64            // runs that broke a property
	Broken     map[string]uint64 // how many broke each, by the property's name
	After      map[string]uint64 // of these, how many had broken another one before: of them it may be a consequence
	Counts     smp.Counts        // over all runs
	Census     rig.Census        // of the probes
	Probed     []rig.Probed      // of each of them, in the scenario's order
	Complete   int               // every schedule of at most so many deviations was run; -1: not even the default one
	First      uint64            // the number of the first violating run
	Witnesses  []*shrink.Witness // one of each property broken, in the order of the catalogue
	Witness    *shrink.Witness   // the one of them to show first, nil if there is none
	Stats      Stats
	Parts      []Part // what it was added up from, in their order
	Looks      []Look // of each shard, in their order; nil without Spec.Look
}

// A Look takes down more of the runs of a shard than a Part does. It may change nothing that
// a run does.
type Look interface {
	Begin(r *rig.Rig)              // before the first run
	Took(r *rig.Rig, run *rig.Run) // after each
	End(r *rig.Rig)                // after the last: the rig goes on with another shard
}

// MostShares is into how many shares an exploration can be divided.
const MostShares = fewest

// own lists the shards of the spec's share.
func (spec *Spec) own() (list []int) {
	for i := range spec.Dealt {
		if spec.Shares <= 1 || i%spec.Shares == spec.Share-1 {
			list = append(list, i)
		}
	}
	return list
}

// Run runs the scenario many times. Errors are about the input; a bug of the
// simulator panics with a *Crash, in the goroutine that called.
func Run(spec Spec) (*Result, error) {
	spec.fill()
	if spec.Shares > MostShares || spec.Share > spec.Shares || spec.Shares > 0 && spec.Share < 1 {
		return nil, fmt.Errorf("share %d of %d: there can be 1 to %d", spec.Share, spec.Shares, MostShares)
	}
	shape, err := survey(&spec)
	if err != nil {
		return nil, err
	}
	total := progress{spec: &spec}
	own := spec.own()
	parts, errs := make([]Part, len(own)), make([]error, len(own))
	parallel.Run(spec.Workers, len(own), &total.stop, func() (do func(job int), close func()) {
		s := Seat{total: &total, shape: shape, rig: spec.MustRig().Learnt()}
		return func(i int) { parts[i], errs[i] = s.Part(own[i]) }, s.Close
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return Merge(spec, parts)
}

// fill puts what zero values stand for in their place.
func (spec *Spec) fill() {
	if spec.Strategy == "" {
		spec.Strategy = DefaultStrategy
	}
	spec.Runs = max(spec.Runs, 1)
	if spec.Most == 0 {
		spec.Most = sched.MostDeviations
	}
	spec.Dealt = max(spec.Dealt, fewest)
}

// DefaultStrategy is that of a Spec that names none.
const DefaultStrategy = "portfolio"

// strategy makes the spec's strategy.
func (spec *Spec) strategy(p sched.Params) (sched.Strategy, error) {
	p.Unbiased, p.Delay, p.Most = spec.Unbiased, spec.Delay, spec.Most
	return sched.New(spec.Strategy, p)
}

// Origin says where the runs of the search are from.
func (spec *Spec) Origin() shrink.Origin {
	return shrink.Origin{Scenario: spec.Scenario, Mutant: spec.Mutant, Seed: spec.Seed, Past: spec.Past != 0}
}

// NewRig builds a rig: its runs go on after what the spec ignores.
func (spec *Spec) NewRig() (*rig.Rig, error) {
	return rig.NewIgnoring(spec.Scenario, spec.Mutant, spec.Ignore, spec.Past)
}

// MustRig is NewRig where one was built before.
func (spec *Spec) MustRig() *rig.Rig {
	rig, err := spec.NewRig()
	if err != nil {
		sim.Bug("a rig that was built before: %v", err)
	}
	return rig
}

// survey runs the default schedule, which tells the strategies what runs look
// like, and whether the scenario can be run at all.
func survey(spec *Spec) (*sched.Shape, error) {
	if _, err := sched.New(spec.Strategy, sched.Params{}); err != nil {
		return nil, err
	}
	rig, err := spec.NewRig()
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	shape, run := rig.Survey(spec.Delay)
	if run.Outcome == smp.Refused {
		return nil, fmt.Errorf("%s: %w", spec.Scenario.Name, run.Err)
	}
	return shape, nil
}

// progress is what the workers share.
type progress struct {
	spec       *Spec
	runs       atomic.Uint64
	violations atomic.Uint64
	stop       atomic.Bool
}

func (p *progress) add(runs, violations uint64) {
	r, v := p.runs.Add(runs), p.violations.Add(violations)
	if p.spec.Progress != nil {
		p.spec.Progress(r, v)
	}
	if p.spec.Stop && v > 0 {
		p.stop.Store(true)
	}
}

func (p *progress) stopped() bool {
	return p.stop.Load() || p.spec.Cancelled != nil && p.spec.Cancelled.Load()
}

// complete reports whether a strategy has run all it can be complete for.
func complete(s sched.Strategy) bool {
	switch s := s.(type) {
	case *sched.Deviations:
		return s.Complete()
	case *sched.Portfolio:
		return s.Deviations().Complete()
	}
	return false
}

// First makes the strategy whose run number 0 is that of the spec's exploration.
func (spec *Spec) First() (sched.Strategy, error) {
	spec.fill()
	shape, err := survey(spec)
	if err != nil {
		return nil, err
	}
	return spec.strategy(sched.Params{Seed: spec.Seed, Shape: shape, Shards: uint64(spec.Dealt)})
}
