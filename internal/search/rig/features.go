package rig

import (
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// features records what a strategy can learn from a run. For each probe or piece of text, it
// is which event came right after which, and whether on the same CPU; and where the other CPUs
// stood then. It also records which property was broken where.
type features struct {
	on   bool // a strategy learns
	cpus int
	last [64]uint64
	at   [sim.MaxCPUs]uint64 // what each CPU did last, 0 if nothing
	list []uint64
}

var featureKinds = []traces.Kind{
	kpev.ApiEnter, kpev.ApiReturn, kpev.Handler, kpev.Missed, kpev.Arm, kpev.Disarm,
	kpev.Optimizing, kpev.Optimized, kpev.Unoptimizing, kpev.Unoptimized, smpev.TextStore, smpev.Commit,
}

// standKinds are the kinds of event that say where a CPU stands.
var standKinds = []traces.Kind{smpev.Exec, smpev.Trap, smpev.Return, smpev.Switch, smpev.Fire}

func (f *features) begin() {
	f.list = f.list[:0]
	clear(f.last[:])
	clear(f.at[:f.cpus])
}

// Event implements traces.Sink.
func (f *features) Event(e *traces.Event) *traces.Finding {
	about, what := e.A, uint64(e.Kind)
	switch e.Kind {
	case smpev.Exec, smpev.Trap, smpev.Return, smpev.Switch, smpev.Fire:
		f.at[e.CPU%sim.MaxCPUs] = sim.Mix(about<<16 ^ what)
		return nil
	}
	if e.Kind == kpev.ApiEnter || e.Kind == kpev.ApiReturn {
		about, what = e.B, what|e.A<<16
	}
	now := sim.Mix(about<<16 ^ what)
	last := &f.last[sim.Mix(about)>>58]
	f.list = append(f.list, now^*last<<1^uint64(e.CPU)<<1)
	*last = now ^ uint64(e.CPU)

	here := int(e.CPU % sim.MaxCPUs)
	f.at[here] = now
	for cpu, at := range f.at[:f.cpus] {
		if at != 0 && cpu != here {
			f.list = append(f.list, sim.Mix(now+uint64(here))^sim.Mix(at+uint64(cpu)))
		}
	}
	return nil
}

// broken adds the features of a violation.
func (f *features) broken(run *Run) {
	if run.Property == nil {
		return
	}
	h := run.Finding.Place
	for _, c := range []byte(run.Property.ID) {
		h = sim.Mix(h ^ uint64(c))
	}
	f.list = append(f.list, h)
}

// learn sets whether a strategy uses the features of later runs.
func (r *Rig) learn(on bool) {
	if r.features.on == on {
		return
	}
	if r.features.on = on; on {
		r.features.cpus = r.Scenario.Machine.CPUs
		r.Log.Subscribe(&r.features, featureKinds...)
		r.Log.Subscribe(&r.features, standKinds...)
	} else {
		r.Log.Unsubscribe(&r.features, featureKinds...)
		r.Log.Unsubscribe(&r.features, standKinds...)
	}
}

// A Watcher examines a sample of a search's runs.
type Watcher interface {
	// Sample reports whether run number i is in the sample.
	Sample(i uint64) bool
	// Over returns the chooser of such a run, which in turn asks ch.
	Over(ch sim.Chooser) sim.Chooser
}

// Next makes run number i of a strategy, if there is one.
func (r *Rig) Next(s sched.Strategy, i uint64) (run Run, more bool) { return r.NextWatched(s, i, nil) }

// NextWatched is Next, watched by w unless that is nil.
func (r *Rig) NextWatched(s sched.Strategy, i uint64, w Watcher) (run Run, more bool) {
	if !s.Begin(i) {
		return run, false
	}
	l, o := sched.LearnerOf(s), sched.ObserverOf(s)
	sampled := w != nil && w.Sample(i)
	r.learn(l != nil)
	r.ObserveAfresh(o)
	if sampled && o == nil {
		run = r.Run(w.Over(s))
	} else {
		run = r.Run(s)
	}
	if l != nil {
		r.features.broken(&run)
		l.Learn(r.features.list)
	}
	s.End(run.Counts.Points)
	// A run has one observer, so the sampled run is made again.
	if rec, ok := s.(*sched.Recorder); ok && sampled && o != nil {
		again := sched.NewExact(rec.Recording())
		again.Begin(0)
		r.Run(w.Over(again))
	}
	return run, true
}

// Runs makes at most the given number of runs of a strategy. It ends when the strategy has no
// more, or when more returns false. The error is why the machine refused.
func (r *Rig) Runs(s sched.Strategy, most uint64, more func(i uint64, run Run) bool) error {
	for i := range most {
		run, ok := r.Next(s, i)
		if !ok {
			break
		}
		if run.Outcome == smp.Refused {
			return run.Err
		}
		if !more(i, run) {
			break
		}
	}
	return nil
}

// surveyed is the number of runs of a survey besides the default one. In the default run a CPU
// that is the only one left has no boundaries, because there is no other CPU to switch to.
const surveyed = 8

// Survey runs the default schedule and a few others, always the same. It returns what
// strategies must know about runs, and the result of the default one. In the others work is
// delayed by at most delay questions (sched.Params.Delay), 0 for any number: waits for work
// are then shorter, and so CPUs reach fewer boundaries.
func (r *Rig) Survey(delay uint64) (*sched.Shape, Run) {
	run := r.Play(new(sched.Default))
	shape := &sched.Shape{Questions: run.Counts.Points, Engine: r.wiring.config.Booted != nil}
	for _, s := range r.Machine.Interrupts().Sources() {
		shape.Sources = append(shape.Sources, sched.Source{CPU: s.CPU(), Most: s.AtMost})
	}
	s := &sched.Surveyor{Strategy: sched.NewSticky(sched.Params{Length: shape.Questions, Mean: surveyMean,
		Delay: delay})}
	for i := range uint64(surveyed) {
		s.Begin(i)
		s.End(r.Run(s).Counts.Points)
	}
	shape.CPUs = s.Mean(surveyed)
	return shape, run
}

// Play makes the first run of a strategy.
func (r *Rig) Play(s sched.Strategy) Run {
	s.Begin(0)
	run := r.Run(s)
	s.End(run.Counts.Points)
	return run
}

// surveyMean is the mean number of boundaries after which those runs switch.
const surveyMean = 16
