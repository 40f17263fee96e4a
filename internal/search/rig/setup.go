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
	settingUp bool
	kept      bool
	events    []traces.Event // its events, which monitors get again
	headed    int            // the number of events at the head of a run
}

// setUp does the operations that set up, task by task, each alone. It then saves the state of
// the machine and the engine.
func (r *Rig) setUp() error {
	keeper, ok := r.engine.(engine.Keeper)
	if !ok || r.twin {
		return nil
	}
	any := false
	for _, p := range r.programs {
		any = any || p.setup > 0
	}
	if !any {
		return nil
	}
	r.settingUp = true
	for _, alone := range r.programs {
		if alone.setup == 0 {
			continue
		}
		for _, p := range r.programs {
			p.task.Begins(p == alone)
		}
		r.Log.Store = true
		run := r.Run(new(sched.Default))
		if run.Outcome != smp.Passed {
			return scenario.Faultf(scenario.PartOf(scenario.TheTasks, alone.number),
				"%s: task %s: its setup doesn't pass: %v: %s%s", r.Scenario.Name, alone.task.Name, run.Outcome,
				r.Message(&run), errorOf(run.Err))
		}
		r.events = r.events[:0]
		for _, e := range r.Log.Events[r.headed:] {
			if e.Kind != smpev.Done && e.Kind != smpev.Exit { // neither task has ended for good
				r.events = append(r.events, e)
			}
		}
		keeper.Keep()
		r.Machine.Keep()
		r.kept = true
	}
	for _, p := range r.programs {
		p.task.Begins(true)
	}
	r.settingUp, r.Log.Store, r.told = false, false, false
	return nil
}

func errorOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// again sends the monitors the events of the setup once more.
func (r *Rig) again() {
	if r.settingUp {
		r.headed = len(r.Log.Events)
	}
	for i := range r.events {
		e := &r.events[i]
		r.Log.Emit(e.Kind, e.CPU, e.Task, e.A, e.B, e.C)
	}
}
