package gen

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/era"
)

// drawnModule is the module of a drawn scenario.
const drawnModule = `
work = text("work", "4889f8 4883c003 c3", at = 0xffffffff81100000) # mov %rdi,%rax; add $3,%rax; ret
leave = text("leave", "c3", at = 0xffffffff81100040)
traced = text("traced", "0f1f440000 8d4701 c3", at = 0xffffffff81100080) # a site of ftrace; lea 1(%rdi),%eax; ret
counts = text("counts", "ff0425 00001083 31c0 01f8 c3", at = 0xffffffff811000c0) # incl counted; xor %eax,%eax; add %edi,%eax; ret
enter = text("enter", "31c0 c3", at = 0xffffffff81101000)         # xor %eax,%eax; ret
fails = text("fails", "b8f4ffffff c3", at = 0xffffffff81101010)   # mov $-ENOMEM,%eax; ret
counted = data("counted", "00000000", at = 0xffffffff83100000)
other = data("other", "00000000", at = 0xffffffff83102000)
m = module("m", funcs = [work, leave, traced, counts], init_funcs = [enter, fails], data = [counted, other], init = enter, exit = leave)
task("nobody", ops = [schedule()])
never()
`

// failing is an init function that returns an errno.
const failing = "fails"

// module adds a module that comes and goes while its own task calls it, with probes that a prober
// registers and unregisters: sometimes the text is there, sometimes not. In some scenarios
// several tasks load and unload it, its init fails, or the kernel loads no modules; then no task
// calls it.
func (g *maker) module() {
	g.part("module")
	if !g.one(3) {
		return
	}
	module := by32(g, moduleOf, module32)()
	sites := g.sc.Machine.Kernel.Ftrace
	g.sc.Texts = append(g.sc.Texts, module.Texts...)
	g.sc.Datas = append(g.sc.Datas, module.Datas...)
	g.sc.Modules = module.Modules
	if sites {
		g.sc.Sites = append(g.sc.Sites, scenario.Site{Func: "traced"})
	}
	m := &g.sc.Modules[0]
	called := !g.one(4)
	if called {
		m.Loaded = g.one(4)
	} else {
		if g.one(3) && !g.sc.Machine.ModuleRefs { // else the load would wait for probes that hold the module
			m.Enter = failing
		}
		if g.one(6) {
			g.sc.Machine.Modules = scenario.LoadingStay
		} else if g.one(8) {
			g.sc.Machine.Modules = scenario.LoadingNone
		}
	}
	prober := &g.sc.Tasks[g.rand.N(g.tasks)]
	for i := range 1 + g.rand.N(3) {
		g.inModule(prober, fmt.Sprint("km", i), sites)
	}
	load, unload := scenario.Op{Kind: act.Load, Target: "m"}, scenario.Op{Kind: act.Unload, Target: "m"}
	give := scenario.Op{Kind: act.Schedule}
	if !called {
		for i := range 1 + g.rand.N(3) {
			g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: fmt.Sprint("modprobe", i),
				CPU: g.rand.N(g.sc.Machine.CPUs), Repeat: 1 + g.rand.N(3), Ops: []scenario.Op{load, give, unload}})
		}
		return
	}
	call := func() scenario.Op {
		f := [...]string{"work", "work", "counts", "traced"}[g.rand.N(4)]
		return scenario.Op{Kind: act.Call, Target: f, Args: []uint64{uint64(g.rand.N(7))}}
	}
	ops := []scenario.Op{load, call(), give, call(), unload}
	if m.Loaded {
		ops = []scenario.Op{call(), give, call(), unload, load, call(), unload, load}
	}
	g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: "modprobe", CPU: g.rand.N(g.sc.Machine.CPUs),
		Repeat: 1 + g.rand.N(2), Ops: ops})
}

// inModule adds a probe in the module, which a task registers and unregisters.
func (g *maker) inModule(prober *scenario.Task, name string, sites bool) {
	g.part(name)
	k := scenario.Probe{Name: name, Func: "work", Pre: []scenario.Step{{Kind: scenario.StepCount}}}
	switch g.rand.N(6) {
	case 0:
		k.Offset = 3
	case 1:
		if g.on.Contract {
			break // the loader decides whether it can be registered, and so whether it may be unregistered
		}
		k = scenario.Probe{Name: name, Kind: scenario.ProbeKretprobe, Func: "work",
			Post: []scenario.Step{{Kind: scenario.StepCount}}}
	case 2:
		k.Func = "counts"
	case 3:
		// written while the module is coming, 1 doesn't arm probes at its sites
		if sites && !(g.on.Contract && g.switches()) {
			k.Func, g.lateSite = "traced", true
		}
	}
	if k.Kind == scenario.ProbeKprobe && g.one(3) {
		k.Post = []scenario.Step{{Kind: scenario.StepCount}}
	}
	k.Disabled = g.sc.Machine.Batches && g.one(6)
	g.sc.Probes = append(g.sc.Probes, k)
	for range 1 + g.rand.N(3) {
		at := g.rand.N(len(prober.Ops))
		prober.Ops = slices.Insert(prober.Ops, at, scenario.Op{Kind: act.Register, Target: name})
		prober.Ops = slices.Insert(prober.Ops, at+1+g.rand.N(len(prober.Ops)-at),
			scenario.Op{Kind: act.Unregister, Target: name})
	}
	prober.Ops = append(prober.Ops, scenario.Op{Kind: act.Unregister, Target: name})
}

// timerOn draws a CPU's timer, whose handler runs a function now and then.
func timerOn(g *maker, cpu int) scenario.Source {
	s := scenario.Source{Kind: scenario.SourceTimer, CPU: cpu, AtMost: 1 + g.rand.N(2)}
	if g.one(3) {
		s.Run = g.funcs[0]
	}
	return s
}

// sources draws interrupts. A non-maskable one hits probes itself only if neither a handler nor
// an interrupt does: it would be the third level of nesting.
func (g *maker) sources() {
	g.part("sources")
	for cpu := range g.sc.Machine.CPUs {
		if g.one(3) {
			s := timerOn(g, cpu)
			s.Idle, s.Opens = g.one(4), g.one(6)
			g.sc.Sources = append(g.sc.Sources, s)
		}
	}
	if g.one(3) {
		s := scenario.Source{Kind: scenario.SourceNMI, CPU: g.rand.N(g.sc.Machine.CPUs), AtMost: 1}
		if g.sc.Machine.Patch == era.PatchBreakpoint && !g.nests && !g.interrupted() {
			if s.Run = g.funcs[0]; g.sc.Text(faultsName) != nil && g.one(2) {
				s.Run = faultsName
			}
		}
		s.Idle = g.one(4)
		g.sc.Sources = append(g.sc.Sources, s)
	}
}

// interrupted reports whether an interrupt's handler runs a function.
func (g *maker) interrupted() bool {
	for i := range g.sc.Sources {
		if g.sc.Sources[i].Run != "" {
			return true
		}
	}
	return false
}
