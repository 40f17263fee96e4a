package rig

import (
	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// setup is what was done before any task begins. Where the state after it can be kept, each
// run of this rig begins in that state.
type setup struct {
	*Plan
	running bool
	kept    bool
	events  []traces.Event // which monitors get again
	headed  int            // the number of events at the head of a run
}

// setUp does the operations that set up, task by task, each alone. It then saves the state of
// the machine and the engine.
func (r *Rig) setUp() error {
	keeper, ok := r.wiring.engine.(engine.Keeper)
	if !ok || r.twin {
		return nil
	}
	any := false
	for _, p := range r.tasks.all {
		any = any || p.setup > 0
	}
	if !any {
		return nil
	}
	r.setup.running = true
	for _, alone := range r.tasks.all {
		if alone.setup == 0 {
			continue
		}
		for _, p := range r.tasks.all {
			p.task.Begins(p == alone)
		}
		r.Log.Store = true
		run := r.Run(new(sched.Default))
		if run.Outcome != smp.Passed {
			return scenario.Faultf(scenario.PartOf(scenario.TheTasks, alone.number),
				"%s: task %s: its setup doesn't pass: %v: %s%s", r.Scenario.Name, alone.task.Name, run.Outcome,
				r.Message(&run), errorOf(run.Err))
		}
		r.setup.events = r.setup.events[:0]
		for _, e := range r.Log.Events[r.setup.headed:] {
			if e.Kind != smpev.Done && e.Kind != smpev.Exit { // neither task has ended for good
				r.setup.events = append(r.setup.events, e)
			}
		}
		keeper.Keep()
		r.Machine.Keep()
		r.setup.kept = true
	}
	for _, p := range r.tasks.all {
		p.task.Begins(true)
	}
	r.setup.running, r.Log.Store, r.listing.told = false, false, false
	return nil
}

func errorOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// again sends the monitors the events of the setup once more.
func (s *setup) again() {
	if s.running {
		s.headed = len(s.Log.Events)
	}
	for i := range s.events {
		e := &s.events[i]
		s.Log.Emit(e.Kind, e.CPU, e.Task, e.A, e.B, e.C)
	}
}
