package edit

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
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
	for _, l := range scenario.Lists {
		l.Clone(&c)
	}
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

// alone reports whether no other task waits for a task's end: it has its CPU to itself, and no other
// one does wait_ended().
func alone(s *scenario.Scenario, task int) bool {
	for i := range s.Tasks {
		if t := &s.Tasks[i]; i != task && (t.CPU == s.Tasks[task].CPU ||
			slices.ContainsFunc(t.Ops, func(op scenario.Op) bool { return op.Kind == act.WaitEnded })) {
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

// fewerClients omits probes and what else is patched, with the operations and steps on them, and
// single elements of those that have several. The functions of a module become the kernel's.
func fewerClients(s *scenario.Scenario, list []Edit) []Edit {
	for _, l := range scenario.Lists {
		if l.Paragraph < scenario.InProbes || l.Paragraph > scenario.InOthers {
			continue
		}
		for i := l.Len(s) - 1; i >= 0; i-- {
			x := l.At(s, i)
			if l.Given && ofPatcher(s, l, l.Name(x)) {
				continue
			}
			e := Edit{Says: l.Called(x) + " left out", apply: func(c *scenario.Scenario) { l.Drop(c, i) }}
			if l.Given {
				without(s, &e, l, i, l.Name(x))
			} else if l.Used != nil {
				e.Unused = !s.Any(l.Used)
			}
			e.Beginning = e.Unused
			if list = append(list, e); l.Fewer == nil {
				continue
			}
			for _, change := range l.Fewer(x) {
				list = append(list, Edit{Says: change.Says + " left out",
					apply: func(c *scenario.Scenario) { change.Do(l.At(c, i)) }})
			}
		}
	}
	return list
}

// patches reports whether a task is a patcher that the scenario describes. Each of its operations counts on those
// before it: one whose wait is left out has another race than its author's. So only the last ones may go, of a task
// that doesn't begin anew, and that leaves no other stopped.
func patches(t *scenario.Task) bool {
	return slices.ContainsFunc(t.Ops, func(op scenario.Op) bool { return op.Kind.Traits&scenario.ByHand != 0 })
}

// halted reports whether a patcher that ended with these operations would leave others stopped.
func halted(ops []scenario.Op) bool {
	for i := len(ops) - 1; i >= 0; i-- {
		if k := ops[i].Kind; k.Traits&scenario.Halts != 0 {
			return k.Inverse != "stop" && k.Traits&scenario.Waits == 0
		}
	}
	return false
}

// ofPatcher reports whether a patcher that the scenario describes has an operation on a part.
func ofPatcher(s *scenario.Scenario, l *scenario.List, name string) bool {
	return slices.ContainsFunc(s.Tasks, func(t scenario.Task) bool {
		return patches(&t) && slices.ContainsFunc(t.Ops, func(op scenario.Op) bool {
			return op.Kind.Takes(l) && op.Names(name)
		})
	})
}

// without completes the edit that omits a part with a name: with the operations and steps on it.
func without(s *scenario.Scenario, e *Edit, l *scenario.List, i int, name string) {
	step := func(st *scenario.Step) bool {
		return l == scenario.TheProbes && st.Kind.Has(scenario.StepProbe) && st.Target == name
	}
	uses := func(op *scenario.Op) bool { return op.Kind.Takes(l) && op.Target == name }
	e.Unused = !s.Uses(l, name) && !slices.ContainsFunc(steps(s), func(st scenario.Step) bool { return step(&st) })
	e.apply = func(c *scenario.Scenario) {
		l.Drop(c, i)
		dropOps(c, func(op *scenario.Op) bool {
			if op.Kind.Has(scenario.ParamParts) && op.Kind.Takes(l) {
				op.Targets = slices.DeleteFunc(slices.Clone(op.Targets), func(t string) bool { return t == name })
			}
			if len(op.Targets) == 0 {
				op.Targets = nil
			}
			return uses(op)
		})
		dropSteps(c, step)
	}
	if l == scenario.TheProbes {
		for _, op := range operations(s) {
			if uses(op) {
				e.Gone = append(e.Gone, *op)
			}
		}
	}
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
// within a size the last first. A patcher that the scenario describes loses only its last operations.
// Operations on works stay: a work that isn't queued or waited for leaves expectations unmet.
func fewerOps(s *scenario.Scenario, list []Edit) []Edit {
	for i := range s.Tasks {
		ops := s.Tasks[i].Ops
		for size := max(len(ops)/2, 1); len(ops) > 1; size /= 2 {
			for from := (len(ops) - 1) / size * size; from >= 0; from -= size {
				to := min(from+size, len(ops))
				if patches(&s.Tasks[i]) && (to < len(ops) || s.Tasks[i].Repeat > 1 || halted(ops[:from])) {
					continue
				}
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
		used := false
		eachCPU(s, func(n *int) { used = used || *n == cpu })
		if used {
			continue
		}
		cut := func(c *scenario.Scenario) {
			c.Machine.CPUs--
			eachCPU(c, func(n *int) {
				if *n > cpu {
					*n--
				}
			})
			below := uint64(1)<<cpu - 1
			c.Machine.Offline = c.Machine.Offline&below | c.Machine.Offline>>1&^below
		}
		list = append(list, Edit{Says: fmt.Sprintf("cpu%d left out", cpu), Beginning: true, apply: cut,
			moves: cpuMoves(s, cpu, sourceMoves(s, -1, cut))})
	}
	return list
}

// eachCPU calls do for each CPU that a part or an operation names.
func eachCPU(s *scenario.Scenario, do func(cpu *int)) {
	for _, l := range scenario.Lists {
		for i := range l.Len(s) {
			x := l.At(s, i)
			if m := l.Maker(x); m != nil {
				for _, a := range m.Params {
					if a.Kind == scenario.PartCPU {
						do(a.At(x).(*int))
					}
				}
			}
		}
	}
	for _, op := range operations(s) {
		if op.Kind.Has(scenario.ParamCPU) {
			do(&op.CPU)
		}
	}
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

// WithoutExpectation omits the expected result of an operation, or an operation that only
// compares.
func WithoutExpectation(s *scenario.Scenario, task, op int) Edit {
	says := fmt.Sprintf("task %s: what operation %d is to find left out", s.Tasks[task].Name, op)
	return Edit{Says: says, apply: func(c *scenario.Scenario) {
		t := &c.Tasks[task]
		if o := &t.Ops[op]; o.Kind != act.Expect {
			o.Checked, o.Returns, o.Bits, o.Or, o.On = false, 0, 0, nil, o.On && o.Kind != act.Call
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
