package draw

import (
	"fmt"

	"pgregory.net/rapid"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/testkit/gentest"
	"kpsim/kpsimtest/build"
)

// A Drawn is what Machine has drawn, as far as the other generators depend on it.
type Drawn struct {
	CPUs     int  // 2 or 3
	Preempts bool // tasks are preempted, so that preempt interrupts have an effect
	Old      bool // the edition is 2.6: no arrays of probes, no disabling, no entry handlers, no jumps
}

// preempts are the models of preemption, the plainest first, each with what makes the optimizer's wait suffice.
var preempts = []struct {
	word    build.PreemptSetting
	quiesce build.QuiesceSetting
	takes   bool // a task may be preempted anywhere
}{
	{build.PreemptNone, build.QuiesceSched, false},
	{build.PreemptVoluntary, build.QuiesceSched, false},
	{build.PreemptDynamic, build.QuiesceTasks, false},
	{build.PreemptFull, build.QuiesceTasks, true},
	{build.PreemptLazy, build.QuiesceTasks, true},
}

// editions are the editions of the kernel's document, the newest first.
var editions = []build.EditionSetting{build.Edition69, build.Edition65, build.Edition514, build.Edition415,
	build.Edition26}

// Machine draws a machine: 2 or 3 CPUs, how tasks are preempted, what a CPU fetches from text that changes, how text is
// patched, or a whole edition. The optimizer's wait suffices for the preemption. What the property needs besides, as
// Memory, it says of s.Machine().
func Machine(t *rapid.T, s *build.Scenario) *Drawn {
	d := &Drawn{CPUs: rapid.IntRange(2, 3).Draw(t, "cpus")}
	p := preempts[rapid.IntRange(0, len(preempts)-1).Draw(t, "preempt")]
	d.Preempts = p.takes
	m := s.Machine().CPUs(d.CPUs).Preempt(p.word).Fetch(rapid.SampledFrom([]build.FetchSetting{build.FetchCoherent,
		build.FetchStale, build.FetchMixing}).Draw(t, "fetch"))
	if !rapid.Bool().Draw(t, "an edition") {
		m.Quiesce(p.quiesce)
		return d
	}
	e := rapid.SampledFrom(editions).Draw(t, "edition")
	m.Edition(e)
	d.Old = e == build.Edition26
	return d
}

// Functions draws some of the functions of kpsim's library, real code of a compiler: at least and at most as many. They
// take two numbers.
func Functions(t *rapid.T, s *build.Scenario, least, most int) []build.Function {
	victim, others := s.ELF("victim.o"), s.ELF("probe_targets.o")
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(gen.Functions[:]), least, most,
		func(name string) string { return name }).Draw(t, "functions")
	list := make([]build.Function, len(names))
	for i, name := range names {
		if list[i] = others.Func(name); name == gen.Functions[0] {
			list[i] = victim.Func(name)
		}
	}
	return list
}

// Probes draws probes, at least and at most as many, on instructions of these functions: kprobes, and return probes at
// their entries.
func Probes(t *rapid.T, s *build.Scenario, m *Drawn, fs []build.Function, least, most int) (list []build.AnyProbe) {
	for i := range rapid.IntRange(least, most).Draw(t, "probes") {
		name := fmt.Sprintf("k%d", i)
		f := rapid.SampledFrom(fs).Draw(t, name+" in")
		if rapid.IntRange(0, 4).Draw(t, name+" is") == 4 {
			k := s.Kretprobe(name).At(f).Maxactive(rapid.IntRange(0, 2).Draw(t, name+" maxactive"))
			if !m.Old && rapid.Bool().Draw(t, name+" entry") {
				k.Entry(build.Count())
			}
			list = append(list, k)
			continue
		}
		starts := s.Insns(f)
		if len(starts) == 0 {
			t.Fatalf("%v", s) // a mistake, which it prints as
		}
		k := s.Kprobe(name).At(f.Plus(rapid.SampledFrom(starts).Draw(t, name+" at")))
		if rapid.IntRange(0, 3).Draw(t, name+" post") == 3 {
			k.Post(build.Count())
		}
		if !m.Old && rapid.IntRange(0, 7).Draw(t, name+" disabled") == 7 {
			k.Disabled(true)
		}
		list = append(list, k)
	}
	return list
}

// Prober draws a task on CPU 0 that registers the probes, waits until they are optimized, does things with them, and
// unregisters them. What it does may be refused.
func Prober(t *rapid.T, s *build.Scenario, m *Drawn, ks []build.AnyProbe) *build.Task {
	task := s.Task("prober")
	for _, k := range ks {
		task.Ops(build.Register(k))
	}
	if !m.Old {
		task.Ops(build.WaitOptimized())
	}
	for range rapid.IntRange(0, 4).Draw(t, "operations") {
		k := rapid.SampledFrom(ks).Draw(t, "of probe")
		choices := []build.Op{build.Schedule(), build.Unregister(k), build.Register(k)}
		if !m.Old {
			choices = append(choices, build.WaitOptimized(), build.Disable(k), build.Enable(k),
				build.Optimization(rapid.Bool().Draw(t, "on")))
		}
		task.Ops(choices[rapid.IntRange(0, len(choices)-1).Draw(t, "operation")])
	}
	for _, k := range ks {
		task.Ops(build.Unregister(k))
	}
	if !m.Old {
		task.Ops(build.WaitOptimized())
	}
	return task
}

// Callers draws a task on each CPU but the first, which calls the functions, and, where tasks are preempted, another
// one to run instead.
func Callers(t *rapid.T, s *build.Scenario, m *Drawn, fs []build.Function) {
	for cpu := 1; cpu < m.CPUs; cpu++ {
		task := s.Task(fmt.Sprintf("caller%d", cpu)).CPU(cpu)
		for range rapid.IntRange(1, 3).Draw(t, "calls") {
			f := rapid.SampledFrom(fs).Draw(t, "function")
			task.Ops(build.Call(f, rapid.IntRange(0, 6).Draw(t, "argument"), 2).Changed(true))
		}
		task.Ops(build.Schedule())
	}
	if m.Preempts {
		s.Task("other").CPU(1).Ops(build.Schedule())
	}
}

// Interrupts draws what interrupts CPU 1: a timer, an NMI, and, where tasks are preempted, that one is.
func Interrupts(t *rapid.T, s *build.Scenario, m *Drawn) {
	if rapid.Bool().Draw(t, "timer") {
		s.Timer(1)
	}
	if rapid.Bool().Draw(t, "nmi") {
		s.NMI(1)
	}
	if m.Preempts {
		s.Preempt(1).AtMost(2)
	}
}

// Ops draws a program: at least and at most as many of these operations, in any order, each as often as it is drawn.
func Ops(t *rapid.T, least, most int, of ...build.Op) []build.Op {
	list := make([]build.Op, rapid.IntRange(least, most).Draw(t, "operations"))
	for i := range list {
		list[i] = of[rapid.IntRange(0, len(of)-1).Draw(t, "operation")]
	}
	return list
}

// Any draws a whole scenario of everything that kpsim explore draws: a machine of any edition, random functions beside
// those of the library, probes and handlers of every kind, modules, labels, static calls, hotplug, ftrace.
func Any(t *rapid.T) *build.Scenario { return build.Of(gentest.DrawAny(t)) }
