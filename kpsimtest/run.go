package kpsimtest

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/sched"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Run is one run of a scenario.
type Run struct {
	Number   uint64 // of its schedule, from 1; the same options draw the same schedules
	Ended    string // how: "passed", "violated", "stuck", "exhausted"
	Property string // the name of the property that it breaks; "": none
	Place    string // where, as "victim+0x1"; "" if it has none
	Message  string // how
	Digest   uint64 // of its events

	events []traces.Event
	trace  func() *traces.File
}

// Events returns the events of the run, of these kinds, or all of them: those of smp/smpev and kprobes/kpev. It is
// valid until the next run.
func (r *Run) Events(kinds ...traces.Kind) iter.Seq[traces.Event] {
	return func(yield func(traces.Event) bool) {
		for _, e := range r.events {
			if (len(kinds) == 0 || slices.Contains(kinds, e.Kind)) && !yield(e) {
				return
			}
		}
	}
}

// Trace returns the shrunk trace of the property that the run breaks; nil: it breaks none. It takes some seconds at
// the most. It is valid until the next run.
func (r *Run) Trace() *traces.File {
	if r.Property == "" {
		return nil
	}
	return r.trace()
}

// Save writes a trace, whose folder is made if need be. kpsim replays and explains it.
func Save(t TB, file string, f *traces.File) {
	t.Helper()
	text, err := inputs.TraceText(file, f)
	if err == nil {
		err = write(filepath.Clean(file), text)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// Each makes runs of drawn schedules of the scenario, all on one machine, and gives each with its events. Deviations
// has no effect.
//
//	for run := range kpsimtest.Each(t, "probe.star") {
//		for e := range run.Events(smpev.TextStore) { … }
//	}
func Each[S Scenario](t TB, scenario S, options ...Option) iter.Seq[*Run] {
	t.Helper()
	in, c := begin(t, scenario, options)
	return func(yield func(*Run) bool) {
		var all recorder
		listen := func(r *rig.Rig) { r.Log.SubscribeAll(&all) }
		draw(t, in, c, listen, func(r *rig.Rig, i uint64, of *rig.Run, rec *sched.Recorder) bool {
			run := &Run{Number: i + 1, Ended: of.Outcome.String(), Digest: of.Digest, events: all.events}
			if of.Property != nil {
				run.Property, run.Message = of.Property.Name, r.Message(of)
				if of.Finding.Place != 0 {
					run.Place = r.Machine.Names().SymbolName(of.Finding.Place)
				}
				found := shrink.NewFound(i, of, of.Property, &of.Finding, 0, rec)
				run.trace = func() *traces.File { return shrunk(t, in, c, found).File }
			}
			more := yield(run)
			all.events = all.events[:0]
			return more
		})
	}
}

// Reaches fails the test if no drawn schedule of the scenario executes the first instruction of a function. A test
// that Never passes is empty if what it is about is never reached: the function that a patched call goes to, for
// example. Deviations has no effect.
func Reaches[S Scenario](t TB, scenario S, function string, options ...Option) {
	t.Helper()
	in, c := begin(t, scenario, options)
	to := new(arrival)
	listen := func(r *rig.Rig) {
		t.Helper()
		at, ok := r.Func(function)
		if !ok {
			t.Fatalf("%s: %v", in.Name, noFunction(function, r.Scenario))
		}
		r.Machine.Memory().Landmark(at)
		r.Log.Subscribe(to, smpev.Arrives)
		to.at = at
	}
	runs := uint64(0)
	draw(t, in, c, listen, func(_ *rig.Rig, i uint64, _ *rig.Run, _ *sched.Recorder) bool {
		runs = i + 1
		return !to.seen
	})
	if !to.seen {
		t.Errorf("%s: none of %d schedules reaches %s", in.Name, runs, function)
	}
}

// noFunction is the error about a name that no function has.
func noFunction(name string, s *scenario.Scenario) error {
	var names []string
	for i := range s.Texts {
		names = append(names, s.Texts[i].Name)
	}
	return fmt.Errorf("no function is called %q; %s", name, nearest.OrAll(name, names))
}

// An arrival waits until an instruction at an address is executed.
type arrival struct {
	at   arch.Addr
	seen bool
}

// Event implements traces.Sink.
func (a *arrival) Event(e *traces.Event) *traces.Finding {
	a.seen = a.seen || e.A == uint64(a.at)
	return nil
}

// shrunk returns the witness that a run becomes.
func shrunk(t TB, in *inputs.Input, c *config, run *shrink.Found) *shrink.Witness {
	t.Helper()
	spec := specOf(in, c)
	list, err := shrink.Witnesses(spec.Origin(), []shrink.Found{*run})
	if err != nil {
		t.Fatalf("%s: %v", in.Name, err)
	}
	return list[0]
}

// A recorder keeps all events of a run.
type recorder struct{ events []traces.Event }

// Event implements traces.Sink.
func (r *recorder) Event(e *traces.Event) *traces.Finding {
	r.events = append(r.events, *e)
	return nil
}

// draw makes runs of drawn schedules on one machine, until more returns false.
func draw(t TB, in *inputs.Input, c *config, listen func(r *rig.Rig),
	more func(r *rig.Rig, i uint64, run *rig.Run, rec *sched.Recorder) bool) {
	t.Helper()
	spec := specOf(in, c)
	r, err := rig.NewGoingOn(spec.Scenario, spec.Mutant, rig.GoOn{Ignored: spec.Ignore})
	if err != nil {
		t.Fatalf("%s: %v", in.Name, err)
	}
	defer r.Close()
	shape, _ := r.Survey(0)
	s, err := sched.New(spec.Strategy, sched.Params{Seed: spec.Seed, Shape: shape})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if listen != nil {
		listen(r)
	}
	rec := &sched.Recorder{Strategy: s}
	for i := range c.runs {
		if c.ctx.Err() != nil {
			t.Fatalf("%s: %v after %d schedules: what others show isn't known", in.Name, context.Cause(c.ctx), i)
		}
		run, ok := r.Next(rec, i)
		if !ok || !more(r, i, &run, rec) {
			return
		}
	}
}
