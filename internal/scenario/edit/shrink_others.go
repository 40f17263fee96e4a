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
				used[op.Targets[0]] = true
			}
			if op.Kind.OfEntry() || op.Kind.OfDebugger() {
				used[op.Target] = true
			}
		}
	}
}

// fewerAround leaves out modules (their functions stay, as the kernel's own),
// sites and static calls, with the operations on them.
func fewerAround(s *scenario.Scenario, list []Edit) []Edit {
	for i := len(s.Modules) - 1; i >= 0; i-- {
		name := s.Modules[i].Name
		list = append(list, Edit{Says: "module " + name + " left out", apply: func(c *scenario.Scenario) {
			c.Modules = slices.Delete(c.Modules, i, i+1)
			dropOps(c, func(op *scenario.Op) bool {
				return (op.Kind == scenario.OpLoad || op.Kind == scenario.OpUnload) && op.Target == name
			})
		}})
	}
	for i := len(s.Sites) - 1; i >= 0; i-- {
		list = append(list, Edit{Says: "site of " + s.Sites[i].Func + " left out", apply: func(c *scenario.Scenario) { c.Sites = slices.Delete(c.Sites, i, i+1) }})
	}
	for i := len(s.Fprobes) - 1; i >= 0; i-- {
		name := s.Fprobes[i].Name
		list = append(list, Edit{Says: "fprobe " + name + " left out", apply: func(c *scenario.Scenario) {
			c.Fprobes = slices.Delete(c.Fprobes, i, i+1)
			dropOps(c, func(op *scenario.Op) bool {
				return (op.Kind == scenario.OpRegisterFprobe || op.Kind == scenario.OpUnregisterFprobe) && op.Target == name
			})
		}})
	}
	for i := len(s.Locked) - 1; i >= 0; i-- {
		list = append(list, Edit{Says: "lock prefix of " + s.Locked[i].Func + " left out", apply: func(c *scenario.Scenario) { c.Locked = slices.Delete(c.Locked, i, i+1) }})
	}
	for i := len(s.Reserved) - 1; i >= 0; i-- {
		list = append(list, Edit{Says: fmt.Sprintf("reserved place in %s left out", s.Reserved[i].Func), apply: func(c *scenario.Scenario) { c.Reserved = slices.Delete(c.Reserved, i, i+1) }})
	}
	for i := len(s.Calls) - 1; i >= 0; i-- {
		name := s.Calls[i].Name
		list = append(list, Edit{Says: "static call " + name + " left out", apply: func(c *scenario.Scenario) {
			c.Calls = slices.Delete(c.Calls, i, i+1)
			dropOps(c, func(op *scenario.Op) bool { return op.Kind == scenario.OpSetCall && op.Target == name })
		}})
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
