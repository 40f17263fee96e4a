package harness

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"kpsim/properties"
	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// A Spec says what to explore, and how long.
type Spec struct {
	Scenario *scenario.Scenario
	Mutant   string // "" is the right engine
	Strategy string // a name of sched.All; "" is portfolio
	Runs     uint64 // how many, unless the strategy has nothing left before; at least 1
	Seed     uint64
	Workers  int  // 0: one a processor
	Blind    bool // make no witness: whether there is one is all that is asked
	Stop     bool // stop soon after the first violation: then Runs and Violations depend on the workers

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
	Counts     smp.Counts        // over all runs
	Census     Census            // of the probes
	Complete   int               // every schedule of at most so many deviations was run; -1: not even the default one
	First      uint64            // the number of the first violating run
	Witnesses  []*Witness        // one of each property broken, in the order of the catalogue
	Witness    *Witness          // the one of them to show first, nil if there is none
}

// A Crash is a panic of a worker, with the stack it happened on. It unwraps to
// the error that was panicked, if it was one.
type Crash struct {
	Value any
	Stack []byte
}

func (c *Crash) Error() string { return fmt.Sprint(c.Value) }

// Unwrap lets errors.As find a *sim.BugError.
func (c *Crash) Unwrap() error {
	err, _ := c.Value.(error)
	return err
}

// shards is how many instances of the strategy share the runs. It is fixed, so
// that run number i is the same run whatever the number of workers.
const shards = 16

// Explore runs the scenario many times. Errors are about the input; a bug of the
// simulator panics with a *Crash, in the goroutine that called.
func Explore(spec Spec) (*Result, error) {
	if spec.Strategy == "" {
		spec.Strategy = "portfolio"
	}
	spec.Runs = max(spec.Runs, 1)
	shape, err := survey(&spec)
	if err != nil {
		return nil, err
	}
	workers := spec.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, shards)

	var (
		next    atomic.Int64
		total   progress
		results [shards]shard
		wg      sync.WaitGroup
		failed  atomic.Pointer[Crash]
	)
	total.spec = &spec
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() {
				if p := recover(); p != nil {
					failed.CompareAndSwap(nil, &Crash{p, debug.Stack()})
					total.stop.Store(true)
				}
			}()
			rig, err := New(spec.Scenario, spec.Mutant)
			if err != nil {
				sim.Bug("a rig that was built before: %v", err)
			}
			defer rig.Close()
			for i := next.Add(1) - 1; i < shards; i = next.Add(1) - 1 {
				results[i].run(rig, &total, shape, uint64(i))
			}
		}()
	}
	wg.Wait()
	if p := failed.Load(); p != nil {
		panic(p)
	}
	return merge(&spec, results[:])
}

// survey runs the default schedule, which tells the strategies what runs look
// like, and whether the scenario can be run at all.
func survey(spec *Spec) (*sched.Shape, error) {
	if _, err := sched.New(spec.Strategy, sched.Params{}); err != nil {
		return nil, err
	}
	rig, err := New(spec.Scenario, spec.Mutant)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	shape, run := rig.Survey()
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

// A shard is the runs number i, i+shards, i+2*shards … and what they showed.
type shard struct {
	runs, violations uint64
	broken           map[*properties.Property]uint64
	counts           smp.Counts
	first            uint64
	best             map[*properties.Property]*candidate
	complete         bool
	census           census
	err              error
}

// A candidate is a violating run, to be shrunk if none has fewer deviations.
type candidate struct {
	number  uint64
	run     Run
	choices []sched.Choice
	asked   uint64
	by      string
}

const progressEvery = 256

func (s *shard) run(rig *Rig, total *progress, shape *sched.Shape, index uint64) {
	spec := total.spec
	s.broken = make(map[*properties.Property]uint64)
	s.best = make(map[*properties.Property]*candidate)
	strategy, err := sched.New(spec.Strategy, sched.Params{Seed: spec.Seed, Shape: shape, Shard: index, Shards: shards})
	if err != nil {
		s.err = err
		return
	}
	rec := &sched.Recorder{Strategy: strategy}
	clear(rig.census.probes) // a rig serves several shards
	told, toldViolations := uint64(0), uint64(0)
	for i := index; i < spec.Runs && !total.stopped() && rec.Begin(i); i += shards {
		run := rig.Run(rec)
		rec.End(run.Counts.Points)
		s.take(i, run, rec)
		if s.err != nil {
			return
		}
		if s.runs-told >= progressEvery || spec.Stop && s.violations > toldViolations {
			total.add(s.runs-told, s.violations-toldViolations)
			told, toldViolations = s.runs, s.violations
		}
	}
	s.census.add(rig.census.probes)
	total.add(s.runs-told, s.violations-toldViolations)
	s.complete = complete(strategy)
}

// take adds one run to what the shard has seen.
func (s *shard) take(i uint64, run Run, rec *sched.Recorder) {
	if run.Outcome == smp.Refused {
		s.err = run.Err
		return
	}
	s.runs++
	s.counts.Boundaries += run.Counts.Boundaries
	s.counts.Points += run.Counts.Points
	s.counts.Instructions += run.Counts.Instructions
	s.counts.Switches += run.Counts.Switches
	if run.Property == nil {
		return
	}
	if s.violations++; s.violations == 1 {
		s.first = i
	}
	s.broken[run.Property]++
	r := rec.Recording()
	if c := s.best[run.Property]; c == nil || better(run, len(r.Choices), c) {
		s.best[run.Property] = &candidate{i, run, append([]sched.Choice(nil), r.Choices...), r.Asked, rec.String()}
	}
}

// better reports whether a run is a better candidate than c: one that needs no
// CPU to stand still for no reason, then one with fewer deviations.
func better(run Run, deviations int, c *candidate) bool {
	if run.Finding.Slow != c.run.Finding.Slow {
		return c.run.Finding.Slow
	}
	return deviations < len(c.choices)
}

// before reports whether c is to be preferred to b, a candidate of another shard.
func (c *candidate) before(b *candidate) bool {
	if better(c.run, len(c.choices), b) {
		return true
	}
	return !better(b.run, len(b.choices), c) && c.number < b.number
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

// merge adds the shards up, in their order.
func merge(spec *Spec, list []shard) (*Result, error) {
	r := &Result{Broken: make(map[string]uint64), Complete: sched.MostDeviations}
	found := make(map[*properties.Property][]*candidate)
	var all census
	for i := range list {
		s := &list[i]
		if s.err != nil {
			return nil, fmt.Errorf("%s: %w", spec.Scenario.Name, s.err)
		}
		all.add(s.census.probes)
		r.Runs += s.runs
		r.Counts.Boundaries += s.counts.Boundaries
		r.Counts.Points += s.counts.Points
		r.Counts.Instructions += s.counts.Instructions
		r.Counts.Switches += s.counts.Switches
		for p, n := range s.broken {
			r.Broken[p.Name] += n
		}
		if s.violations > 0 && (r.Violations == 0 || s.first < r.First) {
			r.First = s.first
		}
		r.Violations += s.violations
		if !s.complete {
			r.Complete = -1
		}
		for p, c := range s.best {
			found[p] = append(found[p], c)
		}
	}
	if r.Runs == 0 {
		return nil, errors.New("nothing was run")
	}
	r.Census = all.count()
	return r, r.witness(spec, found)
}
