package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/engine"
	"kpsim/engine/all"
	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes/mutants"
	"kpsim/kprobes/rules"
	"kpsim/properties"
)

// Filters select rows of the lists. The zero value selects all.
type Filters struct {
	Kind     string `placeholder:"KIND" help:"Scenarios with that kind of patch: ${kinds}."`
	Engine   string `placeholder:"ENGINE" help:"Scenarios that this engine runs: kprobes is kpsim's own, linux a kernel's (--kernel), which may lack something all the same."`
	Property string `placeholder:"PROPERTY" help:"That property, as T2 or no-start-inside, and the scenarios and mutants that are about it."`
	Search   string `placeholder:"WORDS" help:"Rows with all these words, in any case and order."`
}

// A kind is a row: a kind of patch, and the objects of the operations that do it.
type kind struct {
	name    string
	objects []scenario.Object
	part    *scenario.List // a part of which is one, too; nil: none
}

// kinds are those that aren't probes, which engine.KindWords names.
var kinds = []kind{
	{"jump-label", []scenario.Object{scenario.ALabel}, scenario.TheLabels},
	{"static-call", []scenario.Object{scenario.AStaticCall}, scenario.TheCalls},
	{"ftrace", []scenario.Object{scenario.TheTracer}, scenario.TheSites},
	{"direct-call", []scenario.Object{scenario.ADirect}, nil},
	{"fprobe", []scenario.Object{scenario.AnFprobe}, scenario.TheFprobes},
	{"bpf", []scenario.Object{scenario.ABpf, scenario.ADispatcher, scenario.ATailCall}, scenario.TheBpfs},
	{"livepatch", []scenario.Object{scenario.TheLivepatch, scenario.APatch}, nil},
	{"alternative", []scenario.Object{scenario.AllAlternatives}, scenario.TheAlternatives},
	{"lock-prefix", []scenario.Object{scenario.LockPrefixes}, scenario.TheLocked},
	{"module", []scenario.Object{scenario.AModule}, scenario.TheModules},
	{"uprobe", []scenario.Object{scenario.AUprobe}, nil},
	{"debugger", []scenario.Object{scenario.ABreakpoint}, nil},
	{"hand", []scenario.Object{scenario.TextByHand, scenario.AMemory}, scenario.TheAliases},
}

// Kinds returns the values of --kind.
func Kinds() []string {
	names := slices.Clone(engine.KindWords)
	for i := range kinds {
		names = append(names, kinds[i].name)
	}
	return names
}

// check returns an error that names what isn't known.
func (f *Filters) check() error {
	if f.Kind != "" && !slices.Contains(Kinds(), f.Kind) {
		return fmt.Errorf("--kind: no kind of patch is called %q; %s", f.Kind, nearest.OrAll(f.Kind, Kinds()))
	}
	if err := cli.Optional("--engine", "engine", f.Engine, scenario.Engines()); err != nil {
		return err
	}
	return cli.Optional("--property", "property", f.Property, properties.Words())
}

// any reports whether something is filtered.
func (f *Filters) any() bool { return *f != Filters{} }

// scenario reports whether a scenario passes.
func (f *Filters) scenario(s *scenario.Scenario) bool {
	return (f.Kind == "" || has(s, f.Kind)) && (f.Engine == "" || runs(s, f.Engine)) &&
		(f.Property == "" || f.expects(&s.Expect)) && f.words(s.Name, s.Says)
}

// has reports whether a scenario has a kind of patch.
func has(s *scenario.Scenario, name string) bool {
	if k := slices.Index(engine.KindWords, name); k >= 0 {
		return slices.ContainsFunc(s.Probes, func(p scenario.Probe) bool { return p.Kind == scenario.ProbeKind(k) })
	}
	k := &kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
	return k.part != nil && k.part.Len(s) > 0 ||
		s.Any(func(op *scenario.Op) bool { return slices.Contains(k.objects, op.Kind.Object) })
}

// runs reports whether an engine has what a scenario asks of it. What a certain kernel has isn't known here.
func runs(s *scenario.Scenario, name string) bool {
	with := *s
	if with.Machine.Engine = name; name == all.Rows[0].Name {
		with.Machine.Engine = ""
	} else {
		with.Machine.Edition = rules.EditionNone
		with.Machine.Settle()
	}
	return scenario.Check(&with) == nil
}

// expects reports whether a scenario is about the property: it may break it, or its canary does.
func (f *Filters) expects(e *scenario.Expect) bool {
	if e.Sometimes {
		return f.about(e.Property)
	}
	m, ok := mutants.ByName(e.Canary)
	return ok && f.about(m.Property)
}

// about reports whether a property, by its name, is the one that is asked for, if one is.
func (f *Filters) about(name string) bool {
	q, ok := properties.ByName(f.Property)
	return f.Property == "" || ok && (q.Name == name || q.ID == name)
}

// words reports whether a row has the words that are searched for.
func (f *Filters) words(cells ...string) bool {
	row := strings.ToLower(strings.Join(cells, " "))
	for _, w := range strings.Fields(strings.ToLower(f.Search)) {
		if !strings.Contains(row, w) {
			return false
		}
	}
	return true
}

// scenarios reports whether only scenarios can pass.
func (f *Filters) scenarios() bool { return f.Kind != "" || f.Engine != "" }

// nothing says that no row passes, and what else to type.
func (f *Filters) nothing() string {
	return fmt.Sprintf("nothing passes these filters; give fewer of them, or see %s", cli.Line(cli.Typed(), "list"))
}
