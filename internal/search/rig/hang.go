package rig

import (
	"errors"
	"fmt"

	"kpsim/internal/scenario"
	"kpsim/smp"
)

// TraceSteps bounds a run of a trace, in boundaries, whatever its machine() says, because a
// trace may come from an untrusted source. It is five times a run's default budget. Such a run
// takes some seconds, and 0.5 GB with all its events.
const TraceSteps = 5 * smp.DefaultBudget

// OfTrace marks the rig's runs as runs of a trace.
func (r *Rig) OfTrace() { r.ofTrace = true }

// leavesWork makes a run that would have passed stuck instead, if work is left that nothing
// will do, or if a CPU does no work.
func (p *Plan) leavesWork(run *Run) {
	if run.Outcome == smp.Passed && (p.Kernel.Work.Left() != "" || p.Kernel.Hotplug.Idle() != 0) {
		run.Outcome = smp.Stuck
	}
}

// noEnd says why a run didn't end.
func (r *Rig) noEnd(run Run) string {
	why := r.Kernel.Standstill(r.Machine.Names().Cell)
	if run.Outcome == smp.Exhausted {
		cpu, task, place := r.Machine.Inspect().Last()
		s := fmt.Sprintf("the run ended exhausted after %d boundaries, cpu%d %s at %s: cpu%d runs the same "+
			"instructions again and again, or %s",
			run.Counts.Boundaries, cpu, task, place, cpu, r.longer("the scenario wants", r.ofTrace))
		if why != "" {
			s += "; " + why
		}
		return s
	}
	if work := r.Kernel.Work.Left(); why == "" && work != "" {
		why = "the work " + work + " is queued, and its timer was left on a CPU that has gone"
	}
	if cpu := r.Kernel.Hotplug.Idle(); why == "" && cpu != 0 {
		why = fmt.Sprintf("cpu%d is online, and isn't active: no task runs there any more", cpu)
	}
	return "the run ended stuck; " + why
}

// longer says what to do about a run that is merely long. wants is the text before a bound
// that the scenario may set. ofTrace means that the run is a trace's, which TraceSteps bounds,
// whatever its machine() says.
func (r *Rig) longer(wants string, ofTrace bool) string {
	switch budget := r.Machine.Interactive().Budget(); {
	case ofTrace && budget >= TraceSteps:
		return fmt.Sprintf("a trace's run, which has at most %d boundaries, is too short for it: explore its "+
			"scenario by itself, with machine(steps = %d)", TraceSteps, r.more())
	case budget >= scenario.MaxBudget:
		return fmt.Sprintf("it is longer than any run may be, %d boundaries: shorten its loops", scenario.MaxBudget)
	default:
		return fmt.Sprintf("%s machine(steps = %d)", wants, r.more())
	}
}

// more returns a budget of steps with which a long run may end.
func (r *Rig) more() uint64 { return min(10*r.Machine.Interactive().Budget(), scenario.MaxBudget) }

// LongAlone is the error of a scenario whose programs don't end by themselves within their
// budget.
type LongAlone struct{ says, scenario, trace string }

func (l *LongAlone) Error() string { return l.says + l.scenario }

// InTrace returns the error as worded for a trace.
func (l *LongAlone) InTrace() error { return errors.New(l.says + l.trace) }
