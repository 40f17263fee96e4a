package explore

import (
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
	Runs     uint64 // how many, unless the strategy has nothing left before, or every run is broken (everyRun); at least 1
	Seed     uint64
	Delay    uint64         // sched.Params.Delay
	Unbiased bool           // no strategy prefers watched text: sched.Params.Unbiased
	Workers  int            // 0: one a processor
	Blind    bool           // make no witness and no statistics: whether anything is broken is all that is asked
	Ignore   properties.Set // runs go on after these were broken (goOn), as if they weren't properties
	Past     properties.Set // and after these, which count all the same: with properties.Every all that a run breaks is seen
	Stop     bool           // stop soon after the first violation: then Runs and Violations depend on the workers
	Most     int            // of deviations, or of the portfolio's member: how many at most; 0: sched.MostDeviations

	// Share k of Shares, from 1: only the runs that are its own are made. 0 of 0
	// is all of them. See Merge.
	Share, Shares int

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
}

// shards is how many instances of the strategy share the runs. It is fixed, so
// that run number i is the same run whatever the number of workers, and of
// computers.
const shards = 16

// MostShares is into how many shares an exploration can be divided.
const MostShares = shards

// own lists the shards of the spec's share.
func (spec *Spec) own() (list []uint64) {
	for i := range uint64(shards) {
		if spec.Shares <= 1 || i%uint64(spec.Shares) == uint64(spec.Share)-1 {
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
	list := make([]shard, len(own))
	parallel.Run(spec.Workers, len(own), &total.stop, func() (do func(job int), close func()) {
		rig := spec.MustRig().Learnt()
		return func(i int) {
			list[i].run(rig, &total, shape, own[i])
			if list[i].watch.grew { // the next shard is to begin with no more than any other
				rig.Close()
				rig = spec.MustRig().Learnt()
			}
		}, func() { rig.Close() }
	})
	parts := make([]Part, len(own))
	for i := range list {
		if list[i].err != nil {
			return nil, fmt.Errorf("%s: %w", spec.Scenario.Name, list[i].err)
		}
		parts[i] = list[i].Part
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

// A shard makes the runs number i, i+shards, i+2*shards …, and takes down what
// they show.
type shard struct {
	Part
	watch watcher
	err   error
}

const progressEvery = 256

// everyRun is after how many runs a shard ends if each of them was broken. More runs would
// say the same again, except of a property that hardly any run breaks first.
const everyRun = 64

// hopeless reports whether each run so far was broken, and there were enough of them.
// Runs that go on past what they break may differ in what they break next.
func (s *shard) hopeless(spec *Spec) bool {
	return s.Runs == everyRun && s.Violations == everyRun && spec.Past == 0
}

func (s *shard) run(rig *rig.Rig, total *progress, shape *sched.Shape, index uint64) {
	spec := total.spec
	strategy, err := spec.strategy(sched.Params{Seed: spec.Seed, Shape: shape, Shard: index, Shards: shards})
	if err != nil {
		s.err = err
		return
	}
	rec := &sched.Recorder{Strategy: strategy}
	s.Begin(int(index))
	s.watch.begin(rig, spec)
	told, toldViolations := uint64(0), uint64(0)
	for i := index; i < spec.Runs && !total.stopped(); i += shards {
		run, more := rig.NextWatched(rec, i, &s.watch)
		if !more {
			break
		}
		if run.Outcome == smp.Refused {
			s.err = run.Err
			return
		}
		s.watch.done()
		rig.Ended()
		s.Take(i, run, rec)
		if s.Runs-told >= progressEvery || spec.Stop && s.Violations > toldViolations {
			total.add(s.Runs-told, s.Violations-toldViolations)
			told, toldViolations = s.Runs, s.Violations
		}
		if s.hopeless(spec) {
			break
		}
	}
	total.add(s.Runs-told, s.Violations-toldViolations)
	s.Complete = complete(strategy)
	s.watch.end(&s.Part)
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
	return spec.strategy(sched.Params{Seed: spec.Seed, Shape: shape, Shards: shards})
}
