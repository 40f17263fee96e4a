package vet

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
)

// Unused returns an error that names a probe that no operation uses, or nil. An unregister or an
// enable alone counts as a use, since the kernel's answer may be of interest.
func Unused(s *scenario.Scenario) error {
	for i := range s.Probes {
		name := s.Probes[i].Name
		handled := slices.ContainsFunc(s.Probes, func(k scenario.Probe) bool {
			return slices.ContainsFunc(slices.Concat(k.Pre, k.Post, k.Fault), func(st scenario.Step) bool {
				return st.Kind == scenario.StepRegister && st.Target == name
			})
		})
		if !handled && !s.Uses(scenario.TheProbes, name) {
			return scenario.Faultf(scenario.PartOf(scenario.TheProbes, i),
				"probe %q is made, but no task registers it; add register(%q) to a task's ops, or leave it out", name,
				name)
		}
	}
	return nil
}

// Unflipped lists the jump labels and static calls that no task changes, one line each. It omits
// those with a probe in the same function, which they keep off.
func Unflipped(s *scenario.Scenario) (lines []string) {
	probed := func(function string) bool {
		return slices.ContainsFunc(s.Probes, func(k scenario.Probe) bool {
			return k.Func == function || k.Symbol == function
		})
	}
	for i := range s.Labels {
		if l := &s.Labels[i]; !s.Uses(scenario.TheLabels, l.Name) &&
			!slices.ContainsFunc(l.Sites, func(at scenario.LabelSite) bool { return probed(at.Func) }) {
			lines = append(lines, fmt.Sprintf("label %s is never flipped: add label_on() of it to a task's ops",
				l.Name))
		}
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		if !s.Uses(scenario.TheCalls, c.Name) &&
			!slices.ContainsFunc(c.Sites, func(at scenario.CallSite) bool { return probed(at.Func) }) {
			lines = append(lines, fmt.Sprintf("static call %s is never set: add set_call() of it to a task's ops",
				c.Name))
		}
	}
	return lines
}
