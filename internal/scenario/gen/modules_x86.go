package gen

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// This file has what scenes do with modules: they come and go beside what stands in their text, and beside
// clients whose code is theirs.

// module adds a module, and the task that loads, calls and unloads it.
func (s *scene) module(m scenario.Module, calls []scenario.Op) {
	m.Loaded = s.one(3)
	s.sc.Modules = append(s.sc.Modules, m)
	op := func(k *scenario.Operation) scenario.Op { return scenario.Op{Kind: k, Target: m.Name} }
	during := append(slices.Clone(calls), scenario.Op{Kind: act.Schedule})
	ops := slices.Concat([]scenario.Op{op(act.Load)}, during, []scenario.Op{op(act.Unload)})
	if m.Loaded {
		ops = slices.Concat(during, []scenario.Op{op(act.Unload), op(act.Load)}, calls)
	}
	s.sc.Tasks = append(s.sc.Tasks, scenario.Task{Name: "loader-" + m.Name, CPU: s.rand.N(s.sc.Machine.CPUs),
		Repeat: 1 + s.rand.N(3), Ops: ops})
}

// loads adds a module that any task loads and unloads. Only its init and exit functions run its text.
func (s *scene) loads(m scenario.Module) {
	m.Loaded = s.one(3)
	s.sc.Modules = append(s.sc.Modules, m)
	load, unload := scenario.Op{Kind: act.Load, Target: m.Name}, scenario.Op{Kind: act.Unload, Target: m.Name}
	s.comes(load, unload, unload, load).is = m.Loaded
}

// drawModular adds modules with probes in their text, several at a place, which their init and exit functions
// hit. Tasks load and unload them, and register, switch and unregister the probes, at any time: also while a
// module comes or goes, when it has gone, and beside an init that fails.
func drawModular(s *scene) {
	s.text("stays", func(f *function) {
		end := f.begin()
		f.body(2)
		f.end(end)
	})
	s.called("stays", false)
	s.kprobe("stays", 0, 3)
	sites := traced(s.maker) && s.one(2)
	for i := range 1 + s.rand.N(3)/2 {
		m := scenario.Module{Name: fmt.Sprint("m", i)}
		var work arch.Addr
		name := func(what string) string { return m.Name + what }
		s.text(name("work"), func(f *function) {
			if work = f.at; sites {
				s.sc.Sites = append(s.sc.Sites, scenario.Site{Func: name("work")})
				f.put(x86.Nop5[:]...)
			}
			f.body(2 + s.rand.N(3))
			f.put(0xc3)
		})
		fails := s.one(4) && !s.sc.Machine.ModuleRefs // else the load would wait for probes that hold the module

		// the init section comes last: the other one is in one piece
		for _, what := range []string{"leave", "enter"} {
			s.text(name(what), func(f *function) {
				f.plain()
				f.relative(work, 0xe8)
				if f.plain(); fails && what == "enter" {
					f.put(0xb8, 0xf4, 0xff, 0xff, 0xff) // mov $-ENOMEM,%eax
				} else {
					f.put(0x31, 0xc0) // xor %eax,%eax
				}
				f.put(0xc3)
			})
		}
		m.Core, m.Enter, m.Leave = []string{name("work"), name("leave")}, name("enter"), name("leave")
		if s.one(2) {
			m.Init = []string{m.Enter}
		} else {
			m.Core = append(m.Core, m.Enter)
		}
		places := []string{name("work"), name("work"), name("leave"), name("enter")}
		for range 1 + s.rand.N(3) {
			f := places[s.rand.N(len(places))]
			if s.one(4) {
				s.probe(scenario.Probe{Kind: scenario.ProbeKretprobe, Func: f, Maxactive: s.rand.N(3)})
				continue
			}
			starts := Boundaries(s.sc, f)
			at := starts[s.rand.N(min(3, len(starts)))]
			for range 1 + s.rand.N(5)/2 { // one, or several at a place
				s.kprobe(f, at, 3)
			}
		}
		s.loads(m)
	}
	if s.one(4) {
		s.array(scenario.ProbeKprobe)
	}
	if sites && s.one(2) {
		s.comes(scenario.Op{Kind: act.Tracer, On: true}, scenario.Op{Kind: act.Tracer})
	}
}

// drawLent adds a function with clients whose code a module has: a direct call, an fprobe, a probe. One task loads
// the module, and unloads it when they have gone; then none of its code may be running. Other clients
// of the same function come and go.
func drawLent(s *scene) {
	const name, module = "lent", "m"
	site := traced(s.maker)
	give, _ := scenario.KernelExport("cond_resched")
	behind := 0
	s.text(name, func(f *function) {
		if site {
			s.sc.Sites = append(s.sc.Sites, scenario.Site{Func: name})
			f.put(x86.Nop5[:]...)
		}
		behind = len(f.code)
		f.put(0x89, f.arg())
		if s.one(2) {
			f.put(0x50)
			f.relative(give, 0xe8)
			f.put(0x58)
		}
		f.put(0xc3)
	})
	code := func(name string) string {
		s.text(name, func(f *function) { // push %rax; nops; pop %rax; ret
			f.put(0x50)
			for range s.rand.N(6) {
				f.put(0x90)
			}
			f.put(0x58)
			f.put(0xc3)
		})
		return name
	}
	m := scenario.Module{Name: module}
	type client struct{ on, off scenario.Op }
	var lent []client
	lend := func(on, off *scenario.Operation, target string, to ...string) {
		lent = append(lent, client{scenario.Op{Kind: on, Target: target, Targets: to},
			scenario.Op{Kind: off, Target: target}})
	}
	e := s.sc.Machine.Edition
	if site && s.sc.Machine.Directs() && !s.one(3) {
		m.Core = append(m.Core, code("trampoline"))
		lend(act.RegisterDirect, act.UnregisterDirect, name, "trampoline")
	}
	if site && (e == rules.EditionNone || e >= rules.Edition65) && s.sc.Machine.Quiesce != kapi.QuiesceStackCheck &&
		!s.i386 && !s.one(3) {
		m.Core = append(m.Core, code("entered"), code("returned"))
		s.sc.Fprobes = append(s.sc.Fprobes, scenario.Fprobe{Name: "borrower", Funcs: []string{name}, Entry: "entered",
			Exit: "returned"})
		lend(act.RegisterFprobe, act.UnregisterFprobe, "borrower")
	}
	if len(lent) == 0 || s.one(2) {
		m.Core = append(m.Core, code("handler"))
		steps := []scenario.Step{{Kind: scenario.StepCount}, {Kind: scenario.StepCall, Target: "handler"}}
		p := scenario.Probe{Name: "lent", Func: name, Offset: behind, Pre: steps}
		if s.one(2) {
			p = scenario.Probe{Name: "lent", Kind: scenario.ProbeKretprobe, Func: name, Post: steps}
		}
		lend(act.Register, act.Unregister, s.own(p))
	}
	s.sc.Modules = append(s.sc.Modules, m)
	for range 1 + s.rand.N(2) {
		s.called(name, false)
	}
	// one task has all of them, in any order
	var ops []scenario.Op
	for range 1 + s.rand.N(2) {
		ops = append(ops, scenario.Op{Kind: act.Load, Target: module})
		first, last := s.rand.N(len(lent)), s.rand.N(len(lent))
		for i := range lent {
			if ops = append(ops, lent[(first+i)%len(lent)].on); s.one(2) {
				ops = append(ops, s.between())
			}
		}
		for i := range lent {
			ops = append(ops, lent[(last+i)%len(lent)].off)
		}
		ops = append(ops, scenario.Op{Kind: act.Unload, Target: module})
	}
	s.alone("lender", append(ops, s.call()))
	if site && !s.one(3) {
		s.comes(scenario.Op{Kind: act.Tracer, On: true}, scenario.Op{Kind: act.Tracer})
	}
	if site && s.one(2) {
		s.kprobe(name, 0, 3)
	}
	if s.one(3) {
		s.kprobe(name, behind, 3)
	}
}

// lends reports whether code of a module is what a client calls. Then the task that loads the module uses these
// clients alone.
func lends(sc *scenario.Scenario, m *scenario.Module) bool {
	return slices.ContainsFunc(m.Core, func(f string) bool {
		return slices.ContainsFunc(sc.Fprobes, func(p scenario.Fprobe) bool { return p.Entry == f || p.Exit == f }) ||
			sc.HandlerDoes(scenario.StepCall, f) || sc.Any(func(op *scenario.Op) bool {
			return op.Kind == act.RegisterDirect && slices.Contains(op.Targets, f)
		})
	})
}
