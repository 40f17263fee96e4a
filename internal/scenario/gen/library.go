package gen

import (
	"fmt"
	"slices"
	"sync"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// Functions lists the library functions that scenarios are drawn over.
var Functions = [...]string{"victim", "clamp", "sign", "triangle", "scramble", "field", "tally", "over"}

// Empty returns a scenario on a machine with the library's functions and no tasks.
func Empty(m scenario.Machine) *scenario.Scenario {
	s := base32()
	if !m.Arch.Bits32() {
		s = base("")
	}
	s.Machine = m
	return s
}

// base returns an empty scenario with the library's functions and more objects.
func base(more string) *scenario.Scenario {
	s, err := lang.Load("drawn", []byte(`
v = elf("victim.o")
w = elf("probe_targets.o")
elf("label.o")
`+more+`
task("nobody", ops = [schedule()])
never()
`), library.Open)
	if err != nil {
		panic(err)
	}
	s.Tasks = nil
	return s
}

// Boundaries returns the offsets at which the function's instructions begin.
func Boundaries(s *scenario.Scenario, function string) (starts []int) {
	for i := range s.Texts {
		if x := &s.Texts[i]; x.Name == function {
			for off := 0; off < len(x.Code); {
				in, err := s.Machine.Processor().Decode(x.Code[off:], x.At+arch.Addr(off))
				if err != nil {
					panic(err)
				}
				starts = append(starts, off)
				off += in.Size()
			}
		}
	}
	return starts
}

// known lists the built-in scenarios from which others are derived: no schedule breaks a property
// of theirs on a sound machine, and their tasks' operations may be reordered. Scenarios about a
// memory order are excluded, as they add nothing else.
var known = sync.OnceValue(func() (list []*scenario.Scenario) {
	for _, name := range library.Names() {
		s, err := library.Load(name)
		if err != nil {
			panic(err)
		}
		m := s.Machine
		if !m.Arch.Serves(target.Derived) {
			continue
		}
		if sound(&m); m.Settings != s.Machine.Settings || s.Expect.Sometimes || m.Engine != "" ||
			s.Machine.Memory != smp.SC || ordered(s) {
			continue
		}
		list = append(list, s)
	}
	return list
})

// ordered reports whether a scenario depends on order: its tasks wait for each other, or patch text by hand, a
// debugger writes where probes write, or handlers do what handlers must not. Removing a part of it may
// make it hang or sleep.
func ordered(s *scenario.Scenario) bool {
	if s.DoesAny(scenario.Ordered) || s.PatchesByHand() {
		return true
	}
	for i := range s.Probes {
		if s.Probes[i].AnyStep(scenario.StepRefused) {
			return true
		}
	}
	return false
}

// fromLibrary derives the scenario from a built-in one: mostly on another machine, with a few of
// its operations changed, on other CPUs, and with other interrupts. The expected answers and
// results are dropped; results are still compared with those without probes. It reports false if
// none of the allowed machines supports the scenario.
func (g *maker) fromLibrary() bool {
	g.part("library")
	list := known()
	from := list[g.rand.N(len(list))]
	if slices.Contains(g.on.Without, from.Name) ||
		(g.on.Contract || g.on.Few) && !g.on.Uprobes && from.Does(act.HitUprobe) {
		return false
	}
	own := g.one(3)
	g.part("machine")
	g.machineOf(g.on.Machines)
	drawn := g.sc.Machine
	if g.on.Machines != nil && drawn.Arch != from.Machine.Arch {
		return false
	}
	drawn.Arch, drawn.Kernel.Bits32 = from.Machine.Arch, from.Machine.Kernel.Bits32
	s := *from
	s.Name, s.Expect, s.Needs = "drawn", scenario.Expect{}, scenario.NeedsNothing
	s.Texts, s.Datas, s.Probes = slices.Clone(s.Texts), slices.Clone(s.Datas), slices.Clone(s.Probes)
	s.Tasks, s.Sources = slices.Clone(s.Tasks), slices.Clone(s.Sources)
	g.sc = &s
	if !own || g.on.Machines != nil {
		if drawn.CPUs = max(drawn.CPUs, s.Machine.CPUs); s.Does(act.Alternatives) {
			drawn.CPUs = s.Machine.CPUs // patches are applied while no other CPU runs the text
		}
		s.Machine = drawn
		if lang.Check(&s) != nil || !knows(&drawn, &s) { // that machine lacks something the scenario uses
			if s.Machine = from.Machine; g.on.Machines != nil {
				return false
			}
		}
	}
	refused := s.Does(act.PatchFunc) // a probe that may change the path occupies the site
	for i := range s.Tasks {
		g.numbered("task", i)
		g.change(&s.Tasks[i])
		for j := range s.Tasks[i].Ops {
			if op := &s.Tasks[i].Ops[j]; op.Kind == act.Call {
				op.Changed = op.Changed || refused
			}
		}
	}
	g.part("sources")
	for cpu := range s.Machine.CPUs {
		if g.one(3) {
			s.Sources = append(s.Sources, scenario.Source{Kind: scenario.SourceTimer, CPU: cpu, AtMost: 1 + g.rand.N(2),
				Idle: g.one(3), Opens: g.one(6)})
		}
		if s.Machine.Preempt >= scenario.PreemptFull && g.one(2) {
			s.Sources = append(s.Sources, scenario.Source{Kind: scenario.SourcePreempt, CPU: cpu,
				AtMost: 1 + g.rand.N(8)})
			s.Tasks = append(s.Tasks, scenario.Task{Name: fmt.Sprintf("beside%d", cpu), CPU: cpu,
				Repeat: 1 + g.rand.N(3), Ops: []scenario.Op{{Kind: act.Schedule}}})
		}
	}
	if g.one(3) {
		s.Sources = append(s.Sources, scenario.Source{Kind: scenario.SourceNMI, CPU: g.rand.N(s.Machine.CPUs),
			AtMost: 1, Idle: g.one(3)})
	}
	if g.on.Contract {
		g.sc = Sane(g.sc)
	}
	return !g.on.Contract || !g.sc.Shares()
}

// knows reports whether a machine's rules know the places in a scenario's text that others write
// to and where no instruction begins. Where they don't, a probe may be put there.
func knows(m *scenario.Machine, s *scenario.Scenario) bool {
	e := m.Kernel.Edition
	within := func(p scenario.Probe) bool { return p.Func != "" && !slices.Contains(Boundaries(s, p.Func), p.Offset) }
	return (!m.AnyByte || !slices.ContainsFunc(s.Probes, within)) && (len(s.Sites) == 0 || m.Kernel.Ftrace) &&
		(len(s.Calls) == 0 || e >= rules.Edition514) && (len(s.Labels) == 0 || e != rules.Edition26)
}

// change changes a task's operations in a few places.
func (g *maker) change(t *scenario.Task) {
	t.Setup = 0
	t.Ops = slices.DeleteFunc(slices.Clone(t.Ops), func(op scenario.Op) bool { return op.Kind == act.Expect })
	for i := range t.Ops {
		t.Ops[i].Checked, t.Ops[i].Returns, t.Ops[i].Bits = false, 0, 0
	}
	if g.one(4) {
		t.CPU = g.rand.N(g.sc.Machine.CPUs)
	}
	for range g.rand.N(4) {
		if len(t.Ops) == 0 {
			break
		}
		at, what := g.rand.N(len(t.Ops)), g.rand.N(5)
		if len(g.sc.Modules) > 0 || replacesProbed(g.sc) { // an unloaded module can't be called
			what = max(what, 3)
		}
		switch what {
		case 0:
			if spared(t.Ops[at].Kind) {
				t.Ops = slices.Delete(t.Ops, at, at+1)
			}
		case 1:
			t.Ops = slices.Insert(t.Ops, at, t.Ops[g.rand.N(len(t.Ops))])
		case 2:
			to := g.rand.N(len(t.Ops))
			t.Ops[at], t.Ops[to] = t.Ops[to], t.Ops[at]
		case 3:
			t.Ops = slices.Insert(t.Ops, at, scenario.Op{Kind: act.Schedule})
		case 4:
			if g.sc.Machine.Kernel.Optprobes {
				t.Ops = slices.Insert(t.Ops, at, scenario.Op{Kind: act.WaitOptimized})
			}
		}
	}
	if len(t.Ops) == 0 {
		t.Ops = []scenario.Op{{Kind: act.Schedule}}
	}
}

// replacesProbed reports whether alternatives lie in a function that is probed: they are written over a probe that
// comes before them.
func replacesProbed(s *scenario.Scenario) bool {
	return slices.ContainsFunc(s.Alternatives, func(a scenario.Alternative) bool {
		return slices.ContainsFunc(s.Probes, func(p scenario.Probe) bool { return p.Func == a.Func })
	})
}

// spared reports whether an operation can be omitted without leaving anything unused.
func spared(k *scenario.Operation) bool {
	switch k {
	case act.Unregister, act.UnregisterAll, act.Enable, act.Disable, act.Schedule, act.WaitOptimized,
		act.Optimization, act.Enabled, act.DisableLabel, act.Tracer:
		return true
	}
	return false
}
