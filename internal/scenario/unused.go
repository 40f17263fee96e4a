package scenario

import (
	"fmt"
	"slices"
)

// LoadUsed is Load for who searches: a probe that nobody does anything with is an error,
// too, for nothing would be about it. Who steps a scenario by hand may register it.
func LoadUsed(name string, src []byte, open func(file string) ([]byte, error)) (*Scenario, error) {
	l, err := load(name, src, open)
	if err != nil {
		return nil, err
	}
	if err := l.s.used(); err != nil {
		return nil, l.locate(err)
	}
	return &l.s, nil
}

// used says which probe nobody does anything with, nil if there is none. Who only
// unregisters or enables one asks what the kernel says of that.
func (s *Scenario) used() error {
	for i := range s.Probes {
		name := s.Probes[i].Name
		handled := slices.ContainsFunc(s.Probes, func(k Probe) bool {
			return slices.ContainsFunc(slices.Concat(k.Pre, k.Post, k.Fault), func(st Step) bool { return st.Kind == StepRegister && st.Func == name })
		})
		if !handled && !s.doesTo(name, OpRegister, OpRegisterAll, OpUnregister, OpUnregisterAll, OpEnable, OpDisable) {
			return faultf(part{theProbes, i, -1}, "probe %q is made, but no task registers it; add register(%q) to a task's ops, or leave it out", name, name)
		}
	}
	return nil
}

// doesTo reports whether a task does one of these operations to what has that name.
func (s *Scenario) doesTo(name string, kinds ...OpKind) bool {
	return slices.ContainsFunc(s.Tasks, func(t Task) bool {
		return slices.ContainsFunc(t.Ops, func(op Op) bool {
			return slices.Contains(kinds, op.Kind) && (op.Target == name || slices.Contains(op.Targets, name))
		})
	})
}

// Unflipped lists, a line each, the jump labels and static calls that no task touches,
// but for those that others keep off: where there is a probe in the same function.
func (s *Scenario) Unflipped() (lines []string) {
	probed := func(function string) bool {
		return slices.ContainsFunc(s.Probes, func(k Probe) bool { return k.Func == function || k.Symbol == function })
	}
	for i := range s.Labels {
		if l := &s.Labels[i]; !s.doesTo(l.Name, OpEnableLabel, OpDisableLabel) && !probed(l.Func) {
			lines = append(lines, fmt.Sprintf("label %s is never flipped: add label_on() of it to a task's ops", l.Name))
		}
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		if !s.doesTo(c.Name, OpSetCall) && !slices.ContainsFunc(c.Sites, func(at CallSite) bool { return probed(at.Func) }) {
			lines = append(lines, fmt.Sprintf("static call %s is never set: add set_call() of it to a task's ops", c.Name))
		}
	}
	return lines
}

// Patches reports whether a task does anything that writes text, or has it written. A
// search of a scenario in which none does shows nothing.
func (s *Scenario) Patches() bool {
	return slices.ContainsFunc([]OpKind{OpRegister, OpRegisterAll, OpEnableLabel, OpDisableLabel, OpLoad, OpUnload, OpTracer, OpSetCall, OpLocks}, s.Does)
}
