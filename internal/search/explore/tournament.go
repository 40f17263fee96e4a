package explore

import (
	"fmt"
	"slices"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/rig"
	"kpsim/sched"
)

// A Tournament measures how soon a strategy finds a violation, repeatedly, each time with another
// seed.
type Tournament struct {
	Scenario *scenario.Scenario
	Mutant   string // "": the correct engine
	New      func(sched.Params) sched.Strategy
	Seeds    int    // number of seeds: Seed, Seed+1, …
	Seed     uint64 // the first seed
	Most     uint64 // maximum number of runs of one seed
	Workers  int    // 0: one per processor

	// Cancelled, if not nil, ends the race early when it is set.
	Cancelled *atomic.Bool

	// Progress, if not nil, is called from time to time, by any worker, with the numbers of runs
	// and violations so far.
	Progress func(runs, violations uint64)
	_        struct{}
}

// A Standings is the result of a race.
type Standings struct {
	Each   []uint64       // runs until the first violation, by seed; Most+1: not found
	Runs   []uint64       // the same, ascending
	By     map[string]int // for each property, the number of seeds that broke it first
	Points uint64         // questions, over all runs
	Total  uint64         // runs
}

// Median returns the lower median of the runs until the first violation.
func (l *Standings) Median() uint64 { return l.Runs[(len(l.Runs)-1)/2] }

// Run runs the race. Errors are about the input. The result depends neither on workers nor on
// time.
func (r *Tournament) Run() (*Standings, error) {
	var (
		lap  = &Standings{Each: make([]uint64, r.Seeds), By: make(map[string]int)}
		all  = make([]entrant, r.Seeds)
		spec = Spec{
			Scenario: r.Scenario, Mutant: r.Mutant, Strategy: DefaultStrategy, Workers: r.Workers,
			Cancelled: r.Cancelled, Progress: r.Progress,
		}
		total = progress{spec: &spec}
	)
	err := searches(&spec, r.Seeds, func(i int, rig *rig.Rig, shape *sched.Shape) (err error) {
		all[i], err = r.one(rig, shape, r.Seed+uint64(i), &total)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, e := range all {
		lap.Each[i] = e.runs
		lap.Points += e.points
		lap.Total += min(e.runs, r.Most)
		if e.by != "" {
			lap.By[e.by]++
		}
	}
	lap.Runs = slices.Sorted(slices.Values(lap.Each))
	return lap, nil
}

// An entrant is the result of one seed.
type entrant struct {
	runs, points uint64
	by           string // the property that was broken
}

// one runs one seed until it finds a violation.
func (r *Tournament) one(g *rig.Rig, shape *sched.Shape, seed uint64, total *progress) (entrant, error) {
	e, told := entrant{runs: r.Most + 1}, uint64(0)
	err := g.Runs(r.New(sched.Params{Seed: seed, Shape: shape}), r.Most, func(i uint64, run rig.Run) bool {
		e.points += run.Counts.Points
		if run.Property != nil {
			e.runs, e.by = i+1, run.Property.Name
		}
		if told++; told == progressEvery {
			total.add(told, 0)
			told = 0
		}
		return run.Property == nil && !total.stopped()
	})
	found := uint64(0)
	if e.by != "" {
		found = 1
	}
	total.add(told, found)
	return e, err
}

// searches makes n searches of the spec. Each is made by one of its workers, on a rig that the
// worker keeps. Errors are about the input.
func searches(spec *Spec, n int, one func(i int, rig *rig.Rig, shape *sched.Shape) error) error {
	shape, err := survey(spec)
	if err != nil {
		return err
	}
	var (
		stop atomic.Bool
		errs = make([]error, n)
	)
	parallel.Run(spec.Workers, n, &stop, func() (do func(job int), close func()) {
		rig := spec.MustRig().Learnt()
		return func(i int) { errs[i] = one(i, rig, shape) }, rig.Close
	})
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", spec.Scenario.Name, err)
		}
	}
	return nil
}

// First returns a race's result in the form of FirstWitness, for one property.
func (l *Standings) First(property string, most uint64) First {
	f := First{Property: property, Seeds: len(l.Each), Bound: most, Found: []uint64{}}
	for _, n := range l.Runs {
		if n <= most {
			f.Found = append(f.Found, n)
		}
	}
	return f
}
