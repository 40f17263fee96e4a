package gen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
)

// calls lists the operations that probers may do on this machine, repeated by weight.
func (g *maker) calls() {
	g.kinds = g.kinds[:0]
	for _, k := range drawn() {
		if m := &g.sc.Machine; k.Setting != "" && !m.Has(k.Setting) || k.Takes(scenario.TheLabels) &&
			m.Edition == rules.Edition26 || k.Touches&scenario.TouchRead != 0 && (g.on.Contract || m.Engine != "") {
			continue
		}
		for range k.Drawn.Times {
			g.kinds = append(g.kinds, k)
		}
	}
}

// drawn lists the operations that are drawn for probers, in their order.
var drawn = sync.OnceValue(func() (list []*scenario.Operation) {
	for _, k := range act.All() {
		if k.Drawn.Nth > 0 {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *scenario.Operation) int { return cmp.Compare(a.Drawn.Nth, b.Drawn.Nth) })
	return list
})

// settled waits until the optimizer is idle, or just yields if there is none.
func (g *maker) settled() scenario.Op {
	if !g.sc.Machine.Kernel.Optprobes {
		return scenario.Op{Kind: act.Schedule}
	}
	return scenario.Op{Kind: act.WaitOptimized}
}

// probers draws the tasks that call the API. A probe belongs to one task, its user; mostly all
// are unregistered at the end.
func (g *maker) probers() {
	g.part("probers")
	if g.tasks = 1 + g.rand.N(2); g.one(4) {
		g.tasks = min(3, len(g.sc.Probes))
	}
	for i := range g.tasks {
		var own []string
		for k := i; k < len(g.sc.Probes); k += g.tasks {
			own = append(own, g.sc.Probes[k].Name)
		}
		g.numbered("prober", i)
		ops := []scenario.Op{{Kind: act.Register, Target: own[0]}, g.settled()}
		if i > 0 && !g.one(3) { // mostly wait until the first probe has its jump
			ops = slices.Insert(ops, 0, scenario.Op{Kind: act.Schedule}, g.settled())
		}
		for _, k := range own[1:] {
			ops = append(ops, scenario.Op{Kind: act.Register, Target: k})
		}
		for k := range 1 + g.rand.N(4) {
			g.rand.Part(fmt.Sprintf("prober%d.%d", i, k))
			ops = append(ops, g.ops(own)...)
		}
		g.numbered("prober", i)
		stay := g.one(3) // some remain at the end
		for _, k := range own {
			if stay && g.one(2) {
				ops = append(ops, scenario.Op{Kind: act.Register, Target: k})
				continue
			}
			ops = append(ops, scenario.Op{Kind: act.Unregister, Target: k})
		}
		ops = append(ops, g.settled())
		g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: fmt.Sprintf("prober%d", i), CPU: i % g.sc.Machine.CPUs,
			Repeat: 1, Ops: ops})
	}
	if g.part("shared"); g.tasks > 1 && g.one(sharedIn) && !g.on.Contract {
		g.share()
	}
}

// ops draws a call of the API, or a few that belong together.
func (g *maker) ops(own []string) []scenario.Op {
	if !g.one(6) {
		return []scenario.Op{g.op(own)}
	}
	one, other := own[g.rand.N(len(own))], own[g.rand.N(len(own))]
	m := &g.sc.Machine
	switch g.rand.N(4) {
	case 0: // freed memory is reused, with no jump in between
		if m.Kernel.Optprobes {
			return []scenario.Op{{Kind: act.Optimization}, {Kind: act.Unregister, Target: one},
				{Kind: act.Register, Target: other}, {Kind: act.Register, Target: one},
				{Kind: act.Optimization, On: true}, g.settled()}
		}
	case 1: // disarm everything, then register and unregister
		return []scenario.Op{{Kind: act.Enabled}, {Kind: act.Unregister, Target: one},
			{Kind: act.Register, Target: one}, g.op(own), {Kind: act.Enabled, On: true}}
	case 2: // one probe enabled, then none
		if m.Batches {
			return []scenario.Op{{Kind: act.Disable, Target: one}, g.settled(), {Kind: act.Disable, Target: other},
				{Kind: act.Enable, Target: one}, g.settled()}
		}
	}
	return []scenario.Op{{Kind: act.Unregister, Target: one}, {Kind: act.Register, Target: one}, g.settled()}
}

// op draws an operation and its parameters.
func (g *maker) op(own []string) scenario.Op {
	op := scenario.Op{Kind: g.kinds[g.rand.N(len(g.kinds))]}
	for _, a := range op.Kind.Params {
		switch {
		case a.Kind == scenario.ParamParts:
			op.Targets = g.batch(own)
		case a.Of == scenario.TheProbes:
			op.Target = own[g.rand.N(len(own))]
		case a.Kind == scenario.ParamOn:
			op.On = !g.one(3)
		case a.Of == scenario.TheLabels:
			if !g.labelled {
				return g.settled()
			}
			op.Target = "key"
		case a.Kind == scenario.ParamFunc:
			return g.call()
		}
	}
	if op.Kind.Drawn.Or != "" && g.one(2) {
		op.Kind = act.Named(op.Kind.Drawn.Or)
	}
	return op
}

// batch draws some of the task's probes, all of one kind.
func (g *maker) batch(own []string) (names []string) {
	// no edition has array calls for jprobes
	own = slices.DeleteFunc(slices.Clone(own), func(name string) bool {
		return g.sc.Probe(name).Kind == scenario.ProbeJprobe
	})
	if len(own) == 0 {
		return nil
	}
	chosen := own[g.rand.N(len(own))]
	for _, name := range own {
		if name == chosen || g.sc.Probe(name).Kind == g.sc.Probe(chosen).Kind && g.one(2) {
			names = append(names, name)
		}
	}
	return names
}

// call draws a call of a probed function. Its result isn't compared if calls or flips change the
// results of others.
func (g *maker) call() scenario.Op { return g.callOf(g.some()) }

func (g *maker) callOf(f string) scenario.Op {
	op := scenario.Op{Kind: act.Call, Target: f, Args: []uint64{uint64(g.rand.N(7)), 2}, Changed: f == "tally" ||
		f == "labelled" || g.changes}
	switch {
	case slices.Contains(movers, f):
		op.Args = g.moverArgs(f)
	case strings.HasPrefix(f, switchedName):
		op.Changed = true
	}
	return op
}

// callers draws tasks that run the functions while the API is called and, if they can be
// preempted, another task to run instead.
func (g *maker) callers() {
	m := &g.sc.Machine
	g.part("callers")
	n := 2
	if g.one(8) {
		n++
	}
	if g.one(30) { // tasks whose calls share a bucket of the hash table
		n = 6 + g.rand.N(8)
	}
	rounds := roundsFew
	if g.one(3) {
		rounds = roundsMost
	}
	for i := range n {
		g.numbered("caller", i)
		cpu := (m.CPUs - 1 - i + n*m.CPUs) % m.CPUs
		ops := append(g.round(i), g.breath()...)
		g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: fmt.Sprintf("caller%d", i), CPU: cpu,
			Repeat: max(2*rounds/n, 1), Ops: ops, Background: true})
		if m.Preempt >= scenario.PreemptFull && g.one(2) {
			g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: fmt.Sprintf("other%d", i), CPU: cpu,
				Repeat: 1 + g.rand.N(3), Ops: []scenario.Op{{Kind: act.Schedule}}})
			most := 3
			if g.one(2) { // hits any instruction of the region and the detour repeatedly
				most = 24
			}
			g.sc.Sources = append(g.sc.Sources, scenario.Source{Kind: scenario.SourcePreempt, CPU: cpu,
				AtMost: 1 + g.rand.N(most)})
		}
	}
}

// round draws what a caller calls before it yields. One caller calls mainly the function that
// usually gets a jump, so that a task is inside a call when it does. Rounds are mostly short, or
// else everything waits for the callers.
func (g *maker) round(caller int) (ops []scenario.Op) {
	n := 1 + g.rand.N(2)
	if g.sleeps { // while the machine is stopped, a task outside the call has just made one
		n += 2
	}
	for range n {
		ops = append(ops, g.callOf(g.focus))
	}
	more := 0
	switch {
	case g.one(12):
		more = 2 + g.rand.N(3)
	case caller > 0:
		more = g.rand.N(2)
	}
	for range more {
		ops = append(ops, g.call())
	}
	if len(g.rares) > 0 && caller > 0 {
		ops = append(ops, g.callOf(g.rares[g.rand.N(len(g.rares))]))
	}
	return ops
}

// breath makes a caller yield between rounds: it schedules, sometimes after a while in user mode.
func (g *maker) breath() []scenario.Op {
	ops := []scenario.Op{{Kind: act.Schedule}}
	if g.one(6) {
		ops = []scenario.Op{{Kind: act.User}, {Kind: act.Schedule}}
	}
	return ops
}

// plugs takes CPUs offline in few scenarios, and mostly brings them back, once or twice. CPU 0
// stays online, as on x86.
func (g *maker) plugs() {
	g.part("plugs")
	s := g.sc
	if !g.one(10) || s.Machine.CPUs < 2 {
		return
	}
	var ops []scenario.Op
	for range 1 + g.rand.N(2) {
		cpu := 1 + g.rand.N(s.Machine.CPUs-1)
		if ops = append(ops, scenario.Op{Kind: act.Offline, CPU: cpu}); g.one(2) {
			ops = append(ops, g.call())
		}
		if !g.one(6) {
			ops = append(ops, scenario.Op{Kind: act.Online, CPU: cpu})
		}
		if g.one(2) {
			ops = append(ops, g.call())
		}
	}
	s.Tasks = append(s.Tasks, scenario.Task{Name: "plugger", CPU: g.rand.N(s.Machine.CPUs), Repeat: 1, Ops: ops})
	g.failing(ops)
}

// failing sometimes makes a step of taking a CPU offline or online fail.
func (g *maker) failing(ops []scenario.Op) {
	for i := range ops {
		op := &ops[i]
		if k := op.Kind; (k == act.Offline || k == act.Online) && g.one(4) {
			steps := smpev.CPUSteps(k == act.Offline)
			op.Fails = steps[g.rand.N(len(steps))]
		}
	}
}

// absent makes a CPU of few machines start offline and mostly come online. Its tasks start then.
func (g *maker) absent(given bool) {
	g.part("absent")
	s := g.sc
	if !g.one(12) || s.Machine.CPUs < 2 || given {
		return
	}
	cpu := 1 + g.rand.N(s.Machine.CPUs-1)
	ops := []scenario.Op{{Kind: act.Online, CPU: cpu}}
	if g.one(2) {
		ops = append(ops, g.call())
	}
	wanted := slices.ContainsFunc(s.Tasks, func(t scenario.Task) bool { return t.CPU == cpu })
	if wanted || !g.one(6) {
		s.Tasks = append(s.Tasks, scenario.Task{Name: "onliner", Repeat: 1, Ops: ops})
	}
	s.Machine.Offline = 1 << cpu
}

// firstInterrupts keeps interrupts from running text on a CPU that comes online if ftrace has
// sites. ftrace patches them without cpu_hotplug_lock. Its IPIs don't reach a CPU that isn't
// online, and between set_cpu_online and the CPU's first interrupt no instruction serialises
// (start_secondary). According to the processor manuals that interrupt may run old text, so no
// kernel promises otherwise.
func firstInterrupts(s *scenario.Scenario) {
	if len(s.Sites) == 0 {
		return
	}
	for i := range s.Sources {
		if src := &s.Sources[i]; comes(s, src.CPU) {
			src.Run, src.Args = "", nil
		}
	}
}

// comes reports whether a CPU may come online during a run of the scenario.
func comes(s *scenario.Scenario, cpu int) bool {
	return s.Machine.Offline>>cpu&1 != 0 || slices.ContainsFunc(s.Tasks, func(t scenario.Task) bool {
		return slices.ContainsFunc(t.Ops, func(op scenario.Op) bool { return op.Kind == act.Online && op.CPU == cpu })
	})
}

// others adds rare tasks: one that exits in a probed function, one that brings a CPU online, one
// that traces.
func (g *maker) others() {
	g.part("others")
	add := func(name string, ops ...scenario.Op) {
		g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: name, CPU: g.rand.N(g.sc.Machine.CPUs), Repeat: 1,
			Ops: ops})
	}
	if g.one(6) {
		add("leaver", g.call(), scenario.Op{Kind: act.Call, Target: g.leaving()})
	}
	if g.one(6) {
		add("plug", scenario.Op{Kind: act.Hotplug}, g.call(), scenario.Op{Kind: act.Hotplug})
	}
	if len(g.sc.Labels) > 0 && !g.one(3) {
		add("flipper", scenario.Op{Kind: act.EnableLabel, Target: "key"}, g.call(),
			scenario.Op{Kind: act.DisableLabel, Target: "key"})
	}
	if len(g.sites) > 0 && g.one(3) {
		add("livepatch", scenario.Op{Kind: act.Livepatch, On: true}, g.call(), scenario.Op{Kind: act.Schedule},
			scenario.Op{Kind: act.Livepatch})
	}
	if len(g.sites) > 0 && g.one(2) {
		add("tracer", scenario.Op{Kind: act.Tracer, On: true}, g.call(), scenario.Op{Kind: act.Tracer})
	}
}

// leaving makes a function in which a task exits. It has a probe that a prober registers first
// and unregisters last.
func (g *maker) leaving() string {
	const name = "last"
	at := textsAt + 0x1000
	to, _ := scenario.KernelExport("do_exit")
	jump, _ := x86.JumpRel32(at+1, to)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: at, Code: append(x86.NopN(1), jump[:]...)})
	p := scenario.Probe{Name: "kl", Kind: scenario.ProbeKretprobe, Func: name,
		Post: []scenario.Step{{Kind: scenario.StepCount}}}
	if g.one(3) {
		p = scenario.Probe{Name: "kl", Func: name, Offset: g.rand.N(2),
			Pre: []scenario.Step{{Kind: scenario.StepCount}}}
	}
	g.sc.Probes = append(g.sc.Probes, p)
	t := &g.sc.Tasks[g.rand.N(g.tasks)]
	t.Ops = append(append([]scenario.Op{{Kind: act.Register, Target: p.Name}}, t.Ops...),
		scenario.Op{Kind: act.Unregister, Target: p.Name})
	return name
}

// sharedIn: one in this many scenarios with several probers is shared.
const sharedIn = 4

// share makes the tasks that call the API also call it for each other's probes. Real users must
// not: a probe is only theirs before registration and after unregistration. But the engine holds
// a lock, and answers each call as if it came alone.
func (g *maker) share() {
	for i := range g.sc.Tasks[:g.tasks] {
		for k := range g.sc.Tasks[i].Ops {
			op := &g.sc.Tasks[i].Ops[k]
			switch op.Kind {
			case act.RegisterAll:
				op.Kind, op.Targets = act.Register, nil
			case act.UnregisterAll:
				op.Kind, op.Targets = act.Unregister, nil
			case act.Register, act.Unregister, act.Enable, act.Disable:
			default:
				continue
			}
			op.Target = g.sc.Probes[g.rand.N(len(g.sc.Probes))].Name
		}
	}
}
