package rig

import (
	"kpsim/internal/scenario"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Observe makes o receive the steps of each run from the next one on, and what they touch in
// the machine and in the state of the properties' monitors. nil removes the observer. Nothing
// else of a run changes.
func (r *Rig) Observe(o sim.Observer) {
	r.Machine.Footprint().Observe(o)
	r.tap(o)
}

// ObserveAfresh is Observe for a strategy: what it observes of a run depends on
// nothing that ran before (smp.Footprint.ObserveAfresh).
func (r *Rig) ObserveAfresh(o sim.Observer) {
	r.Machine.Footprint().ObserveAfresh(o, false)
	r.tap(o)
}

// Learnt runs a few schedules, always the same ones. They find out which memory is shared, for
// strategies that receive steps from their first run on.
func (r *Rig) Learnt() *Rig {
	s := sched.NewSticky(sched.Params{Length: r.Play(new(sched.Default)).Counts.Points, Mean: surveyMean})
	r.tap(Deaf{})
	for i := range uint64(surveyed) {
		r.Machine.Footprint().ObserveAfresh(Deaf{}, true)
		s.Begin(i)
		s.End(r.Run(s).Counts.Points)
	}
	r.Observe(nil)
	return r
}

// Deaf is an observer that ignores every step.
type Deaf struct{}

// Stepped implements sim.Observer.
func (Deaf) Stepped(sim.Mover, []sim.Touch) {}

func (r *Rig) tap(o sim.Observer) {
	if r.relate == nil {
		if o == nil {
			return
		}
		r.relate = newRelate(r)
	}
	if q := r.relate; q.on != (o != nil) {
		if q.on = !q.on; q.on {
			r.Log.Subscribe(q, q.kinds...)
		} else {
			r.Log.Unsubscribe(q, q.kinds...)
		}
	}
}

// ObserveAtomicIRQs is Observe, with the machine's ObserveAtomicIRQs.
func (r *Rig) ObserveAtomicIRQs(o sim.Observer) {
	r.Observe(o)
	r.Machine.Footprint().ObserveAtomicIRQs(o)
}

// relate tells an observed machine how the events of a step relate to those of other steps,
// using the properties whose monitors receive these events.
type relate struct {
	r     *Rig
	on    bool
	kinds []traces.Kind
	heed  [][]monitor // by kind: the monitors that receive it
	taken properties.Touched
}

// monitor is one of properties.All: its index there, and what its events touch.
type monitor struct {
	place   int
	touches func(t *properties.Touched, e *traces.Event)
}

func newRelate(r *Rig) *relate {
	q := &relate{r: r, taken: properties.NewTouched(r.arch)}
	from, to := kernel.ExecRange(r.arch)
	q.taken.Lent = append(q.taken.Lent, [2]uint64{uint64(from), uint64(to)})
	for _, m := range r.modules {
		for _, s := range [...]kapi.Section{m.Core, m.Init} {
			if s.Size > 0 {
				q.taken.Lent = append(q.taken.Lent, [2]uint64{uint64(s.At), uint64(s.At) + uint64(s.Size)})
			}
		}
	}
	for i := range r.Scenario.Texts {
		if t := &r.Scenario.Texts[i]; t.Own {
			q.taken.Lent = append(q.taken.Lent, [2]uint64{uint64(t.At), uint64(t.At) + uint64(len(t.Code))})
		}
	}
	for i := range r.patchers.settings {
		if e := &r.patchers.settings[i]; e.Kind == smpev.Form {
			q.taken.Sites = append(q.taken.Sites, [2]uint64{e.A, e.A + e.C>>56})
		}
	}
	for i, p := range properties.All {
		if p.Alone {
			continue
		}
		for _, k := range p.Kinds {
			for int(k) >= len(q.heed) {
				q.heed = append(q.heed, nil)
			}
			if len(q.heed[k]) == 0 {
				q.kinds = append(q.kinds, k)
			}
			q.heed[k] = append(q.heed[k], monitor{i, p.Touches})
		}
	}
	return q
}

// begin begins a run.
func (q *relate) begin() {
	q.taken.Addrs = q.taken.Addrs[:0]
	for _, at := range q.r.probes.addrs {
		q.taken.Addrs = append(q.taken.Addrs, uint64(at))
	}
}

// Event implements traces.Sink.
func (q *relate) Event(e *traces.Event) *traces.Finding {
	foot := q.r.Machine.Footprint()
	if !foot.Observing() {
		return nil
	}
	heed := q.heed[e.Kind]
	var text properties.Touch // the last range: several monitors look at that of a freed module
	for i := range heed {
		m := &heed[i]
		if m.touches == nil {
			foot.TouchEvent(m.place, 0, true)
			continue
		}
		q.taken.Begin()
		m.touches(&q.taken, e)
		list := q.taken.List()
		for i := range list {
			t := &list[i]
			switch {
			case t.Apart:
				foot.TouchEventApart(m.place, t.Object, t.Write)
			case t.Size == 0:
				foot.TouchEvent(m.place, t.Object, t.Write)
			case *t != text:
				text = *t
				foot.TouchText(arch.Addr(t.Object), int(t.Size), t.Write)
			}
		}
	}
	return nil
}

// Final returns a digest of the state in which the last run ended: its outcome, the text and
// the data, what each task's calls returned, and how often each probe was missed. Two orders
// of steps that commute have the same digest; their logs' digests differ.
func (r *Rig) Final() uint64 {
	h := sim.Mix(uint64(r.last.Outcome)) ^ r.Machine.State().MemoryDigest()
	if p := r.last.Property; p != nil {
		for _, c := range p.ID {
			h = sim.Mix(h ^ uint64(c))
		}
		h = sim.Mix(h ^ r.last.Finding.Place)
	}
	for i, p := range r.tasks.all {
		h += sim.Mix(p.came ^ sim.Mix(uint64(i)))
	}
	for i := range r.wiring.config.Probes {
		s := r.wiring.engine.Status(i)
		h = sim.Mix(h ^ uint64(s.Missed))
		if r.Scenario.Probes[i].Kind == scenario.ProbeKretprobe {
			h = sim.Mix(h ^ uint64(s.NoInstance))
		}
	}
	return h
}
