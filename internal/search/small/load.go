package small

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	"kpsim/smp/arch/target"
)

//go:embed worlds
var files embed.FS

// Names returns the names of the worlds, in the order in which they are searched.
func Names() []string {
	return []string{"jump", "calls", "site", "module", "returns", "keys", "clients", "debugger", "i386",
		"jprobe", "riscv64", "arm64", "ppc64le"}
}

// Load returns the scenario of a built-in world, without the calls that an edition lacks; "" is
// the world's own. It is nil if the edition has nothing that the world is about.
func Load(name, edition string) (*scenario.Scenario, error) {
	src, err := files.ReadFile(path.Join("worlds", name+".star"))
	if err != nil {
		return nil, fmt.Errorf("no world is called %q; there are %s", name, strings.Join(Names(), ", "))
	}
	sc, err := lang.Load(name, src, nil)
	if err != nil {
		return nil, err
	}
	sc.Name = "small-" + name
	if edition == "" {
		return sc, nil
	}
	as := *sc
	_ = as.SetEdition(edition) // refuses what the edition lacks, which is left out here
	if e := as.Machine.Edition; unlike(sc, e) {
		return nil, nil
	}
	lacking(sc, &as.Machine)
	return sc, sc.SetEdition(edition)
}

// LoadBeside returns a world for pairs: with the newest edition that it can have, if neither the world nor the
// caller names one, since a machine without an edition lacks waits that editions have.
func LoadBeside(name, edition string) (*scenario.Scenario, error) {
	sc, err := Load(name, edition)
	if err != nil || sc == nil || edition != "" || sc.Machine.Edition != rules.EditionNone {
		return sc, err
	}
	for _, e := range slices.Backward(rules.EditionNames()) {
		if sc, err = Load(name, e); err != nil || sc != nil {
			return sc, err
		}
	}
	return nil, fmt.Errorf("world %s: no edition has what it is about", name)
}

// unlike reports whether an edition has nothing that a world is about, or other rules for it.
func unlike(s *scenario.Scenario, e rules.Edition) bool {
	switch {
	case !s.Machine.Arch.Serves(target.Jprobes) && !e.Numbers():
		return true
	case len(s.Sites) > 0 && e == rules.Edition26:
		return true // its probes know nothing of ftrace
	case slices.ContainsFunc(s.Probes, func(p scenario.Probe) bool { return p.Kind == scenario.ProbeJprobe }):
		return e != rules.Edition26
	case len(s.Fprobes) > 0, slices.ContainsFunc(s.Tasks[0].Ops, func(op scenario.Op) bool {
		return op.Kind == act.SetBreakpoint
	}):
		return e < rules.Edition65 // kprobes asks the debugger since 6.2
	}
	return false
}

// lacking leaves out of a scenario the calls and flags that a machine lacks.
func lacking(s *scenario.Scenario, m *scenario.Machine) {
	t := s.Tasks[0]
	batches := m.Has("batches")
	s.Probes = slices.Clone(s.Probes)
	for i := range s.Probes {
		p := &s.Probes[i]
		p.Disabled = p.Disabled && batches
		if p.Kind == scenario.ProbeKretprobe && !batches {
			p.Pre = nil
		}
	}
	inside := func(name string) bool { // in the middle of an instruction, where 2.6 registers it all the same
		p := s.Probe(name)
		return m.AnyByte && p != nil && !slices.Contains(starts(m.Processor(), s.Text(p.Func)), p.Offset)
	}
	t.Ops = slices.DeleteFunc(slices.Clone(t.Ops), func(op scenario.Op) bool {
		return op.Kind.Setting != "" && !m.Has(op.Kind.Setting) || inside(op.Target) ||
			op.Kind.Check != nil && op.Kind.Check(&scenario.Scenario{Machine: *m}, &op) != ""
	})
	s.Tasks = []scenario.Task{t}
}

// served leaves out of a world what a kernel's own engine lacks. It returns an error if the kernel
// has other rules for what the world is about.
func served(s *scenario.Scenario, k *linux.Kernel) error {
	inModule := func(fn string) bool {
		return slices.ContainsFunc(s.Modules, func(m scenario.Module) bool {
			return slices.Contains(m.Core, fn) || slices.Contains(m.Init, fn)
		})
	}
	var unset []string // functions with sites of keys that are left out
	s.Labels = slices.DeleteFunc(slices.Clone(s.Labels), func(l scenario.Label) bool {
		away := slices.ContainsFunc(l.Sites, func(t scenario.LabelSite) bool {
			return inModule(t.Func) // it isn't told of modules that come and go
		})
		for i := 0; away && i < len(l.Sites); i++ {
			unset = append(unset, l.Sites[i].Func)
		}
		return away
	})
	s.Calls = slices.Clone(s.Calls)
	for i := range s.Calls {
		c := &s.Calls[i]
		c.Sites = slices.DeleteFunc(slices.Clone(c.Sites), func(p scenario.CallSite) bool { return inModule(p.Func) })
	}
	s.Calls = slices.DeleteFunc(s.Calls, func(c scenario.StaticCall) bool {
		return len(c.Sites) == 0 || !k.CallSites()
	})
	s.Fprobes = nil // they are of kpsim's own kernel
	gone := func(op *scenario.Op) bool {
		if op.Kind == act.Call && slices.Contains(unset, op.Target) {
			return true
		}
		return slices.ContainsFunc(op.Kind.Params, func(p scenario.Param) bool {
			return p.Kind == scenario.ParamPart && !slices.Contains(p.Of.Names(s), op.Target)
		})
	}
	m := s.Machine
	m.Engine = linux.Row.Name
	t := s.Tasks[0]
	t.Ops = slices.DeleteFunc(slices.Clone(t.Ops), func(op scenario.Op) bool {
		return gone(&op) || op.Kind.Check != nil && op.Kind.Check(&scenario.Scenario{Machine: m}, &op) != ""
	})
	s.Tasks = []scenario.Task{t}
	breaks := func(op scenario.Op) bool { return op.Kind.Has(scenario.ParamInsn) }
	if slices.ContainsFunc(t.Ops, breaks) && !k.AsksKgdb() {
		return errors.New("the kernel is built without CONFIG_KGDB, and asks no debugger; leave this world out")
	}
	return nil
}
