package scenario

import (
	"fmt"

	"pgregory.net/rapid"

	"kpsim/smp/arch/x86"
)

// Fuzz is Generate by the random numbers of a seed: equal seeds give equal scenarios.
func Fuzz(seed uint64) *Scenario {
	s := Generate(newSeeded(seed))
	s.Name = fmt.Sprintf("fuzz-%d", seed)
	return s
}

// DrawAny is Generate by rapid, which shrinks it.
func DrawAny(t *rapid.T) *Scenario { return Generate(rapidly{t}) }

// Generate draws a whole scenario: a machine of any edition, or of none, with
// settings that are changed one by one; functions of drawn instructions beside those
// of the library; and of these what a storm (Storm) does, with probes of every kind at
// any offset, handlers that do more than count, tasks that exit, bring CPUs, trace,
// retarget static calls and take lock prefixes away, data that is away, and data of
// each CPU.
//
// What comes out is sound, as a storm is: the optimizer's wait is enough for the
// preemption model, the patcher is one that works, and nobody hits a probe three
// deep. So no schedule may break a property.
func Generate(c Choices) *Scenario {
	g := &storm{rand: c, labelled: true, wide: true, moves: c.One(5)}
	if g.sc = base(""); g.moves {
		g.sc = base(`elf("work.o"); elf("string.o")`)
	}
	g.sc.Name = "drawn"
	g.machine()
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
	list := StormMachines()
	m := &g.sc.Machine
	if *m = list[g.rand.N(len(list))]; g.one(8) {
		*m = Machine{Preempt: Preempt(g.rand.N(int(PreemptLazy) + 1))}
	}
	if m.CPUs = 3 + g.rand.N(2); g.one(6) {
		m.CPUs = stormCPUs - g.rand.N(2)
	} else if g.one(10) { // most have a prober and a caller in turn
		m.CPUs = 2
	}
	m.Fetch = Fetch(g.rand.N(int(FetchMixing) + 1))
	for g.one(2) {
		s := &settings[g.rand.N(ofEditions)]
		s.set(m, uint8(g.rand.N(len(s.words))))
	}
	m.sound()
}

// sound puts settings under which the right engine breaks a property in some schedule,
// as the kernel's would, back to such as don't.
func (m *Machine) sound() {
	if m.Patch > PatchStopMachine {
		m.Patch = PatchBreakpoint
	}
	m.NoSyncArm = false // kernels until 5.5: --as-shipped
	if m.Rules == Rules26 || m.Jprobes {
		m.Ftrace = false // those rules know no site of ftrace: a breakpoint may stand in one; and through ftrace no jprobe's entry comes back
	}
	if m.NoOptprobes {
		return
	}
	if m.Preempt.Built() {
		m.Quiesce = max(m.Quiesce, QuiesceTasks)
	} else {
		m.Quiesce = max(m.Quiesce, QuiesceSched)
	}
}

// Optimizes reports whether the machine makes breakpoints jumps, by its settings and its
// rules.
func (m *Machine) Optimizes() bool { return !m.NoOptprobes && !m.AnyByte && m.Rules != Rules26 }

// handlers lets some of a kprobe's handlers do more than count.
func (g *storm) handlers(p *Probe) {
	if !g.wide {
		return
	}
	if g.one(8) {
		p.Pre = nil
	}
	if g.one(6) {
		p.Pre = append(p.Pre, Step{Kind: StepStore, Func: fuzzNote, Value: 1})
	}
	if g.sc.Machine.FaultHandlers && g.one(2) {
		p.Fault = []Step{{Kind: StepCount}}
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
		p.Pre = append(p.Pre, Step{Kind: StepSetReg, Reg: x86.RAX, Value: uint64(g.rand.N(100))})
	case 1:
		p.Post = append(p.Post, Step{Kind: StepSetReg, Reg: x86.RAX, Value: uint64(g.rand.N(100))})
	case 2: // a post_handler says that it may change the path: there is no jump then
		if p.Offset == 0 && p.Func != fuzzZero {
			p.Pre = append(p.Pre, Step{Kind: StepSetIP, Func: fuzzZero}, Step{Kind: StepNonzero})
			p.Post = []Step{{Kind: StepCount}}
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
func (g *storm) breath() []Op {
	ops := []Op{{Kind: OpSchedule}}
	if g.wide && g.one(6) {
		ops = []Op{{Kind: OpUser}, {Kind: OpSchedule}}
	}
	return ops
}

// others adds tasks of which few scenarios have one: one that exits in a function that
// is probed, one that brings a CPU, one that traces.
func (g *storm) others() {
	add := func(name string, ops ...Op) {
		g.sc.Tasks = append(g.sc.Tasks, Task{Name: name, CPU: g.rand.N(g.sc.Machine.CPUs), Repeat: 1, Ops: ops})
	}
	if g.one(6) {
		add("leaver", g.call(), Op{Kind: OpCall, Target: g.leaving()})
	}
	if g.one(6) {
		add("plug", Op{Kind: OpHotplug}, g.call(), Op{Kind: OpHotplug})
	}
	if len(g.sites) > 0 && g.one(2) {
		add("tracer", Op{Kind: OpTracer, On: true}, g.call(), Op{Kind: OpTracer})
	}
}

// leaving makes a function in which a task exits, with a probe that a prober registers
// first and unregisters last.
func (g *storm) leaving() string {
	const name = "last"
	at := fuzzTextAt + 0x1000
	to, _ := KernelExport("do_exit")
	jump, _ := x86.JumpRel32(at+1, to)
	g.sc.Texts = append(g.sc.Texts, Text{Name: name, At: at, Code: append([]byte{0x90}, jump[:]...)})
	p := Probe{Name: "kl", Kind: ProbeKretprobe, Func: name, Post: []Step{{Kind: StepCount}}}
	if g.one(3) {
		p = Probe{Name: "kl", Func: name, Offset: g.rand.N(2), Pre: []Step{{Kind: StepCount}}}
	}
	g.sc.Probes = append(g.sc.Probes, p)
	t := &g.sc.Tasks[g.rand.N(g.tasks)]
	t.Ops = append(append([]Op{{Kind: OpRegister, Target: p.Name}}, t.Ops...), Op{Kind: OpUnregister, Target: p.Name})
	return name
}
