package vet

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/survey"
)

// A Jumps tells which of a scenario's probes may be optimized to a jump.
type Jumps struct {
	s *scenario.Scenario
	v *survey.Survey
}

// NewJumps returns a Jumps by the rules of the scenario's machine.
func NewJumps(s *scenario.Scenario) *Jumps { return &Jumps{s, Survey(s)} }

// Why returns the reason why no schedule makes a jump of a probe, in the words of kpsim check; ""
// if one may.
func (j *Jumps) Why(k *scenario.Probe) string {
	if !j.s.Machine.WritesJumps() {
		return "engine " + j.s.Machine.Engine + " writes no jumps"
	}
	s := j.s
	if at, ok := s.Where(k); ok {
		if f, ok := j.v.Module.SymbolAt(at); ok {
			if r := j.v.Row(f, int(at-f.Addr)); r.Errno == 0 && !r.Optimizable() {
				return r.Why.In(f.Name)
			}
		}
	}
	switch {
	case !s.Machine.Kernel.Optprobes:
		return "no optprobes"
	case k.Kind == scenario.ProbeJprobe:
		return "a jprobe's entry runs behind a breakpoint"
	case k.Kind == scenario.ProbeKprobe && k.Post != nil:
		return "it has a post_handler"
	case disabledThroughout(s, k):
		return "it is disabled throughout"
	}
	return ""
}

// None returns, for each probe that a task registers, a line on why it is never optimized. It
// returns nothing if any of them may be.
func (j *Jumps) None() (list []*scenario.Fault) {
	if !j.s.Machine.WritesJumps() {
		return nil
	}
	for i := range j.s.Probes {
		k := &j.s.Probes[i]
		if !j.s.Registers(k.Name) {
			continue
		}
		why := j.Why(k)
		if why == "" {
			return nil
		}
		list = append(list, &scenario.Fault{
			Part: scenario.PartOf(scenario.TheProbes, i), Msg: fmt.Sprintf("%s at %s is never optimized: %s", k.Name,
				j.s.PlaceName(k), why),
		})
	}
	return list
}

// disabledThroughout reports whether a probe is registered disabled and never
// enabled.
func disabledThroughout(s *scenario.Scenario, k *scenario.Probe) bool {
	return k.Disabled && s.Registers(k.Name) && !s.DoesTo(k.Name, act.Enable) &&
		!s.HandlerDoes(scenario.StepEnable, k.Name)
}

// Inert lists statements of a scenario that change no run in any schedule, one line each: they
// lack what their author intended.
func Inert(s *scenario.Scenario) (list []*scenario.Fault) {
	add := func(p scenario.Part, format string, args ...any) {
		list = append(list, &scenario.Fault{Part: p, Msg: fmt.Sprintf(format, args...)})
	}
	names := s.SourceNames()
	for i := range s.Sources {
		src := &s.Sources[i]
		if src.Kind.Idle == nil {
			continue
		}
		if says := src.Kind.Idle(s, src); says != "" {
			add(scenario.PartOf(scenario.TheSources, i), "%s %s", names[i], says)
		}
	}
	for i := range s.Probes {
		if k := &s.Probes[i]; disabledThroughout(s, k) {
			add(scenario.PartOf(scenario.TheProbes, i),
				"probe %s is disabled throughout: add enable(%q) to a task's ops, or leave disabled out", k.Name,
				k.Name)
		}
	}
	said := make(map[string]bool)
	for i := range s.Tasks {
		for j := range s.Tasks[i].Ops {
			op := &s.Tasks[i].Ops[j]
			if op.Kind.Idle == nil {
				continue
			}
			if says := op.Kind.Idle(s, op); says != "" && !said[says] {
				said[says] = true
				add(scenario.PartIn(scenario.TheTasks, i, j), "%s", says)
			}
		}
	}
	if len(s.Alternatives) > 0 && !s.DoesAny(scenario.Alternates) {
		add(scenario.PartOf(scenario.TheAlternatives, 0),
			"alternative() is never applied: no task does apply_alternatives()")
	}
	if !slices.ContainsFunc(s.Tasks, func(t scenario.Task) bool { return !t.Background }) {
		for i := range s.Tasks {
			if t := &s.Tasks[i]; t.Repeat > 1 {
				add(scenario.PartOf(scenario.TheTasks, i),
					"task %s isn't repeated: all tasks are in the background, so that none is waited for; "+
						"leave background out of one", t.Name)
			}
		}
	}
	return list
}
