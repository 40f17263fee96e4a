package rig

import (
	"kpsim/internal/scenario"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// goOn says after which violations a rig's runs continue.
//
// To continue means that the machine runs as if nothing had been found. The monitor that found
// the violation gets no more events in this run; all others get every event. The machine is
// right for any bytes, so what the other monitors find did happen, but it may be a consequence
// of the first violation. After T1, T2, B1, S1 or O1 a CPU may execute garbage. A run ends
// there if it reaches bytes that can't be executed or a fault that has no handler, or enters
// the kernel with garbage arguments.
type goOn struct {
	ignored properties.Set // properties that the user ignores
	past    properties.Set // other properties after which runs continue; their violations count
	broken  []properties.Broken
}

// GoOnAfter makes the rig's runs continue after some properties were broken. A Run's Property
// is never an ignored one; it may be one of past.
func (r *Rig) GoOnAfter(ignored, past properties.Set) {
	r.goOn.ignored, r.goOn.past = ignored, past
	r.monitors.Pass(r.goOn.passed())
}

// watchFor restricts the monitors that watch the rig's runs to those of some properties.
func (r *Rig) watchFor(list []*properties.Property) {
	r.monitors.Unsubscribe(&r.Log)
	r.monitors = properties.NewMonitors(list...)
	r.monitors.Pass(r.goOn.passed())
	r.monitors.Subscribe(&r.Log)
}

func (g *goOn) passed() properties.Set { return g.ignored | g.past }

// NewIgnoring is New for runs that continue after some properties were broken (goOn). A Run's
// Property is never an ignored one; it may be one of past.
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

// runOn runs the machine. Where something was broken and the run continued, kernel and engine
// may be called with garbage, such as an invalid pointer, of which a real kernel would die.
// Such a panic ends the run, too, and isn't a bug of the simulator.
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

// endsInGarbage turns a refusal that follows from an ignored violation into the end of the
// run, because nothing is wrong with the scenario.
func (r *Rig) endsInGarbage(run *Run) {
	if run.Outcome == smp.Refused && r.monitors != nil && len(r.monitors.Passed()) > 0 {
		run.Outcome, run.Err = smp.Violated, nil
	}
}

// wentOn records in a run everything that it has broken.
func (r *Rig) wentOn(run *Run) {
	g := &r.goOn
	if g.passed() == 0 {
		return
	}
	g.broken = append(g.broken[:0], r.monitors.Passed()...)
	if run.Property != nil { // broken by how the run ended, or by the judgement after its end
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
