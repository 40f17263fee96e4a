package gen

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
)

// Sane returns a scenario without calls that no caller may make when only one task uses a probe.
// It also leaves only one task that flips jump labels.
func Sane(sc *scenario.Scenario) *scenario.Scenario {
	s, use := *sc, NewUse(sc)
	s.Tasks = slices.Clone(sc.Tasks)
	flips := -1 // the task that flips jump labels: a kernel warns of two at once
	for i := range s.Tasks {
		t := &s.Tasks[i]
		t.Ops = slices.DeleteFunc(slices.Clone(t.Ops), func(op scenario.Op) bool {
			if op.Kind == act.EnableLabel || op.Kind == act.DisableLabel {
				if flips < 0 {
					flips = i
				}
				return flips != i
			}
			return use.Misused(&op)
		})
		if len(t.Ops) == 0 {
			t.Ops = []scenario.Op{{Kind: act.Schedule}}
		}
	}
	return &s
}

// A Use tracks what one task has registered and loaded.
type Use struct {
	sc         *scenario.Scenario
	registered map[string]bool // return probes
	loaded     map[string]bool // modules
}

// NewUse returns the state at the beginning of a run.
func NewUse(sc *scenario.Scenario) *Use {
	u := &Use{sc, make(map[string]bool), make(map[string]bool)}
	for i := range sc.Modules {
		u.loaded[sc.Modules[i].Name] = sc.Modules[i].Loaded
	}
	return u
}

// Misused reports whether an operation registers a return probe twice, or unregisters one that
// isn't registered, which no caller may do: see Known. A return probe in an unloaded module can't
// be registered.
func (u *Use) Misused(op *scenario.Op) bool {
	registers := op.Kind == act.Register || op.Kind == act.RegisterAll
	switch {
	case op.Kind == act.Load:
		u.loaded[op.Target] = u.loaded[op.Target] || u.loads(op.Target)
		return false
	case op.Kind == act.Unload:
		u.loaded[op.Target] = u.loaded[op.Target] && u.sc.Machine.Modules == scenario.LoadingStay
		return false
	case !registers && op.Kind != act.Unregister && op.Kind != act.UnregisterAll:
		return false
	}
	list := probesOf(op)
	for i := range u.sc.Probes {
		p := &u.sc.Probes[i]
		if p.Kind == scenario.ProbeKretprobe && slices.Contains(list, p.Name) &&
			(u.registered[p.Name] == registers || registers && u.away(p)) {
			return true
		}
	}
	for _, name := range list {
		u.registered[name] = registers
	}
	return false
}

// loads reports whether a module can be loaded: the kernel loads modules, and its init succeeds.
func (u *Use) loads(name string) bool {
	return u.sc.Machine.Modules != scenario.LoadingNone &&
		!slices.ContainsFunc(u.sc.Modules, func(m scenario.Module) bool { return m.Name == name && m.Enter == failing })
}

// away reports whether a probe is in a module that isn't loaded, or in the init text of one,
// which is freed after loading.
func (u *Use) away(p *scenario.Probe) bool {
	for i := range u.sc.Modules {
		m := &u.sc.Modules[i]
		if slices.Contains(m.Init, p.Func) || slices.Contains(m.Core, p.Func) && !u.loaded[m.Name] {
			return true
		}
	}
	return false
}

// probesOf returns the probes that an operation names.
func probesOf(op *scenario.Op) []string {
	if op.Target != "" {
		return []string{op.Target}
	}
	return op.Targets
}
