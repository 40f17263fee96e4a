package mutantsearch

import (
	"cmp"
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// A Field is a set of scenarios in which barriers are left out one at a time, under one
// model of memory.
type Field struct {
	Model     smp.Ordering
	Scenarios []*Ground // in the order of the library
}

// A Ground is a scenario of a field.
type Ground struct {
	Name   string
	Broken string // the property that is broken with all barriers in place, in as many schedules; "": none
	sc     *scenario.Scenario
	met    []bool // by barrier: whether a run reaches it
	length uint64 // boundaries of its runs, together
}

// A Dropped is how it fared that a barrier was left out.
type Dropped struct {
	Scenario string // where the drop was noticed; "": nowhere
	Property string // the first property that noticed
	After    uint64 // the schedule that noticed, from 1
	Searched int    // the number of scenarios searched
	Met      int    // the number of scenarios that reach the barrier
}

// Survey runs each scenario of the library whose engine is in Go, as often as Most says, with all barriers in place:
// a property broken there says nothing about a mutant. It returns nil if it was cancelled.
func (h *Search) Survey(model smp.Ordering, names []string) (*Field, error) {
	f := &Field{Model: model}
	for _, name := range names {
		sc, err := library.Load(name)
		if err != nil {
			return nil, err
		}
		if sc.SetMemory(model.String()) != nil { // it can't run under the model
			continue
		}
		g := &Ground{Name: name, sc: sc, met: make([]bool, len(kapi.Places()))}
		res, err := explore.Run(explore.Spec{
			Scenario: sc, Seed: h.Seed, Runs: h.Most, Workers: h.Workers, Blind: true, Stop: true,
			Cancelled: h.Cancelled, Progress: h.Progress,
			Look: func() explore.Look { return &meets{} },
		})
		switch {
		case h.cancelled():
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("scenario %s: %w", name, err)
		}
		for _, look := range res.Looks {
			l := look.(*meets)
			for b, met := range l.met {
				g.met[b] = g.met[b] || met
			}
			g.length += l.length
		}
		if sc.Expect.Sometimes { // seldom, it may be
			g.Broken = sc.Expect.Property
		}
		for property := range res.Broken {
			if g.Broken == "" || property < g.Broken {
				g.Broken = property
			}
		}
		f.Scenarios = append(f.Scenarios, g)
	}
	return f, nil
}

// mostGrounds is the most scenarios that are searched without a barrier: of those that reach it the ones with the
// shortest runs, of whose schedules a search covers a larger part. Many scenarios reach the barriers of locks.
const mostGrounds = 12

// Without searches scenarios of the field that reach a barrier, without the barrier, until one shows a difference.
// name is the mutant's. It returns nil if it was cancelled.
func (h *Search) Without(f *Field, b kapi.Barrier, name string) (*Dropped, error) {
	d := &Dropped{}
	var whole []*Ground // those that break nothing with it
	for _, g := range f.Scenarios {
		if g.met[b] {
			d.Met++
			if g.Broken == "" {
				whole = append(whole, g)
			}
		}
	}
	slices.SortStableFunc(whole, func(a, b *Ground) int { return cmp.Compare(a.length, b.length) })
	for _, g := range whole[:min(len(whole), mostGrounds)] {
		d.Searched++
		race := explore.Tournament{
			Scenario: g.sc, Mutant: name, Seeds: 1, Seed: h.Seed, Most: h.Most, Workers: h.Workers,
			Cancelled: h.Cancelled, Progress: h.Progress,
			New: func(p sched.Params) sched.Strategy { return sched.NewPortfolio(p) },
		}
		lap, err := race.Run()
		if err != nil {
			return nil, fmt.Errorf("scenario %s, mutant %s: %w", g.Name, name, err)
		}
		if h.cancelled() {
			return nil, nil
		}
		for property := range lap.By {
			d.Scenario, d.Property, d.After = g.Name, property, lap.Each[0]
			return d, nil
		}
	}
	return d, nil
}

// meets records which barriers the runs of a shard reach, and how long they are.
type meets struct {
	met    []bool
	length uint64
}

// Begin implements explore.Look.
func (l *meets) Begin(*rig.Rig) {}

// Took implements explore.Look.
func (l *meets) Took(_ *rig.Rig, run *rig.Run) { l.length += run.Counts.Boundaries }

// End implements explore.Look.
func (l *meets) End(r *rig.Rig) {
	l.met = make([]bool, len(kapi.Places()))
	for b := range l.met {
		l.met[b] = r.Machine.Weak().Met(kapi.Barrier(b))
	}
}
