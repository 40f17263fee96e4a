package harness

import (
	"fmt"
	"sync"
	"sync/atomic"

	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// A Storm says which api-storms to run (scenario.Storm): programs with seeds of
// their own, each under many schedules.
type Storm struct {
	Machine  scenario.Machine // settled; its CPUs and fetch model are drawn
	Seed     uint64           // of the first program; the others' follow it
	Programs int              // at least 1
	Runs     uint64           // of each program, at least 1
	Strategy string           // "" is StormStrategy
	Mutant   string           // "" is the right engine
	Workers  int              // 0: one a processor; changes no result

	// Progress, if not nil, is called after each program, by several goroutines.
	Progress func(runs, violations uint64)

	// Cancelled, if not nil, ends it early when it is set.
	Cancelled *atomic.Bool
	_         struct{}
}

// StormStrategy is that of a Storm that names none: every CPU is as likely to
// move as any other, so that the optimizer is at work while functions run.
const StormStrategy = "random"

// A Stormed is what the runs of a Storm showed together.
type Stormed struct {
	Programs   int // that were run
	Runs       uint64
	Violations uint64            // runs that broke a property
	Broken     map[string]uint64 // how many broke each, by the property's name
	During     uint64            // runs in which a jump was written in a function while a task was in a call of it
	Counts     smp.Counts        // over all runs
	Found      []uint64          // the seeds of the programs that broke a property, in order
}

// Scenario is one of the storm's programs.
func (s *Storm) Scenario(seed uint64) *scenario.Scenario { return scenario.Storm(seed, s.Machine) }

// Spec is the exploration that makes the same runs of one of the storm's programs.
func (s *Storm) Spec(seed uint64) Spec {
	s.fill()
	return Spec{Scenario: s.Scenario(seed), Mutant: s.Mutant, Strategy: s.Strategy, Runs: s.Runs, Seed: seed, Workers: s.Workers, Cancelled: s.Cancelled}
}

func (s *Storm) fill() {
	if s.Strategy == "" {
		s.Strategy = StormStrategy
	}
	s.Programs, s.Runs = max(s.Programs, 1), max(s.Runs, 1)
}

// RunStorm runs a storm. Errors are about the input; a bug of the simulator panics
// with a *Crash, in the goroutine that called.
func RunStorm(s Storm) (*Stormed, error) {
	s.fill()
	if _, err := sched.New(s.Strategy, sched.Params{}); err != nil {
		return nil, err
	}
	var (
		mu    sync.Mutex
		stop  atomic.Bool
		total = Stormed{Broken: make(map[string]uint64)}
		list  = make([]*Stormed, s.Programs)
		first error
	)
	inParallel(s.Workers, s.Programs, &stop, func() worker {
		return worker{func(i int) {
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
			list[i] = one
			total.Runs, total.Violations = total.Runs+one.Runs, total.Violations+one.Violations
			if s.Progress != nil {
				s.Progress(total.Runs, total.Violations)
			}
		}, func() {}}
	})
	if first != nil {
		return nil, first
	}
	for _, one := range list {
		if one == nil {
			continue
		}
		total.Programs++
		total.During += one.During
		addCounts(&total.Counts, &one.Counts)
		total.Found = append(total.Found, one.Found...)
		for name, n := range one.Broken {
			total.Broken[name] += n
		}
	}
	return &total, nil
}

// program runs one of the programs.
func (s *Storm) program(seed uint64) (*Stormed, error) {
	sc := s.Scenario(seed)
	if err := scenario.Check(sc); err != nil {
		sim.Bug("a storm that was built, not read: %v", err)
	}
	rig, err := New(sc, s.Mutant)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	shape, _ := rig.Survey()
	strategy, err := sched.New(s.Strategy, sched.Params{Seed: seed, Shape: shape})
	if err != nil {
		return nil, err
	}
	one := &Stormed{Broken: make(map[string]uint64)}
	err = eachRun(rig, strategy, s.Runs, func(_ uint64, run Run) bool {
		one.Runs++
		one.During += b2u(run.During)
		addCounts(&one.Counts, &run.Counts)
		if run.Property != nil {
			if one.Violations == 0 {
				one.Found = []uint64{seed}
			}
			one.Violations++
			one.Broken[run.Property.Name]++
		}
		return s.Cancelled == nil || !s.Cancelled.Load()
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sc.Name, err)
	}
	return one, nil
}
