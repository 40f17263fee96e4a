package edit

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
)

// usedAround are the functions that modules, sites and static calls name.
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
	for i := range s.Tasks {
		for _, op := range s.Tasks[i].Ops {
			if (op.Kind == scenario.OpSetCall || op.Kind.Redirects()) && len(op.Targets) > 0 {
				for _, t := range op.Targets {
					used[t] = true
				}
			}
			if op.Kind.OfEntry() || op.Kind.OfDebugger() {
				used[op.Target] = true
			}
		}
	}
}

// fewerAround leaves out modules (their functions stay, as the kernel's own),
// sites, fprobes and static calls, with the operations on them.
func fewerAround(s *scenario.Scenario, list []Edit) []Edit {
	without := func(what, name string, drop func(c *scenario.Scenario), ops ...scenario.OpKind) {
		list = append(list, Edit{Says: what + " " + name + " left out", apply: func(c *scenario.Scenario) {
			drop(c)
			dropOps(c, func(op *scenario.Op) bool { return slices.Contains(ops, op.Kind) && op.Target == name })
		}})
	}
	for i := len(s.Modules) - 1; i >= 0; i-- {
		without("module", s.Modules[i].Name, func(c *scenario.Scenario) { c.Modules = slices.Delete(c.Modules, i, i+1) }, scenario.OpLoad, scenario.OpUnload)
	}
	for i := len(s.Sites) - 1; i >= 0; i-- {
		list = append(list, Edit{Says: "site of " + s.Sites[i].Func + " left out", apply: func(c *scenario.Scenario) { c.Sites = slices.Delete(c.Sites, i, i+1) }})
	}
	for i := len(s.Fprobes) - 1; i >= 0; i-- {
		without("fprobe", s.Fprobes[i].Name, func(c *scenario.Scenario) { c.Fprobes = slices.Delete(c.Fprobes, i, i+1) }, scenario.OpRegisterFprobe, scenario.OpUnregisterFprobe)
	}
	for i := len(s.Locked) - 1; i >= 0; i-- {
		list = append(list, Edit{Says: "lock prefix of " + s.Locked[i].Func + " left out", apply: func(c *scenario.Scenario) { c.Locked = slices.Delete(c.Locked, i, i+1) }})
	}
	for i := len(s.Alternatives) - 1; i >= 0; i-- {
		list = append(list, Edit{Says: "alternative of " + s.Alternatives[i].Func + " left out", apply: func(c *scenario.Scenario) { c.Alternatives = slices.Delete(c.Alternatives, i, i+1) }})
	}
	for i := len(s.Reserved) - 1; i >= 0; i-- {
		list = append(list, Edit{Says: fmt.Sprintf("reserved place in %s left out", s.Reserved[i].Func), apply: func(c *scenario.Scenario) { c.Reserved = slices.Delete(c.Reserved, i, i+1) }})
	}
	for i := len(s.Calls) - 1; i >= 0; i-- {
		without("static call", s.Calls[i].Name, func(c *scenario.Scenario) { c.Calls = slices.Delete(c.Calls, i, i+1) }, scenario.OpSetCall)
	}
	return list
}

// dropData leaves a block of data out, also of its module.
func dropData(s *scenario.Scenario, i int) {
	name := s.Datas[i].Name
	s.Datas = slices.Delete(s.Datas, i, i+1)
	for k := range s.Modules {
		m := &s.Modules[k]
		m.Data = slices.DeleteFunc(slices.Clone(m.Data), func(n string) bool { return n == name })
	}
}

// dropText leaves a function out, also of its module.
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
