package scenario

import (
	"slices"
	"strings"

	"kpsim/engine"
	"kpsim/engine/all"
	"kpsim/internal/nearest"
	"kpsim/kprobes/kpev"
)

// Engines returns the names of the engines that machine(engine = NAME) accepts.
func Engines() (names []string) {
	for _, r := range all.Rows {
		names = append(names, r.Name)
	}
	return names
}

// Row returns the machine's engine, nil if there is none of that name.
func (m *Machine) Row() *engine.Row { return all.Named(m.Engine) }

// Release returns the release of the kernel whose own engine runs; "": none does.
func (m *Machine) Release() string {
	release, _, _ := strings.Cut(m.Image, " ")
	return release
}

// Guest reports whether the machine's engine is guest code: a kernel's own.
func (m *Machine) Guest() bool {
	r := m.Row()
	return r != nil && r.Boot != nil
}

// WritesJumps reports whether the machine's engine may write a jump over a probe.
func (m *Machine) WritesJumps() bool { return slices.Contains(m.Row().Switches, engine.Optimization) }

// of reports whether an engine has an operation.
func (k *Operation) of(r *engine.Row) bool {
	lacks := func(w engine.Switch) bool { return !slices.Contains(r.Switches, w) }
	return (k.Of == nil || k.Of(r)) && !slices.ContainsFunc(k.Switches, lacks)
}

// engine checks that the machine's engine exists, and that it has what the scenario asks of
// it.
func (c checker) engine() error {
	r := c.s.Machine.Row()
	if r == nil {
		return Faultf(PartOf(TheMachine, 0), "engine = %q isn't known; it is one of %s", c.s.Machine.Engine,
			nearest.Quoted(Engines()))
	}
	for i := range c.s.Probes {
		k := &c.s.Probes[i]
		if !slices.Contains(r.Kinds, k.Kind) {
			return Faultf(PartOf(TheProbes, i), "probe %q: engine %s has no %v", k.Name, r.Name, k.Kind)
		}
		post := k.Kind == ProbeKprobe && k.Post != nil && !slices.Contains(r.Handlers, kpev.Post)
		if post || k.Fault != nil && !slices.Contains(r.Handlers, kpev.Fault) {
			return Faultf(PartOf(TheProbes, i), "probe %q: engine %s calls no such handler; leave post and fault out",
				k.Name, r.Name)
		}
		for _, steps := range k.Handlers() {
			for _, st := range *steps {
				if st.Kind != nil && st.Kind.Of != nil && !st.Kind.Of(r) {
					return Faultf(PartOf(TheProbes, i), "probe %q: engine %s has no %s() in handlers; leave it out",
						k.Name, r.Name, st.Kind)
				}
			}
		}
	}
	for i := range c.s.Tasks {
		for j := range c.s.Tasks[i].Ops {
			if k := c.s.Tasks[i].Ops[j].Kind; k != nil && !k.of(r) {
				return Faultf(PartIn(TheTasks, i, j), "task %q ops[%d]: engine %s has no %s", c.s.Tasks[i].Name, j,
					r.Name, k.What)
			}
		}
	}
	return nil
}
