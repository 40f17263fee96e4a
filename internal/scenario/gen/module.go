package gen

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/kprobes/era"
)

// drawnModule is the module of a drawn scenario.
const drawnModule = `
work = text("work", "4889f8 4883c003 c3", at = 0xffffffff81100000) # mov %rdi,%rax; add $3,%rax; ret
enter = text("enter", "31c0 c3", at = 0xffffffff81101000)         # xor %eax,%eax; ret
leave = text("leave", "c3", at = 0xffffffff81100040)
m = module("m", funcs = [work, leave], init_funcs = [enter], init = enter, exit = leave)
task("nobody", ops = [schedule()])
never()
`

// module adds one that comes and goes while a task of its own calls it, and a probe
// there, which a prober registers and unregisters among the others: now the text is
// there, now it isn't.
func (g *maker) module() {
	g.part("module")
	if !g.one(3) {
		return
	}
	module := moduleOf()
	g.sc.Texts = append(g.sc.Texts, module.Texts...)
	g.sc.Modules = module.Modules
	k := scenario.Probe{Name: "km", Func: "work", Pre: []scenario.Step{{Kind: scenario.StepCount}}}
	if g.one(3) {
		k.Offset = 3
	} else if g.one(3) {
		k = scenario.Probe{Name: "km", Kind: scenario.ProbeKretprobe, Func: "work", Post: []scenario.Step{{Kind: scenario.StepCount}}}
	} else if g.one(3) {
		k.Post = []scenario.Step{{Kind: scenario.StepCount}}
	}
	g.sc.Probes = append(g.sc.Probes, k)
	prober := &g.sc.Tasks[g.rand.N(g.tasks)]
	for range 1 + g.rand.N(3) {
		at := g.rand.N(len(prober.Ops))
		prober.Ops = slices.Insert(prober.Ops, at, scenario.Op{Kind: scenario.OpRegister, Target: "km"})
		prober.Ops = slices.Insert(prober.Ops, at+1+g.rand.N(len(prober.Ops)-at), scenario.Op{Kind: scenario.OpUnregister, Target: "km"})
	}
	prober.Ops = append(prober.Ops, scenario.Op{Kind: scenario.OpUnregister, Target: "km"})
	call := func() scenario.Op {
		return scenario.Op{Kind: scenario.OpCall, Target: "work", Args: []uint64{uint64(g.rand.N(7))}}
	}
	ops := []scenario.Op{{Kind: scenario.OpLoad, Target: "m"}, call(), {Kind: scenario.OpSchedule}, call(), {Kind: scenario.OpUnload, Target: "m"}}
	g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: "modprobe", CPU: g.rand.N(g.sc.Machine.CPUs), Repeat: 1 + g.rand.N(2), Ops: ops})
}

// sources draws interrupts. A non-maskable one hits probes itself only where no
// handler does, nor an interrupt: it would be the third, one within the other.
func (g *maker) sources() {
	g.part("sources")
	for cpu := range g.sc.Machine.CPUs {
		if g.one(3) {
			s := scenario.Source{Kind: scenario.SourceTimer, CPU: cpu, AtMost: 1 + g.rand.N(2)}
			if g.one(3) {
				s.Run = g.funcs[0]
			}
			s.Idle, s.Opens = g.one(4), g.one(6)
			g.sc.Sources = append(g.sc.Sources, s)
		}
	}
	if g.one(3) {
		s := scenario.Source{Kind: scenario.SourceNMI, CPU: g.rand.N(g.sc.Machine.CPUs), AtMost: 1}
		if g.sc.Machine.Patch == era.PatchBreakpoint && !g.nests && !g.interrupted() {
			s.Run = g.funcs[0]
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
