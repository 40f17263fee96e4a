package gen

import (
	"fmt"

	"pgregory.net/rapid"

	"kpsim/internal/scenario"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch/target"
	"kpsim/smp/arch/x86"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
)

// Fuzz is Generate by the random numbers of a seed: equal seeds give equal scenarios.
func Fuzz(seed uint64) *scenario.Scenario {
	s := Generate(newSeeded(seed))
	s.Name = fmt.Sprintf("fuzz-%d", seed)
	return s
}

// FuzzOn is Fuzz on a machine that is given, with its settings and CPUs.
func FuzzOn(seed uint64, m scenario.Machine) *scenario.Scenario {
	s := generate(newSeeded(seed), func(g *storm) { g.sc.Machine = m })
	s.Name = fmt.Sprintf("fuzz-%d", seed)
	return s
}

// DrawAny is Generate by rapid, which shrinks it.
func DrawAny(t *rapid.T) *scenario.Scenario { return Generate(rapidly{t}) }

// DrawAnyOn is DrawAny on a machine that is given, with its settings and CPUs.
func DrawAnyOn(t *rapid.T, m scenario.Machine) *scenario.Scenario {
	return generate(rapidly{t}, func(g *storm) { g.sc.Machine = m })
}

// Generate draws a whole scenario: a machine of any edition, or of none, with
// settings that are changed one by one; functions of drawn instructions beside those
// of the library; and of these what a storm (Storm) does, with probes of every kind at
// any offset, handlers that do more than count, tasks that exit, bring CPUs, trace,
// retarget static calls and take lock prefixes away, data that is away, and data of
// each CPU.
//
// What comes out is sound, as a storm is: the optimizer's wait is enough for the
// preemption model, the patcher is one that works, and no task hits a probe
// three deep. So no schedule may break a property.
func Generate(c Choices) *scenario.Scenario { return generate(c, (*storm).machine) }

// generate is Generate with the machine that a function makes.
func generate(c Choices, machine func(g *storm)) *scenario.Scenario {
	g := &storm{rand: c, labelled: true, wide: true, moves: c.One(5)}
	if g.sc = base(""); g.moves {
		g.sc = base(`elf("work.o"); elf("string.o")`)
	}
	g.sc.Name = "drawn"
	machine(g)
	g.texts()
	g.rare()
	g.changes = g.one(6)
	g.calls()
	g.probes()
	g.probers()
	g.callers()
	g.sources()
	if g.one(3) {
		g.module()
	}
	g.others()
	g.rareTasks()
	return g.sc
}

// machine draws the machine: one that storms are of, or one of no edition, and then
// up to three settings by themselves.
func (g *storm) machine() {
	list := Machines()
	m := &g.sc.Machine
	if *m = list[g.rand.N(len(list))]; g.one(8) {
		*m = scenario.Machine{Preempt: scenario.Preempt(g.rand.N(int(scenario.PreemptLazy) + 1))}
		m.Settle()
	}
	if m.CPUs = 3 + g.rand.N(2); g.one(6) {
		m.CPUs = stormCPUs - g.rand.N(2)
	} else if g.one(10) { // most have a prober and a caller in turn
		m.CPUs = 2
	}
	m.Fetch = fetch.Model(g.rand.N(int(fetch.Mixing) + 1))
	for g.one(2) {
		r := &era.ByEdition[g.rand.N(len(era.ByEdition))]
		r.Set(&m.Settings, uint8(g.rand.N(len(r.Values))))
	}
	sound(m)
}

// sound puts settings under which the right engine breaks a property in some schedule,
// as the kernel's would, back to such as don't.
func sound(m *scenario.Machine) {
	if m.Patch > era.PatchStopMachine {
		m.Patch = era.PatchBreakpoint
	}
	m.SyncArm = true // kernels until 5.5: --as-shipped
	if m.Kernel.Edition == rules.Edition26 || m.Jprobes {
		m.Kernel.Ftrace = false // those rules know no site of ftrace: a breakpoint may stand in one; and through ftrace no jprobe's entry comes back
	}
	if !m.Kernel.Optprobes {
		return
	}
	if m.Preempt.Built() {
		m.Quiesce = max(m.Quiesce, kapi.QuiesceTasks)
	} else {
		m.Quiesce = max(m.Quiesce, kapi.QuiesceSched)
	}
}

// handlers lets some of a kprobe's handlers do more than count.
func (g *storm) handlers(p *scenario.Probe) {
	if !g.wide {
		return
	}
	if g.one(8) {
		p.Pre = nil
	}
	if g.one(6) {
		p.Pre = append(p.Pre, scenario.Step{Kind: scenario.StepStore, Func: fuzzNote, Value: 1})
	}
	if g.sc.Machine.FaultHandlers && g.one(2) {
		p.Fault = []scenario.Step{{Kind: scenario.StepCount}}
	}
	if g.one(20) {
		p.Func, p.Offset, p.Symbol = "", 0, "nobody" // ENOENT
		return
	}
	if !g.changes || !g.drew(p.Func) {
		return
	}
	which := g.rand.N(3)
	if p.Offset == 0 && g.one(2) {
		which = 2
	}
	switch which {
	case 0:
		p.Pre = append(p.Pre, scenario.Step{Kind: scenario.StepSetReg, Reg: target.Arch.Result, Value: uint64(g.rand.N(100))})
	case 1:
		p.Post = append(p.Post, scenario.Step{Kind: scenario.StepSetReg, Reg: target.Arch.Result, Value: uint64(g.rand.N(100))})
	case 2: // a post_handler says that it may change the path: there is no jump then
		if p.Offset == 0 && p.Func != fuzzZero {
			p.Pre = append(p.Pre, scenario.Step{Kind: scenario.StepSetIP, Func: fuzzZero}, scenario.Step{Kind: scenario.StepNonzero})
			p.Post = []scenario.Step{{Kind: scenario.StepCount}}
		}
	}
}

// drew reports whether a function is one of those that were drawn.
func (g *storm) drew(name string) bool {
	for _, f := range g.made {
		if f == name {
			return true
		}
	}
	return false
}

// breath is how a caller gives way between rounds: it schedules, and is in user mode
// before that now and then.
func (g *storm) breath() []scenario.Op {
	ops := []scenario.Op{{Kind: scenario.OpSchedule}}
	if g.wide && g.one(6) {
		ops = []scenario.Op{{Kind: scenario.OpUser}, {Kind: scenario.OpSchedule}}
	}
	return ops
}

// others adds rare tasks: one that exits in a probed function, one that brings
// a CPU, one that traces.
func (g *storm) others() {
	add := func(name string, ops ...scenario.Op) {
		g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: name, CPU: g.rand.N(g.sc.Machine.CPUs), Repeat: 1, Ops: ops})
	}
	if g.one(6) {
		add("leaver", g.call(), scenario.Op{Kind: scenario.OpCall, Target: g.leaving()})
	}
	if g.one(6) {
		add("plug", scenario.Op{Kind: scenario.OpHotplug}, g.call(), scenario.Op{Kind: scenario.OpHotplug})
	}
	if len(g.sites) > 0 && g.one(2) {
		add("tracer", scenario.Op{Kind: scenario.OpTracer, On: true}, g.call(), scenario.Op{Kind: scenario.OpTracer})
	}
}

// leaving makes a function in which a task exits, with a probe that a prober registers
// first and unregisters last.
func (g *storm) leaving() string {
	const name = "last"
	at := fuzzTextAt + 0x1000
	to, _ := scenario.KernelExport("do_exit")
	jump, _ := x86.JumpRel32(at+1, to)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: at, Code: append(target.Arch.Nop(1), jump[:]...)})
	p := scenario.Probe{Name: "kl", Kind: scenario.ProbeKretprobe, Func: name, Post: []scenario.Step{{Kind: scenario.StepCount}}}
	if g.one(3) {
		p = scenario.Probe{Name: "kl", Func: name, Offset: g.rand.N(2), Pre: []scenario.Step{{Kind: scenario.StepCount}}}
	}
	g.sc.Probes = append(g.sc.Probes, p)
	t := &g.sc.Tasks[g.rand.N(g.tasks)]
	t.Ops = append(append([]scenario.Op{{Kind: scenario.OpRegister, Target: p.Name}}, t.Ops...), scenario.Op{Kind: scenario.OpUnregister, Target: p.Name})
	return name
}
