package rig

import (
	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/linux/linuxev"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// judges are the monitors of the runs, and say after which violations a run continues.
//
// To continue means that the machine runs as if nothing had been found. The monitor that found
// the violation gets no more events in this run, unless it is a known find; all others get every event. The machine is
// right for any bytes, so what the other monitors find did happen, but it may be a consequence
// of the first violation. After T1, T2, B1, S1 or O1 a CPU may execute garbage. A run ends
// there if it reaches bytes that can't be executed or a fault that has no handler, or enters
// the kernel with garbage arguments.
type judges struct {
	*Plan
	monitors *properties.Monitors // nil in a twin
	linear   *Linear              // nil: calls about the same object can't overlap
	GoOn
	reads   map[string]string // by message: its wording (ReadsAs)
	broken  []properties.Broken
	onClaim func(k traces.Kind, a, b, c uint64) // claim, as a value
}

// listen makes monitors of all properties follow the runs.
func (j *judges) listen() {
	j.monitors, j.onClaim = properties.NewMonitors(properties.All...), j.claim
	j.monitors.Subscribe(&j.Log)
}

// GoOnAfter makes the rig's runs continue after some violations.
func (j *judges) GoOnAfter(g GoOn) {
	j.GoOn = g
	j.pass()
}

// pass tells the monitors after what a run goes on.
func (j *judges) pass() {
	j.monitors.Pass(j.Ignored | j.Past)
	j.monitors.Know(nil)
	if len(j.Known) > 0 {
		j.monitors.Know(j.goOnBehind)
	}
}

// only restricts the monitors that watch the rig's runs to those of some properties.
func (j *judges) only(list []*properties.Property) {
	j.monitors.Unsubscribe(&j.Log)
	j.monitors = properties.NewMonitors(list...)
	j.pass()
	j.monitors.Subscribe(&j.Log)
}

// withoutTwin disables the property that compares calls with those of a run without probes,
// because it isn't known which calls there will be.
func (j *judges) withoutTwin() {
	var list []*properties.Property
	for _, p := range properties.All {
		if p != &properties.Transparent {
			list = append(list, p)
		}
	}
	j.only(list)
}

// GoByHand says that calls may be made from now on that the twin hasn't made. The run is no
// longer compared with the twin's. All other properties judge it as before.
func (j *judges) GoByHand() { j.monitors.Mute(properties.SetOf(&properties.Transparent)) }

// begin makes the monitors, if there are any, begin a run. It tells them which tasks
// want a CPU from the beginning, because the Wakes of these tasks came earlier.
func (j *judges) begin() {
	if j.monitors == nil {
		return
	}
	j.monitors.Reset()
	if j.linear != nil {
		j.linear.calls, j.linear.now = j.linear.calls[:0], 0
	}
	for _, t := range j.Machine.Tasks().All() {
		if t.OnQueue() && !t.Idle() {
			j.Log.Tell(smpev.Wake, uint8(t.CPUID()), traces.NoTask, uint64(t.ID), 0, 0)
		}
	}
}

// end makes the monitors judge a run that has passed. drained says whether e has done all its
// work.
func (j *judges) end(e engine.Engine, drained bool) {
	if j.Log.Found == nil && j.monitors != nil {
		e.Claim(j.onClaim)
		j.tellCounts()
		j.Log.Found = j.monitors.End(drained)
	}
}

// tellCounts tells the monitors which counts tasks and modules still hold at the end of a run.
func (j *judges) tellCounts() {
	for _, t := range j.Machine.Tasks().All() {
		if n := t.PreemptCount(); n != 0 {
			j.claim(linuxev.Remains, linuxev.Preemption, uint64(n), uint64(t.CPUID()))
		}
	}
	for _, m := range j.modules {
		j.claim(smpev.Holds, m.Number(), uint64(m.Holds()), 0)
	}
}

// NewGoingOn is New for runs that continue after some violations (judges).
func NewGoingOn(sc *scenario.Scenario, mutantName string, g GoOn) (*Rig, error) {
	r, err := New(sc, mutantName)
	if err != nil {
		return nil, err
	}
	r.Judges.GoOnAfter(g)
	return r, nil
}

// runOn runs the machine. Where something was broken and the run continued, kernel and engine
// may be called with garbage, such as an invalid pointer, of which a real kernel would die.
// Such a panic ends the run, too, and isn't a bug of the simulator.
func (j *judges) runOn() (o smp.Outcome) {
	if !j.goesOn() {
		return j.Machine.Run()
	}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if _, ours := p.(*sched.Divergence); ours || len(j.monitors.Passed()) == 0 {
			panic(p)
		}
		o = smp.Violated
	}()
	return j.Machine.Run()
}

// endsInGarbage turns a refusal that follows from an ignored violation into the end of the
// run, because nothing is wrong with the scenario.
func (j *judges) endsInGarbage(run *Run) {
	if run.Outcome == smp.Refused && j.monitors != nil && len(j.monitors.Passed()) > 0 {
		run.Outcome, run.Err = smp.Violated, nil
	}
}

// wentOn records in a run everything that it has broken.
func (j *judges) wentOn(run *Run) {
	if !j.goesOn() {
		return
	}
	j.broken = append(j.broken[:0], j.monitors.Passed()...)
	if run.Property != nil { // broken by how the run ended, or by the judgement after its end
		j.broken = append(j.broken, properties.Broken{Property: run.Property, Finding: run.Finding,
			Known: j.knows(run.Property, &run.Finding) >= 0})
		run.Property, run.Finding = nil, traces.Finding{}
	}
	for i := range j.broken {
		b := &j.broken[i]
		if b.Ignored = j.Ignored.Has(b.Property); !b.Ignored && !b.Known && run.Property == nil {
			run.Property, run.Finding = b.Property, b.Finding
		}
	}
	if len(j.broken) > 0 && run.Outcome == smp.Passed {
		run.Outcome = smp.Violated
	}
	run.Broken = j.broken
}

// EachBroken calls f for each property that the run has broken and that isn't ignored or known, with
// the properties that were broken before it, apart from known findings.
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
		switch {
		case b.Known:
			continue
		case !b.Ignored:
			f(b.Property, &b.Finding, before)
		}
		before |= properties.SetOf(b.Property)
	}
}
