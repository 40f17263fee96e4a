package harness

import (
	"fmt"
	"slices"
	"sync/atomic"

	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/smp"
)

// A Race says what strategy is to find a violation, again and again, each time
// with another seed.
type Race struct {
	Scenario *scenario.Scenario
	Mutant   string // "" is the right engine
	New      func(sched.Params) sched.Strategy
	Seeds    int    // how often: the seeds are Seed, Seed+1, …
	Seed     uint64 // the first
	Most     uint64 // runs of one seed, after which it has not found it
	Workers  int    // 0: one a processor

	// Cancelled, if not nil, ends the race early when it is set.
	Cancelled *atomic.Bool
	_         struct{}
}

// A Lap is what came of a race.
type Lap struct {
	Each   []uint64       // runs to the first violation, by seed; Most+1: not found
	Runs   []uint64       // the same, ascending
	By     map[string]int // how many seeds found a violation of each property first
	Points uint64         // questions, over all runs
	Total  uint64         // runs
}

// Median returns the lower median of the runs it took.
func (l *Lap) Median() uint64 { return l.Runs[(len(l.Runs)-1)/2] }

// Run runs the race. Errors are about the input. What it returns depends on
// neither workers nor time.
func (r *Race) Run() (*Lap, error) {
	rig, err := New(r.Scenario, r.Mutant)
	if err != nil {
		return nil, err
	}
	shape, run := rig.Survey()
	rig.Close()
	if run.Outcome == smp.Refused {
		return nil, fmt.Errorf("%s: %w", r.Scenario.Name, run.Err)
	}
	var (
		lap     = &Lap{Each: make([]uint64, r.Seeds), By: make(map[string]int)}
		all     = make([]entrant, r.Seeds)
		refused error
		stop    atomic.Bool
	)
	inParallel(r.Workers, r.Seeds, &stop, func() worker {
		rig := newRig(&Spec{Scenario: r.Scenario, Mutant: r.Mutant}).learnt()
		return worker{func(i int) { all[i] = r.one(rig, shape, r.Seed+uint64(i)) }, rig.Close}
	})
	for i, e := range all {
		lap.Each[i] = e.runs
		lap.Points += e.points
		lap.Total += min(e.runs, r.Most)
		if e.by != "" {
			lap.By[e.by]++
		}
		if e.err != nil {
			refused = e.err
		}
	}
	if refused != nil {
		return nil, fmt.Errorf("%s: %w", r.Scenario.Name, refused)
	}
	lap.Runs = slices.Sorted(slices.Values(lap.Each))
	return lap, nil
}

// entrant is what one seed came to.
type entrant struct {
	runs, points uint64
	by           string // the property broken
	err          error
}

// one runs one seed until it has found a violation.
func (r *Race) one(rig *Rig, shape *sched.Shape, seed uint64) (e entrant) {
	s := r.New(sched.Params{Seed: seed, Shape: shape})
	for i := uint64(0); i < r.Most; i++ {
		if r.Cancelled != nil && r.Cancelled.Load() {
			break
		}
		run, more := rig.Next(s, i)
		if !more {
			break
		}
		e.points += run.Counts.Points
		if run.Outcome == smp.Refused {
			e.err = run.Err
			return e
		}
		if run.Property != nil {
			e.runs, e.by = i+1, run.Property.Name
			return e
		}
	}
	e.runs = r.Most + 1
	return e
}
