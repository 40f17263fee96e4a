package storm

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// A Storm says which programs that are drawn to run, with seeds of their own, each
// under many schedules: api-storms (gen.Storm), or any (gen.Fuzz).
type Storm struct {
	Any      bool             // whole scenarios are drawn, and how each is run
	Machine  scenario.Machine // else: settled; its CPUs and fetch model are drawn
	Seed     uint64           // of the first program; the others' follow it
	Programs int              // at least 1
	Runs     uint64           // of each program, at least 1
	Strategy string           // "" is StormStrategy; of Any it is drawn
	Mutant   string           // "" is the right engine
	Workers  int              // 0: one a processor; changes no result

	// Progress, if not nil, is called after each program, by several goroutines.
	Progress func(runs, violations uint64)

	// Cancelled, if not nil, ends it early when it is set.
	Cancelled *atomic.Bool
	_         struct{}
}

// DefaultStrategy is that of a Storm that names none: every CPU is as likely to
// move as any other, so that the optimizer is at work while functions run.
const DefaultStrategy = "random"

// A Result is what the runs of a Storm showed together.
type Result struct {
	Programs   int // that were run
	Runs       uint64
	Violations uint64            // runs that broke a property
	Broken     map[string]uint64 // how many broke each, by the property's name
	During     uint64            // runs in which a jump was written in a function while a task was in a call of it
	Counts     smp.Counts        // over all runs
	Found      []uint64          // the seeds of the programs that broke a property, in order
	First      map[string]uint64 // the first seed that broke each property, by its name
	Optimizing uint64            // runs on machines that write jumps (scenario.Machine.Optimizes)
	Under      uint64            // of these, in how many one was written During a call
	Chosen     uint64            // runs with at least StormPoints points
	Spread     Spread            // of the points of its runs

	Of      map[rules.Edition]*Result // the same of the programs of each edition; nil in these
	edition rules.Edition             // of one program
}

// Points is how many points a run of a storm is to have: with fewer there is
// little that a strategy could choose.
const Points = 50

// add adds what other programs showed, with seeds after these.
func (r *Result) add(o *Result) {
	r.Programs, r.Runs, r.Violations = r.Programs+o.Programs, r.Runs+o.Runs, r.Violations+o.Violations
	r.During, r.Optimizing, r.Under, r.Chosen = r.During+o.During, r.Optimizing+o.Optimizing, r.Under+o.Under, r.Chosen+o.Chosen
	r.Counts.Add(&o.Counts)
	r.Spread.Join(&o.Spread)
	if r.Found = append(r.Found, o.Found...); len(r.Found) > 2*foundMost {
		r.settle()
	}
	for name, n := range o.Broken {
		r.Broken[name] += n
	}
	for name, seed := range o.First {
		if first, is := r.First[name]; !is || seed < first {
			r.First[name] = seed
		}
	}
}

// foundMost is of how many programs that broke a property the seeds are kept: the least.
const foundMost = 10_000

// settle puts the seeds of what was found in order.
func (r *Result) settle() {
	slices.Sort(r.Found)
	r.Found = r.Found[:min(len(r.Found), foundMost)]
}

func newStormed() *Result {
	return &Result{Broken: make(map[string]uint64), First: make(map[string]uint64)}
}

// Add adds what a storm that was made later showed.
func (r *Result) Add(o *Result) {
	r.add(o)
	for e, of := range o.Of {
		r.of(e).add(of)
	}
}

func (r *Result) of(e rules.Edition) *Result {
	if r.Of[e] == nil {
		r.Of[e] = newStormed()
	}
	return r.Of[e]
}

// New returns that of no run.
func New() *Result {
	r := newStormed()
	r.Of = make(map[rules.Edition]*Result)
	return r
}

// fuzzStrategies are those that one program of Any in fuzzOther is run with: they see
// other orders, but half of their runs have a task do all it does before another begins.
var fuzzStrategies = [...]string{"sticky", "arriving", "pct", "pos", "deviations"}

const fuzzOther = 40

// strategy is how the program of a seed is run.
func (s *Storm) strategy(seed uint64) string {
	if s.Strategy != "" {
		return s.Strategy
	}
	if !s.Any {
		return DefaultStrategy
	}
	var r sim.Rand
	r.Seed(seed, 1) // the scenario is drawn from stream 0
	if r.N(fuzzOther) > 0 {
		return DefaultStrategy
	}
	return fuzzStrategies[r.N(len(fuzzStrategies))]
}

// stormDelay is how many questions work may be delayed in most programs: else
// callers make many rounds while the task that calls the API waits for it.
const stormDelay = 200

// delay is Params.Delay of the program of a seed.
func (s *Storm) delay(seed uint64) uint64 {
	var r sim.Rand
	r.Seed(seed, 2)
	if r.N(8) == 0 {
		return 0
	}
	return 1 + uint64(r.N(stormDelay))
}

// Scenario is one of the storm's programs.
func (s *Storm) Scenario(seed uint64) *scenario.Scenario {
	if s.Any {
		return gen.Fuzz(seed)
	}
	return gen.Storm(seed, s.Machine)
}

// Spec is the exploration that makes the same runs of one of the storm's programs.
func (s *Storm) Spec(seed uint64) explore.Spec {
	s.fill()
	return explore.Spec{Scenario: s.Scenario(seed), Mutant: s.Mutant, Strategy: s.strategy(seed), Runs: s.Runs, Seed: seed, Delay: s.delay(seed), Workers: s.Workers, Cancelled: s.Cancelled}
}

func (s *Storm) fill() {
	s.Programs, s.Runs = max(s.Programs, 1), max(s.Runs, 1)
}

// Run runs a storm. Errors are about the input; a bug of the simulator panics
// with a *Crash, in the goroutine that called.
func Run(s Storm) (*Result, error) {
	s.fill()
	if _, err := sched.New(s.strategy(s.Seed), sched.Params{}); err != nil {
		return nil, err
	}
	var (
		mu    sync.Mutex
		stop  atomic.Bool
		runs  uint64
		found uint64
		sum   = New() // in whatever order they end: the result is the same
		first error
	)
	parallel.Run(s.Workers, s.Programs, &stop, func() (do func(job int), close func()) {
		return func(i int) {
			if stop.Load() || s.Cancelled != nil && s.Cancelled.Load() {
				return
			}
			one, err := s.program(s.Seed + uint64(i))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				first = err
				stop.Store(true)
				return
			}
			sum.add(one)
			sum.of(one.edition).add(one)
			runs, found = runs+one.Runs, found+one.Violations
			if s.Progress != nil {
				s.Progress(runs, found)
			}
		}, func() {}
	})
	if first != nil {
		return nil, first
	}
	sum.settle()
	for _, of := range sum.Of {
		of.settle()
	}
	return sum, nil
}

// program runs one of the programs.
func (s *Storm) program(seed uint64) (*Result, error) {
	sc := s.Scenario(seed)
	if err := lang.Check(sc); err != nil {
		sim.Bug("a storm that was built, not read: %v", err)
	}
	r, err := rig.New(sc, s.Mutant)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	shape, _ := r.Survey(s.delay(seed))
	strategy, err := sched.New(s.strategy(seed), sched.Params{Seed: seed, Shape: shape, Delay: s.delay(seed)})
	if err != nil {
		return nil, err
	}
	one := newStormed()
	one.Programs, one.edition = 1, sc.Machine.Edition
	err = r.Runs(strategy, s.Runs, func(_ uint64, run rig.Run) bool {
		one.Runs++
		count(&one.During, run.During)
		count(&one.Optimizing, sc.Machine.Optimizes())
		count(&one.Under, run.During && sc.Machine.Optimizes())
		count(&one.Chosen, run.Counts.Points >= Points)
		one.Spread.Add(run.Counts.Points)
		one.Counts.Add(&run.Counts)
		if run.Property != nil {
			if one.Violations == 0 {
				one.Found = []uint64{seed}
			}
			one.Violations++
			one.Broken[run.Property.Name]++
			one.First[run.Property.Name] = seed
		}
		return s.Cancelled == nil || !s.Cancelled.Load()
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sc.Name, err)
	}
	return one, nil
}

// count counts what is so.
func count(n *uint64, so bool) {
	if so {
		*n++
	}
}
