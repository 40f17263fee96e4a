package gentest

import (
	"fmt"

	"pgregory.net/rapid"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/gen"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
)

// Draw draws a small scenario: a machine on which the correct engine must hold every property,
// one or two library functions, probes on any of their instructions, one task that calls the
// probes' API in any order, tasks that call the functions, and interrupts.
//
// The result is always sound: the optimizer's wait suffices for the preemption model, and the
// patcher works.
func Draw(t *rapid.T) *scenario.Scenario { return DrawOn(t, drawMachine(t)) }

// DrawOn is Draw for a machine.
func DrawOn(t *rapid.T, m scenario.Machine) *scenario.Scenario {
	s := gen.Empty(m)
	first := rapid.IntRange(0, len(gen.Functions)-1).Draw(t, "function")
	for i := range rapid.IntRange(1, 3).Draw(t, "probes") {
		f := gen.Functions[first]
		if i > 0 {
			f = gen.Functions[rapid.IntRange(0, len(gen.Functions)-1).Draw(t, "another function")]
		}
		s.Probes = append(s.Probes, drawProbe(t, s, fmt.Sprintf("k%d", i), f))
	}
	s.Tasks = append(s.Tasks, scenario.Task{Name: "prober", CPU: 0, Repeat: 1, Ops: drawCalls(t, s)})
	for cpu := 1; cpu < s.Machine.CPUs; cpu++ {
		s.Tasks = append(s.Tasks, scenario.Task{
			Name: fmt.Sprintf("caller%d", cpu), CPU: cpu, Repeat: rapid.IntRange(1, 2).Draw(t, "repeat"),
			Ops: drawCaller(t, s),
		})
	}
	s.Sources = drawSources(t, s)
	if s.Machine.Preempt >= scenario.PreemptFull { // another task to run instead
		s.Tasks = append(s.Tasks,
			scenario.Task{Name: "other", CPU: 1, Repeat: 1, Ops: []scenario.Op{{Kind: act.Schedule}}})
	}
	return s
}

func drawMachine(t *rapid.T) scenario.Machine {
	m := scenario.Machine{
		CPUs: rapid.IntRange(2, 3).Draw(t, "cpus"),
		Preempt: rapid.SampledFrom([]scenario.Preempt{scenario.PreemptNone, scenario.PreemptVoluntary,
			scenario.PreemptDynamic, scenario.PreemptFull, scenario.PreemptLazy}).Draw(t, "preempt"),
		Fetch: rapid.SampledFrom([]fetch.Model{fetch.Coherent, fetch.Stale, fetch.Mixing}).Draw(t, "fetch"),
	}
	m.Settle()
	m.Patch = rapid.SampledFrom([]era.Patch{era.PatchBreakpoint, era.PatchStopMachine}).Draw(t, "patch")
	m.RemovedInt3 = rapid.Bool().Draw(t, "removed_int3")
	m.Quiesce = kapi.QuiesceSched
	if m.Preempt.Built() {
		m.Quiesce = kapi.QuiesceTasks
	}
	if rapid.Bool().Draw(t, "an edition") {
		m.Edition = rapid.SampledFrom(rules.AllEditions()).Draw(t, "edition")
		m.Settle()
	}
	return m
}

// drawProbe draws a probe: mostly a kprobe, otherwise one at the function's entry.
func drawProbe(t *rapid.T, s *scenario.Scenario, name, function string) scenario.Probe {
	m := &s.Machine
	p := scenario.Probe{Name: name, Func: function}
	switch kind := rapid.IntRange(0, 7).Draw(t, name+" kind"); {
	case kind >= 6 && m.Jprobes:
		p.Kind = scenario.ProbeJprobe
		// undone afterwards
		p.Pre = []scenario.Step{{Kind: scenario.StepCount}, {Kind: scenario.StepSetReg, Reg: m.Processor().Args[0],
			Value: 1}}
		return p
	case kind >= 5:
		drawReturn(t, m, &p)
		return p
	}
	p.Pre = []scenario.Step{{Kind: scenario.StepCount}}
	starts := gen.Boundaries(s, function)
	p.Offset = starts[rapid.IntRange(0, len(starts)-1).Draw(t, name+" on instruction")]
	if rapid.IntRange(0, 7).Draw(t, name+" pre") == 7 {
		p.Pre = nil
	}
	if rapid.IntRange(0, 3).Draw(t, name+" post") == 3 {
		p.Post = []scenario.Step{{Kind: scenario.StepCount}}
	}
	if m.FaultHandlers && rapid.Bool().Draw(t, name+" fault") {
		p.Fault = []scenario.Step{{Kind: scenario.StepCount}}
	}
	p.Disabled = m.Batches && rapid.IntRange(0, 7).Draw(t, name+" disabled") == 7
	return p
}

// drawReturn turns a probe into a return probe.
func drawReturn(t *rapid.T, m *scenario.Machine, p *scenario.Probe) {
	p.Kind = scenario.ProbeKretprobe
	p.Maxactive = rapid.IntRange(0, 2).Draw(t, p.Name+" maxactive")
	if rapid.IntRange(0, 7).Draw(t, p.Name+" handler") < 7 {
		p.Post = []scenario.Step{{Kind: scenario.StepCount}}
	}
	if !m.Batches {
		return // 2.6 has no entry_handler
	}
	switch rapid.IntRange(0, 3).Draw(t, p.Name+" entry") {
	case 1:
		p.Pre = []scenario.Step{{Kind: scenario.StepCount}}
	case 2:
		p.Pre, p.DataSize = []scenario.Step{{Kind: scenario.StepSave, Reg: m.Processor().Args[0]}}, 8
	case 3:
		p.Pre = []scenario.Step{{Kind: scenario.StepNonzero}}
	}
}

// drawCalls draws the prober's operations. Each probe is registered first and finally
// unregistered, one by one or all at once; operations in between may be refused.
func drawCalls(t *rapid.T, s *scenario.Scenario) (ops []scenario.Op) {
	m := &s.Machine
	kinds := []*scenario.Operation{act.Schedule, act.Unregister, act.Register, act.Enabled}
	if m.Kernel.Optprobes {
		kinds = append(kinds, act.WaitOptimized, act.Optimization)
	}
	if m.Batches {
		kinds = append(kinds, act.Disable, act.Enable)
	}
	all := func(one, many *scenario.Operation) {
		var kprobes []string
		for _, p := range s.Probes {
			if p.Kind == scenario.ProbeKprobe {
				kprobes = append(kprobes, p.Name)
			}
		}
		together := m.Batches && len(kprobes) > 1 && rapid.IntRange(0, 3).Draw(t, "together") == 3
		if together {
			ops = append(ops, scenario.Op{Kind: many, Targets: kprobes})
		}
		for _, p := range s.Probes {
			if !together || p.Kind != scenario.ProbeKprobe {
				ops = append(ops, scenario.Op{Kind: one, Target: p.Name})
			}
		}
	}
	all(act.Register, act.RegisterAll)
	for range rapid.IntRange(0, 4).Draw(t, "operations") {
		op := scenario.Op{Kind: rapid.SampledFrom(kinds).Draw(t, "operation")}
		switch op.Kind {
		case act.WaitOptimized, act.Schedule:
		case act.Optimization, act.Enabled:
			op.On = rapid.Bool().Draw(t, "on")
		default:
			op.Target = s.Probes[rapid.IntRange(0, len(s.Probes)-1).Draw(t, "of probe")].Name
		}
		ops = append(ops, op)
	}
	all(act.Unregister, act.UnregisterAll)
	if m.Kernel.Optprobes {
		ops = append(ops, scenario.Op{Kind: act.WaitOptimized})
	}
	return ops
}

func drawCaller(t *rapid.T, s *scenario.Scenario) (ops []scenario.Op) {
	for range rapid.IntRange(1, 3).Draw(t, "calls") {
		f := s.Probes[rapid.IntRange(0, len(s.Probes)-1).Draw(t, "calls function of probe")].Func
		ops = append(ops, scenario.Op{Kind: act.Call, Target: f, Args: []uint64{
			rapid.Uint64Range(0, 6).Draw(t, "argument"), 2,
		}, Changed: f == "tally"}) // tally counts its calls: results depend on the order
	}
	return append(ops, scenario.Op{Kind: act.Schedule})
}

func drawSources(t *rapid.T, s *scenario.Scenario) (list []scenario.Source) {
	if rapid.Bool().Draw(t, "timer") {
		list = append(list, scenario.Source{Kind: scenario.SourceTimer, CPU: 1, AtMost: 1})
	}
	if rapid.Bool().Draw(t, "nmi") {
		list = append(list, scenario.Source{Kind: scenario.SourceNMI, CPU: 1, AtMost: 1})
	}
	if s.Machine.Preempt >= scenario.PreemptFull {
		list = append(list, scenario.Source{Kind: scenario.SourcePreempt, CPU: 1, AtMost: 2})
	}
	return list
}
