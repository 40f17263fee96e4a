package edit

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
)

// An Edit makes a scenario smaller or simpler. Only running the result tells whether it is valid
// and still shows the scenario's behaviour.
type Edit struct {
	Says string // the edit in words, for a report: "task other left out"

	// Beginning reports that the remaining operations are the beginning of some run of the
	// original scenario, in which the omitted ones come last or not at all. So whatever holds in
	// all runs of the original also holds in the edited one.
	Beginning bool

	// Gone lists the omitted operations, if tasks change in no other way.
	Gone []scenario.Op

	// Unused reports that no operation and no handler step uses the omitted part.
	Unused bool

	apply func(c *scenario.Scenario)
	moves func(old string) string // new name of a mover, "" if it is gone; nil: all names stay
}

// Apply returns the edited scenario. The original is unchanged.
func (e *Edit) Apply(s *scenario.Scenario) *scenario.Scenario {
	c := clone(s)
	e.apply(c)
	return c
}

// Mover returns the new name of a mover of the original scenario; "" if it is gone. Other names
// are unchanged.
func (e *Edit) Mover(old string) string {
	if e.moves == nil {
		return old
	}
	return e.moves(old)
}

func clone(s *scenario.Scenario) *scenario.Scenario {
	c := *s
	c.Texts, c.Datas, c.Missing = slices.Clone(s.Texts), slices.Clone(s.Datas), slices.Clone(s.Missing)
	c.Probes, c.Labels, c.Sources = slices.Clone(s.Probes), slices.Clone(s.Labels), slices.Clone(s.Sources)
	c.Modules, c.Sites, c.Calls, c.Locked = slices.Clone(s.Modules), slices.Clone(s.Sites), slices.Clone(s.Calls),
		slices.Clone(s.Locked)
	c.Reserved, c.Fprobes, c.Alternatives = slices.Clone(s.Reserved), slices.Clone(s.Fprobes),
		slices.Clone(s.Alternatives)
	c.Tasks = slices.Clone(s.Tasks)
	for i := range c.Tasks {
		c.Tasks[i].Ops = slices.Clone(c.Tasks[i].Ops)
	}
	return &c
}

// Smaller lists the edits that omit or simplify something, the largest cuts first: tasks,
// interrupt sources, probes and labels with their operations, runs of operations, repetitions,
// unused CPUs, and functions, data and missing symbols that no other part names. A source that
// isn't a plain timer may become one. The order depends on the scenario alone.
func Smaller(s *scenario.Scenario) []Edit {
	var list []Edit
	list = fewerTasks(s, list)
	list = fewerSources(s, list)
	list = fewerClients(s, list)
	list = fewerOps(s, list)
	list = shorterLoops(s, list)
	list = fewerCPUs(s, list)
	list = plainerMachine(s, list)
	list = plainerSources(s, list)
	return fewerSymbols(s, list)
}

func fewerTasks(s *scenario.Scenario, list []Edit) []Edit {
	if len(s.Tasks) == 1 {
		return list
	}
	for i := len(s.Tasks) - 1; i >= 0; i-- {
		list = append(list, Edit{
			Says:      "task " + s.Tasks[i].Name + " left out",
			Beginning: alone(s, i) && s.Tasks[i].Setup == 0,
			apply:     func(c *scenario.Scenario) { c.Tasks = slices.Delete(c.Tasks, i, i+1) },
		})
	}
	return list
}

// alone reports whether a task has its CPU to itself, so that no other task waits there for its
// end.
func alone(s *scenario.Scenario, task int) bool {
	for i := range s.Tasks {
		if i != task && s.Tasks[i].CPU == s.Tasks[task].CPU {
			return false
		}
	}
	return true
}

func fewerSources(s *scenario.Scenario, list []Edit) []Edit {
	names := s.SourceNames()
	for i := len(s.Sources) - 1; i >= 0; i-- {
		cut := func(c *scenario.Scenario) { c.Sources = slices.Delete(c.Sources, i, i+1) }
		list = append(list, Edit{Says: names[i] + " left out", Beginning: true, apply: cut,
			moves: sourceMoves(s, i, cut)})
	}
	return list
}

// sourceMoves returns the new names of sources after an edit that may remove source number gone
// (-1: none) and keeps the order of the others.
func sourceMoves(s *scenario.Scenario, gone int, edit func(*scenario.Scenario)) func(string) string {
	old := s.SourceNames()
	c := clone(s)
	edit(c)
	now := c.SourceNames()
	if gone >= 0 {
		now = slices.Insert(now, gone, "")
	}
	return func(name string) string {
		if i := slices.Index(old, name); i >= 0 {
			return now[i]
		}
		return name
	}
}

// fewerClients omits a probe or a label with all operations and handler steps on it.
func fewerClients(s *scenario.Scenario, list []Edit) []Edit {
	for i := len(s.Probes) - 1; i >= 0; i-- {
		name := s.Probes[i].Name
		unused := !s.Uses(name, scenario.ParamProbe, scenario.ParamProbes) &&
			!slices.ContainsFunc(steps(s), func(st scenario.Step) bool {
				return st.Kind.Has(scenario.StepProbe) && st.Func == name
			})
		list = append(list, Edit{Says: "probe " + name + " left out", Beginning: unused, Unused: unused,
			Gone: on(s, name), apply: func(c *scenario.Scenario) {
				c.Probes = slices.Delete(c.Probes, i, i+1)
				dropOps(c, func(op *scenario.Op) bool {
					if slices.Contains(op.Targets, name) {
						op.Targets = slices.DeleteFunc(slices.Clone(op.Targets), func(t string) bool {
							return t == name
						})
					}
					if len(op.Targets) == 0 {
						op.Targets = nil
					}
					return op.Kind.Has(scenario.ParamProbe) && op.Target == name
				})
				dropSteps(c, func(st *scenario.Step) bool { return st.Kind.Has(scenario.StepProbe) && st.Func == name })
			}})
	}
	for i := len(s.Labels) - 1; i >= 0; i-- {
		name := s.Labels[i].Name
		uses := func(op *scenario.Op) bool { return op.Kind.Has(scenario.ParamLabel) && op.Target == name }
		unused := !slices.ContainsFunc(operations(s), uses)
		list = append(list, Edit{Says: "label " + name + " left out", Beginning: unused, Unused: unused,
			apply: func(c *scenario.Scenario) {
				c.Labels = slices.Delete(c.Labels, i, i+1)
				dropOps(c, uses)
			}})
	}
	return fewerAround(s, list)
}

// operations returns the operations of all tasks.
func operations(s *scenario.Scenario) (list []*scenario.Op) {
	for i := range s.Tasks {
		for j := range s.Tasks[i].Ops {
			list = append(list, &s.Tasks[i].Ops[j])
		}
	}
	return list
}

// steps returns the steps of all handlers.
func steps(s *scenario.Scenario) (list []scenario.Step) {
	for i := range s.Probes {
		list = append(list, slices.Concat(s.Probes[i].Pre, s.Probes[i].Post, s.Probes[i].Fault)...)
	}
	return list
}

// on returns the operations on a single probe.
func on(s *scenario.Scenario, name string) (list []scenario.Op) {
	for _, op := range operations(s) {
		if op.Kind.Has(scenario.ParamProbe) && op.Target == name {
			list = append(list, *op)
		}
	}
	return list
}

// dropSteps omits steps of handlers. A handler without steps remains.
func dropSteps(s *scenario.Scenario, drop func(st *scenario.Step) bool) {
	for i := range s.Probes {
		for _, steps := range s.Probes[i].Handlers() {
			if *steps != nil {
				*steps = slices.DeleteFunc(append([]scenario.Step{}, *steps...), func(st scenario.Step) bool {
					return drop(&st)
				})
			}
		}
	}
}

// dropOps omits operations, and tasks that have none left.
func dropOps(s *scenario.Scenario, drop func(op *scenario.Op) bool) {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		had := len(t.Ops)
		for j := range t.Setup {
			if drop(&t.Ops[j]) {
				t.Setup--
			}
		}
		t.Ops = slices.DeleteFunc(t.Ops, func(op scenario.Op) bool { return drop(&op) })
		if len(t.Ops) == 0 && had > 0 {
			t.Ops = nil
		}
	}
	s.Tasks = slices.DeleteFunc(s.Tasks, func(t scenario.Task) bool { return t.Ops == nil })
}

// fewerOps omits runs of a task's operations: halves first, then quarters, down to single ones;
// within a size the last first. Operations on works stay: a work that isn't queued or waited for
// leaves expectations unmet.
func fewerOps(s *scenario.Scenario, list []Edit) []Edit {
	for i := range s.Tasks {
		ops := s.Tasks[i].Ops
		for size := max(len(ops)/2, 1); len(ops) > 1; size /= 2 {
			for from := (len(ops) - 1) / size * size; from >= 0; from -= size {
				to := min(from+size, len(ops))
				if slices.ContainsFunc(ops[from:to],
					func(op scenario.Op) bool { return op.Kind.Traits&scenario.Works != 0 }) {
					continue
				}
				says := fmt.Sprintf("task %s: operation %d left out", s.Tasks[i].Name, from)
				if to-from > 1 {
					says = fmt.Sprintf("task %s: operations %d to %d left out", s.Tasks[i].Name, from, to-1)
				}
				last := to == len(ops) && from >= s.Tasks[i].Setup && s.Tasks[i].Repeat <= 1 && alone(s, i)
				list = append(list, Edit{Says: says, Beginning: last, Gone: ops[from:to],
					apply: func(c *scenario.Scenario) {
						c.Tasks[i].Setup -= max(min(c.Tasks[i].Setup, to)-from, 0)
						c.Tasks[i].Ops = slices.Delete(c.Tasks[i].Ops, from, to)
					}})
			}
			if size == 1 {
				break
			}
		}
	}
	return list
}

// shorterLoops runs loops once, half as often, or once less.
func shorterLoops(s *scenario.Scenario, list []Edit) []Edit {
	fewer := func(n int) []int {
		switch {
		case n <= 1:
			return nil
		case n <= 3:
			return []int{1, n - 1}[:n-1]
		}
		return []int{1, n / 2, n - 1}
	}
	for i := range s.Tasks {
		for _, n := range fewer(s.Tasks[i].Repeat) {
			list = append(list, Edit{
				Says:      fmt.Sprintf("task %s: repeat = %d", s.Tasks[i].Name, n),
				Beginning: alone(s, i),
				apply:     func(c *scenario.Scenario) { c.Tasks[i].Repeat = n },
			})
		}
	}
	names := s.SourceNames()
	for i := range s.Sources {
		for _, n := range fewer(s.Sources[i].AtMost) {
			list = append(list, Edit{
				Says:      fmt.Sprintf("%s: at_most = %d", names[i], n),
				Beginning: true,
				apply:     func(c *scenario.Scenario) { c.Sources[i].AtMost = n },
			})
		}
	}
	return list
}

// fewerCPUs omits CPUs without tasks and sources; those above are renumbered.
func fewerCPUs(s *scenario.Scenario, list []Edit) []Edit {
	for cpu := s.Machine.CPUs - 1; cpu >= 0 && s.Machine.CPUs > 1; cpu-- {
		if slices.ContainsFunc(s.Tasks, func(t scenario.Task) bool { return t.CPU == cpu }) ||
			slices.ContainsFunc(s.Sources, func(x scenario.Source) bool { return x.CPU == cpu }) ||
			slices.ContainsFunc(s.Tasks, func(t scenario.Task) bool {
				return slices.ContainsFunc(t.Ops, func(op scenario.Op) bool {
					return op.Kind.Has(scenario.ParamCPU) && op.CPU == cpu
				})
			}) {
			continue
		}
		cut := func(c *scenario.Scenario) {
			c.Machine.CPUs--
			for i := range c.Tasks {
				if c.Tasks[i].CPU > cpu {
					c.Tasks[i].CPU--
				}
				for j := range c.Tasks[i].Ops {
					if op := &c.Tasks[i].Ops[j]; op.Kind.Has(scenario.ParamCPU) && op.CPU > cpu {
						op.CPU--
					}
				}
			}
			below := uint64(1)<<cpu - 1
			c.Machine.Offline = c.Machine.Offline&below | c.Machine.Offline>>1&^below
			for i := range c.Sources {
				if c.Sources[i].CPU > cpu {
					c.Sources[i].CPU--
				}
			}
		}
		list = append(list, Edit{Says: fmt.Sprintf("cpu%d left out", cpu), Beginning: true, apply: cut,
			moves: cpuMoves(s, cpu, sourceMoves(s, -1, cut))})
	}
	return list
}

// plainerMachine uses the simplifications that the rows of machine() list.
func plainerMachine(s *scenario.Scenario, list []Edit) []Edit {
	for _, r := range scenario.Settings {
		if r.Plainer == nil {
			continue
		}
		for _, change := range r.Plainer(&s.Machine) {
			list = append(list, Edit{Says: change.Says, apply: func(c *scenario.Scenario) { change.Do(&c.Machine) }})
		}
	}
	return list
}

// cpuMoves returns the new names of movers after a CPU is removed.
func cpuMoves(s *scenario.Scenario, gone int, sources func(string) string) func(string) string {
	names := make(map[string]string)
	for i := gone; i < s.Machine.CPUs; i++ {
		for _, what := range []string{"cpu%d", "ipi@cpu%d", "drain@cpu%d"} {
			names[fmt.Sprintf(what, i)] = ""
			if i > gone {
				names[fmt.Sprintf(what, i)] = fmt.Sprintf(what, i-1)
			}
		}
	}
	return func(name string) string {
		if now, ok := names[name]; ok {
			return now
		}
		return sources(name)
	}
}

// plainerSources makes a source a timer that runs no function and leaves interrupts off.
func plainerSources(s *scenario.Scenario, list []Edit) []Edit {
	names := s.SourceNames()
	for i := range s.Sources {
		x := s.Sources[i]
		var tries []scenario.Source
		for _, k := range scenario.SourceKinds {
			if k.Plain || k == x.Kind && x.Run != "" {
				tries = append(tries, scenario.Source{Kind: k, CPU: x.CPU, AtMost: x.AtMost})
			}
		}
		for _, y := range tries {
			if y.Kind == x.Kind && x.Run == "" && y.Opens == x.Opens && y.Idle == x.Idle { // it is plain already
				continue
			}
			edit := func(c *scenario.Scenario) { c.Sources[i] = y }
			list = append(list, Edit{
				Says: fmt.Sprintf("%s a plain %s", names[i], y.Kind), Beginning: true, apply: edit,
				moves: sourceMoves(s, -1, edit),
			})
		}
	}
	return list
}

// symbols returns the functions and data that an operation names. A new kind of parameter that names
// one needs a case here: fewerSymbols omits what no part names.
func symbols(op *scenario.Op) (names []string) {
	for _, a := range op.Kind.Params {
		switch a.Kind {
		case scenario.ParamFunc, scenario.ParamFuncs, scenario.ParamInsn, scenario.ParamData:
			names = append(names, op.Target)
		case scenario.ParamInto, scenario.ParamIntos, scenario.ParamCallee:
			names = append(names, op.Targets...)
		}
	}
	return names
}

// fewerSymbols omits functions, data and missing symbols that no probe, label, operation, handler
// or source names. Code may still refer to them; then the run shows it.
func fewerSymbols(s *scenario.Scenario, list []Edit) []Edit {
	used := make(map[string]bool)
	for i := range s.Probes {
		used[s.Probes[i].Func], used[s.Probes[i].Symbol], used[s.Probes[i].Entry] = true, true, true
		for _, steps := range s.Probes[i].Handlers() {
			for _, st := range *steps {
				if !st.Kind.Has(scenario.StepProbe) {
					used[st.Func] = true
				}
			}
		}
	}
	for i := range s.Labels {
		used[s.Labels[i].Func], used[s.Labels[i].Target] = true, true
	}
	usedAround(s, used)
	for i := range s.Tasks {
		for _, op := range s.Tasks[i].Ops {
			for _, name := range symbols(&op) {
				used[name] = true
			}
			if s.Machine.Memory != 0 { // stores are then reported under the names of their targets
				for i := range s.Datas {
					d := &s.Datas[i]
					used[d.Name] = used[d.Name] || slices.ContainsFunc(op.Args, func(v uint64) bool {
						return v-uint64(d.At) < uint64(len(d.Bytes))
					})
				}
			}
		}
	}
	for i := range s.Sources {
		used[s.Sources[i].Run] = true
	}
	for i := len(s.Texts) - 1; i >= 0; i-- {
		if !used[s.Texts[i].Name] {
			list = append(list, Edit{Beginning: true, Says: "function " + s.Texts[i].Name + " left out",
				apply: func(c *scenario.Scenario) { dropText(c, i) }})
		}
	}
	for i := len(s.Datas) - 1; i >= 0; i-- {
		if !used[s.Datas[i].Name] {
			list = append(list, Edit{Beginning: true, Says: "data " + s.Datas[i].Name + " left out",
				apply: func(c *scenario.Scenario) { dropData(c, i) }})
		}
	}
	for i := len(s.Missing) - 1; i >= 0; i-- {
		list = append(list, Edit{Beginning: true, Says: "symbol " + s.Missing[i].Name + " left out",
			apply: func(c *scenario.Scenario) { c.Missing = slices.Delete(c.Missing, i, i+1) }})
	}
	return list
}
