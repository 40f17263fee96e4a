package rig

import (
	"kpsim/internal/scenario"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// goOn says after what a rig's runs go on.
//
// To go on means: the machine runs as if nothing had been found, the monitor that found
// something gets no more events in this run, and all others get every event. The machine is
// right for any bytes, so what the others find did happen; but it may be a consequence.
// After T1, T2, B1, S1 or O1 a CPU may execute garbage, and a run that reaches bytes that
// can't be executed, to a fault that has no handler, or into the kernel with arguments of
// garbage, ends there.
type goOn struct {
	ignored properties.Set // by the user
	past    properties.Set // and after these, which are counted
	broken  []properties.Broken
}

// GoOnAfter makes the rig's runs go on after some properties were broken: the ignored ones,
// which then aren't broken as far as a Run's Property says, and others.
func (r *Rig) GoOnAfter(ignored, past properties.Set) {
	r.goOn.ignored, r.goOn.past = ignored, past
	r.monitors.Pass(r.goOn.passed())
}

// watchFor has only the monitors of some properties watch the rig's runs.
func (r *Rig) watchFor(list []*properties.Property) {
	r.monitors.Unsubscribe(&r.Log)
	r.monitors = properties.NewMonitors(list...)
	r.monitors.Pass(r.goOn.passed())
	r.monitors.Subscribe(&r.Log)
}

func (g *goOn) passed() properties.Set { return g.ignored | g.past }

// NewIgnoring is New for runs that go on after some properties were broken (goOn): the
// ignored ones, which then aren't broken as far as a Run's Property says, and those of past.
func NewIgnoring(sc *scenario.Scenario, mutantName string, ignored, past properties.Set) (*Rig, error) {
	r, err := New(sc, mutantName)
	if err != nil {
		return nil, err
	}
	r.GoOnAfter(ignored, past)
	return r, nil
}

// Ignored returns the properties that the rig's runs ignore.
func (r *Rig) Ignored() properties.Set { return r.goOn.ignored }

// runOn runs the machine. Where something was broken and the run went on, kernel and engine may
// be called with garbage: a pointer that is none, where a kernel would die of it. That ends the
// run, too, and isn't a bug of the simulator.
func (r *Rig) runOn() (o smp.Outcome) {
	if r.goOn.passed() == 0 {
		return r.Machine.Run()
	}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if _, ours := p.(*sched.Divergence); ours || len(r.monitors.Passed()) == 0 {
			panic(p)
		}
		o = smp.Violated
	}()
	return r.Machine.Run()
}

// endsInGarbage makes a refusal that follows from what was broken and ignored the run's end:
// nothing is wrong with the scenario.
func (r *Rig) endsInGarbage(run *Run) {
	if run.Outcome == smp.Refused && r.monitors != nil && len(r.monitors.Passed()) > 0 {
		run.Outcome, run.Err = smp.Violated, nil
	}
}

// wentOn says of a run what it has broken altogether.
func (r *Rig) wentOn(run *Run) {
	g := &r.goOn
	if g.passed() == 0 {
		return
	}
	g.broken = append(g.broken[:0], r.monitors.Passed()...)
	if run.Property != nil { // as the run ended, or was judged when it was over
		g.broken = append(g.broken, properties.Broken{Property: run.Property, Finding: run.Finding})
		run.Property, run.Finding = nil, traces.Finding{}
	}
	for i := range g.broken {
		b := &g.broken[i]
		if b.Ignored = g.ignored.Has(b.Property); !b.Ignored && run.Property == nil {
			run.Property, run.Finding = b.Property, b.Finding
		}
	}
	if len(g.broken) > 0 && run.Outcome == smp.Passed {
		run.Outcome = smp.Violated
	}
	run.Broken = g.broken
}

// EachBroken calls f for each property that the run has broken and that isn't ignored, with
// what was broken before it.
func (run *Run) EachBroken(f func(p *properties.Property, finding *traces.Finding, before properties.Set)) {
	if run.Broken == nil {
		if run.Property != nil {
			f(run.Property, &run.Finding, 0)
		}
		return
	}
	before := properties.Set(0)
	for i := range run.Broken {
		b := &run.Broken[i]
		if !b.Ignored {
			f(b.Property, &b.Finding, before)
		}
		before |= properties.SetOf(b.Property)
	}
}
