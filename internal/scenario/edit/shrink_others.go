package edit

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
)

// usedAround adds the functions that modules, sites and static calls name.
func usedAround(s *scenario.Scenario, used map[string]bool) {
	for i := range s.Modules {
		m := &s.Modules[i]
		used[m.Enter], used[m.Leave] = true, true
	}
	for _, t := range slices.Concat(s.Sites, s.Locked) {
		used[t.Func] = true
	}
	for i := range s.Alternatives {
		used[s.Alternatives[i].Func] = true
	}
	for i := range s.Fprobes {
		used[s.Fprobes[i].Entry], used[s.Fprobes[i].Exit] = true, true
		for _, f := range s.Fprobes[i].Funcs {
			used[f] = true
		}
	}
	for i := range s.Calls {
		used[s.Calls[i].Target] = true
		for _, t := range s.Calls[i].Places() {
			used[t.Func] = true
		}
	}
}

// fewerAround omits modules (their functions become the kernel's), sites, fprobes and static
// calls with their operations, and single elements of those that have several.
func fewerAround(s *scenario.Scenario, list []Edit) []Edit {
	without := func(what, name string, drop func(c *scenario.Scenario), kind scenario.ParamKind) {
		uses := func(op *scenario.Op) bool { return op.Kind.Has(kind) && op.Target == name }
		unused := !slices.ContainsFunc(operations(s), uses)
		list = append(list, Edit{Says: what + " " + name + " left out", Beginning: unused, Unused: unused,
			apply: func(c *scenario.Scenario) {
				drop(c)
				dropOps(c, uses)
			}})
	}
	// nameless omits a part without a name, which each operation of its kind uses.
	nameless := func(says string, drop func(c *scenario.Scenario), uses func(*scenario.Op) bool) {
		unused := !s.Any(uses)
		list = append(list, Edit{Says: says + " left out", Beginning: unused, Unused: unused, apply: drop})
	}
	for i := len(s.Modules) - 1; i >= 0; i-- {
		without("module", s.Modules[i].Name, func(c *scenario.Scenario) {
			c.Modules = slices.Delete(c.Modules, i, i+1)
		},
			scenario.ParamModule)
	}
	for i := len(s.Sites) - 1; i >= 0; i-- {
		nameless("site of "+s.Sites[i].Func, func(c *scenario.Scenario) { c.Sites = slices.Delete(c.Sites, i, i+1) },
			onSites)
	}
	for i := len(s.Fprobes) - 1; i >= 0; i-- {
		without("fprobe", s.Fprobes[i].Name, func(c *scenario.Scenario) {
			c.Fprobes = slices.Delete(c.Fprobes, i, i+1)
		},
			scenario.ParamFprobe)
		for k := len(s.Fprobes[i].Funcs) - 1; k >= 0 && len(s.Fprobes[i].Funcs) > 1; k-- {
			part(&list, s.Fprobes[i].Funcs[k]+" of fprobe "+s.Fprobes[i].Name, func(c *scenario.Scenario) {
				f := &c.Fprobes[i]
				f.Funcs = slices.Delete(slices.Clone(f.Funcs), k, k+1)
			})
		}
	}
	for i := len(s.Locked) - 1; i >= 0; i-- {
		nameless("lock prefix of "+s.Locked[i].Func, func(c *scenario.Scenario) {
			c.Locked = slices.Delete(c.Locked, i, i+1)
		}, doing(act.Locks))
	}
	for i := len(s.Alternatives) - 1; i >= 0; i-- {
		nameless("alternative of "+s.Alternatives[i].Func, func(c *scenario.Scenario) {
			c.Alternatives = slices.Delete(c.Alternatives, i, i+1)
		},
			doing(act.Alternatives))
	}
	for i := len(s.Reserved) - 1; i >= 0; i-- {
		part(&list, "reserved place in "+s.Reserved[i].Func, func(c *scenario.Scenario) {
			c.Reserved = slices.Delete(c.Reserved, i, i+1)
		})
	}
	for i := len(s.Calls) - 1; i >= 0; i-- {
		without("static call", s.Calls[i].Name, func(c *scenario.Scenario) { c.Calls = slices.Delete(c.Calls, i, i+1) },
			scenario.ParamCall)
		if len(s.Calls[i].Places()) == 1 {
			continue
		}
		if s.Calls[i].Trampoline != "" {
			part(&list, "trampoline of static call "+s.Calls[i].Name, func(c *scenario.Scenario) {
				c.Calls[i].Trampoline = ""
			})
		}
		for k := len(s.Calls[i].Sites) - 1; k >= 0; k-- {
			part(&list, "site in "+s.Calls[i].Sites[k].Func+" of static call "+s.Calls[i].Name,
				func(c *scenario.Scenario) {
					sc := &c.Calls[i]
					sc.Sites = slices.Delete(slices.Clone(sc.Sites), k, k+1)
				})
		}
	}
	return list
}

// part omits something that operations don't name but may depend on.
func part(list *[]Edit, says string, drop func(c *scenario.Scenario)) {
	*list = append(*list, Edit{Says: says + " left out", apply: drop})
}

// onSites reports whether an operation uses the sites of ftrace. Probes use the site at their
// place.
func onSites(op *scenario.Op) bool {
	return op.Kind.Traits&scenario.Sited != 0 || op.Kind.Has(scenario.ParamProbe, scenario.ParamProbes)
}

// doing returns a function that reports whether an operation is of kind k.
func doing(k *scenario.Operation) func(*scenario.Op) bool {
	return func(op *scenario.Op) bool { return op.Kind == k }
}

// WithoutExpectation omits the expected result of an operation, or an operation that only
// compares.
func WithoutExpectation(s *scenario.Scenario, task, op int) Edit {
	says := fmt.Sprintf("task %s: what operation %d is to find left out", s.Tasks[task].Name, op)
	return Edit{Says: says, apply: func(c *scenario.Scenario) {
		t := &c.Tasks[task]
		if t.Ops[op].Kind != act.Expect {
			t.Ops[op].Checked, t.Ops[op].Returns, t.Ops[op].Bits = false, 0, 0
			return
		}
		t.Ops = slices.Delete(t.Ops, op, op+1)
		if op < t.Setup {
			t.Setup--
		}
		if len(t.Ops) == 0 {
			c.Tasks = slices.Delete(c.Tasks, task, task+1)
		}
	}}
}

// dropData omits a block of data, also from its module.
func dropData(s *scenario.Scenario, i int) {
	name := s.Datas[i].Name
	s.Datas = slices.Delete(s.Datas, i, i+1)
	for k := range s.Modules {
		m := &s.Modules[k]
		m.Data = slices.DeleteFunc(slices.Clone(m.Data), func(n string) bool { return n == name })
	}
}

// dropText omits a function, also from its module.
func dropText(s *scenario.Scenario, i int) {
	name := s.Texts[i].Name
	s.Texts = slices.Delete(s.Texts, i, i+1)
	s.Reserved = slices.DeleteFunc(s.Reserved, func(r scenario.Reserved) bool { return r.Func == name })
	for k := range s.Modules {
		m := &s.Modules[k]
		is := func(n string) bool { return n == name }
		m.Core, m.Init = slices.DeleteFunc(slices.Clone(m.Core), is), slices.DeleteFunc(slices.Clone(m.Init), is)
	}
}
