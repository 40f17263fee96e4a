package gen

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/arch/x86"
	"kpsim/smp/fetch"
)

// Storm builds the api-storm of a seed on a machine: several tasks call the probes'
// API in any order on a few addresses of the same functions, while other CPUs run
// these and are interrupted. Equal seeds give equal scenarios. How many CPUs there
// are, 2 to 6, and the fetch model is drawn, too; the rest of the machine is m's,
// and what it doesn't have isn't called.
//
// What comes out is sound: the optimizer's wait is enough for the preemption
// model, and no task hits a probe three deep. So no schedule may break a
// property.
func Storm(seed uint64, m scenario.Machine) *scenario.Scenario {
	g := &storm{rand: newSeeded(seed), sc: base(""), labelled: true}
	g.sc.Name, g.sc.Machine = fmt.Sprintf("api-storm-%v-%v-%d", m.Edition, m.Preempt, seed), m
	g.sc.Machine.CPUs = 2 + g.rand.N(stormCPUs-1)
	g.sc.Machine.Fetch = fetch.Model(g.rand.N(int(fetch.Mixing) + 1))
	g.calls()
	g.probes()
	g.probers()
	g.callers()
	g.sources()
	if g.one(3) {
		g.module()
	}
	if g.tasks > 1 && g.one(stormShared) {
		g.share()
	}
	return g.sc
}

const (
	stormCPUs   = 6  // at most
	stormReach  = 8  // probes are at f+0 to f+8
	stormProbes = 5  // at most
	stormRounds = 30 // of a caller, at most
)

// A storm is a scenario in the making.
type storm struct {
	rand     Choices
	sc       *scenario.Scenario
	funcs    []string          // that are probed
	labelled bool              // there is a jump label
	nests    bool              // a handler calls a function
	tasks    int               // probers
	kinds    []scenario.OpKind // what these do

	// Of a scenario that is drawn whole (Generate), else as they are:
	wide    bool
	next    string          // the function that is being drawn
	made    []string        // functions that were
	takes   []int           // how many instructions each executes at most
	focus   string          // the function that most calls are of, whose probe mostly gets a jump
	sleeps  bool            // focus may sleep: no handler calls it
	sites   []scenario.Site // of ftrace, in these
	changes bool            // a handler changes what is returned
	rares   []string        // functions that few scenarios have
	moves   bool            // the objects with fuzzMovers are there
}

// one reports true once in n.
func (g *storm) one(n int) bool { return g.rand.One(n) }

// stormFuncs are the functions that a storm is about, and where in each the
// first probe is: so far back that none in reach of the storm stands in its region.
var stormFuncs = [...]struct {
	name   string
	offset int
}{{"victim", 8}, {"clamp", 4}, {"sign", 5}, {"field", 2}, {"tally", 7}, {"over", 7}, {"scramble", 0}}

// probes draws them: most are at a few addresses of one function, so that they
// join each other and stand in each other's regions.
func (g *storm) probes() {
	first := stormFuncs[g.rand.N(len(stormFuncs))]
	if g.one(2) {
		first = stormFuncs[0]
	}
	if g.focus != "" && !g.sleeps {
		first.name, first.offset = g.focus, 0
	}
	g.funcs = []string{first.name}
	if g.one(3) {
		g.funcs = append(g.funcs, drawn[g.rand.N(len(drawn))])
	}
	g.funcs = append(g.funcs, g.made...)
	if g.focus == "" {
		g.focus = first.name
	} else {
		first.name, first.offset = g.focus, 0
	}
	if g.labelled = g.one(4) && g.sc.Machine.Edition != rules.Edition26; g.labelled { // jump labels came with 2.6.37
		g.funcs = append(g.funcs, "labelled")
		g.sc.Labels = []scenario.Label{{Name: "key", Func: "labelled", Offset: 3, Target: "labelled_on"}}
	}
	g.nests = g.one(4)
	most := stormProbes
	if g.wide {
		most--
	}
	for i := range 2 + g.rand.N(most-1) {
		p := scenario.Probe{Name: fmt.Sprintf("k%d", i), Func: first.name, Offset: first.offset, Pre: []scenario.Step{{Kind: scenario.StepCount}}}
		if i > 0 {
			if p.Func = g.some(); g.one(3) {
				p.Post = []scenario.Step{{Kind: scenario.StepCount}}
			}
			p.Offset = g.offset(p.Func)
			g.handlers(&p)
		}
		if i > 0 && g.sc.Machine.Jprobes && g.one(3) {
			p = g.jprobe(p.Name)
		} else if i > 0 && g.one(4) {
			p = g.kretprobe(p.Name)
		} else if g.nests && g.one(2) {
			p.Pre = append(p.Pre, g.handlerCalls())
		}
		p.Disabled = i > 0 && g.one(8) && g.sc.Machine.Batches
		g.sc.Probes = append(g.sc.Probes, p)
	}
}

// handlerCalls is what a handler calls: a function without a loop, for its arguments
// are what the registers hold where it was hit.
func (g *storm) handlerCalls() scenario.Step {
	return scenario.Step{Kind: scenario.StepCall, Func: g.funcs[0]}
}

// kretprobe draws a return probe: with few instances, so that calls are missed.
func (g *storm) kretprobe(name string) scenario.Probe {
	p := scenario.Probe{Name: name, Kind: scenario.ProbeKretprobe, Func: g.some(), Post: []scenario.Step{{Kind: scenario.StepCount}}, Maxactive: g.rand.N(3)}
	if g.wide && g.sc.Machine.Batches && g.one(2) {
		switch g.rand.N(3) {
		case 0: // a register that every function keeps
			p.Pre, p.DataSize = []scenario.Step{{Kind: scenario.StepSave, Reg: target.Arch.Saved[0]}}, 8
			p.Post = append(p.Post, scenario.Step{Kind: scenario.StepRestore, Reg: target.Arch.Saved[0]})
		case 1:
			p.Pre = []scenario.Step{{Kind: scenario.StepCount}, {Kind: scenario.StepNonzero}}
		case 2:
			p.Pre, p.DataSize, p.Post = []scenario.Step{{Kind: scenario.StepSave, Reg: target.Arch.Args[0]}}, 8, nil
		}
		return p
	}
	if g.sc.Machine.Batches && g.one(2) {
		p.Pre, p.DataSize = []scenario.Step{{Kind: scenario.StepCount}}, 8*g.rand.N(3)
	}
	return p
}

// jprobe draws a jprobe: there may be one already, and then it is refused. Its entry
// is Go, or text that changes what is put back: a register, and the stack above what
// it returns to. A probe may be in that text, too.
func (g *storm) jprobe(name string) scenario.Probe {
	p := scenario.Probe{Name: name, Kind: scenario.ProbeJprobe, Func: g.some()}
	if g.one(2) {
		p.Pre = []scenario.Step{{Kind: scenario.StepCount}, {Kind: scenario.StepSetReg, Reg: target.Arch.Args[0], Value: 7}}
		if g.nests {
			p.Pre = append(p.Pre, g.handlerCalls())
		}
		return p
	}
	p.Entry = stormEntry
	if g.text(stormEntry) {
		return p
	}
	code := append([]byte{0xbf, 7, 0, 0, 0}, 0x48, 0x89, 0x7c, 0x24, 0x08) // mov $7,%edi; mov %rdi,8(%rsp)
	to, _ := scenario.KernelExport("jprobe_return")
	jump, _ := x86.JumpRel32(stormEntryAt+arch.Addr(len(code)), to)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: stormEntry, At: stormEntryAt, Code: append(code, jump[:]...)})
	if g.one(3) {
		g.nests = true
		g.sc.Probes = append(g.sc.Probes, scenario.Probe{Name: name + "in", Func: stormEntry, Offset: 5 * g.rand.N(2), Pre: []scenario.Step{{Kind: scenario.StepCount}}})
	}
	return p
}

// Where the entries of jprobes are, if they are text.
const (
	stormEntry             = "entry"
	stormEntryAt arch.Addr = 0xffffffff81080000
)

// text reports whether there is a function of that name.
func (g *storm) text(name string) bool {
	return slices.ContainsFunc(g.sc.Texts, func(t scenario.Text) bool { return t.Name == name })
}

// some draws a function, mostly the first.
func (g *storm) some() string {
	if len(g.rares) > 0 && g.one(3) {
		return g.rares[g.rand.N(len(g.rares))]
	}
	if g.wide && g.one(2) {
		return g.made[g.rand.N(len(g.made))]
	}
	if g.one(3) {
		return g.funcs[g.rand.N(len(g.funcs))]
	}
	return g.focus
}

// offset draws one: mostly where an instruction begins, now and then within one,
// where that is refused.
func (g *storm) offset(f string) int {
	reach := stormReach
	size := len(g.sc.Text(f).Code)
	if g.wide && (f != g.focus || g.one(4)) {
		reach = size - 1
	}
	if g.one(8) && !g.sc.Machine.AnyByte {
		return min(g.rand.N(reach+1), size-1)
	}
	var near []int
	for _, off := range boundaries(g.sc, f) {
		if off <= reach {
			near = append(near, off)
		}
	}
	return near[g.rand.N(len(near))]
}

// calls lists what probers do, as often as it is to be drawn, of what the machine has.
func (g *storm) calls() {
	g.kinds = []scenario.OpKind{scenario.OpRegister, scenario.OpRegister, scenario.OpUnregister, scenario.OpUnregister, scenario.OpEnable, scenario.OpDisable, scenario.OpWaitOptimized, scenario.OpSchedule, scenario.OpOptimization, scenario.OpEnableLabel, scenario.OpCall,
		scenario.OpRegisterAll, scenario.OpUnregisterAll, scenario.OpEnabled, scenario.OpEnabled}
	m := &g.sc.Machine
	g.kinds = slices.DeleteFunc(g.kinds, func(k scenario.OpKind) bool {
		switch k {
		case scenario.OpWaitOptimized, scenario.OpOptimization:
			return !m.Kernel.Optprobes
		case scenario.OpEnable, scenario.OpDisable, scenario.OpRegisterAll, scenario.OpUnregisterAll:
			return !m.Batches
		case scenario.OpEnableLabel:
			return m.Edition == rules.Edition26
		}
		return false
	})
}

// settled waits until the optimizer has done what it can, or gives way where there is none.
func (g *storm) settled() scenario.Op {
	if !g.sc.Machine.Kernel.Optprobes {
		return scenario.Op{Kind: scenario.OpSchedule}
	}
	return scenario.Op{Kind: scenario.OpWaitOptimized}
}

// probers draws the tasks that call the API. A probe belongs to one of them, as
// it does to its user; in the end all are unregistered.
func (g *storm) probers() {
	if g.tasks = 1 + g.rand.N(2); g.one(4) {
		g.tasks = min(3, len(g.sc.Probes))
	}
	for i := range g.tasks {
		var own []string
		for k := i; k < len(g.sc.Probes); k += g.tasks {
			own = append(own, g.sc.Probes[k].Name)
		}
		ops := []scenario.Op{{Kind: scenario.OpRegister, Target: own[0]}, g.settled()}
		if i > 0 && !g.one(3) { // mostly the first probe is there by then, and has its jump
			ops = slices.Insert(ops, 0, scenario.Op{Kind: scenario.OpSchedule}, g.settled())
		}
		for _, k := range own[1:] {
			ops = append(ops, scenario.Op{Kind: scenario.OpRegister, Target: k})
		}
		most := 5
		if g.wide {
			most = 3
		}
		for range 1 + g.rand.N(most) {
			ops = append(ops, g.op(own))
		}
		for _, k := range own {
			ops = append(ops, scenario.Op{Kind: scenario.OpUnregister, Target: k})
		}
		ops = append(ops, g.settled())
		g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: fmt.Sprintf("prober%d", i), CPU: i % g.sc.Machine.CPUs, Repeat: 1, Ops: ops})
	}
}

// op draws a call of the API.
func (g *storm) op(own []string) scenario.Op {
	op := scenario.Op{Kind: g.kinds[g.rand.N(len(g.kinds))]}
	switch op.Kind {
	case scenario.OpRegisterAll, scenario.OpUnregisterAll:
		op.Targets = g.batch(own)
	case scenario.OpEnabled:
		op.On = !g.one(3)
	case scenario.OpRegister, scenario.OpUnregister, scenario.OpEnable, scenario.OpDisable:
		op.Target = own[g.rand.N(len(own))]
	case scenario.OpOptimization:
		op.On = !g.one(3)
	case scenario.OpEnableLabel:
		if !g.labelled {
			return g.settled()
		}
		if op.Target = "key"; g.one(2) {
			op.Kind = scenario.OpDisableLabel
		}
	case scenario.OpCall:
		return g.call()
	}
	return op
}

// batch draws some of the task's probes, all of one kind.
func (g *storm) batch(own []string) (names []string) {
	if g.wide { // jprobes and arrays: no edition has both
		if own = slices.DeleteFunc(slices.Clone(own), func(name string) bool { return g.sc.Probe(name).Kind == scenario.ProbeJprobe }); len(own) == 0 {
			return nil
		}
	}
	chosen := own[g.rand.N(len(own))]
	for _, name := range own {
		if name == chosen || g.sc.Probe(name).Kind == g.sc.Probe(chosen).Kind && g.one(2) {
			names = append(names, name)
		}
	}
	return names
}

// call draws a call of a function that is probed. Where calls or flips change
// what others return, it isn't compared.
func (g *storm) call() scenario.Op { return g.callOf(g.some()) }

func (g *storm) callOf(f string) scenario.Op {
	op := scenario.Op{Kind: scenario.OpCall, Target: f, Args: []uint64{uint64(g.rand.N(7)), 2}, Changed: f == "tally" || f == "labelled" || g.changes}
	switch {
	case slices.Contains(fuzzMovers, f):
		op.Args = g.moverArgs(f)
	case strings.HasPrefix(f, fuzzSwitched):
		op.Changed = true
	}
	return op
}

// callers draws tasks that run the functions for as long as the API is called,
// and where they can be preempted another task to run instead.
func (g *storm) callers() {
	m := &g.sc.Machine
	n, more := 2, 4
	if g.wide {
		more = 8
	}
	if g.one(more) {
		n++
	}
	for i := range n {
		cpu := (m.CPUs - 1 - i + n*m.CPUs) % m.CPUs
		ops := append(g.round(i), g.breath()...)
		g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: fmt.Sprintf("caller%d", i), CPU: cpu, Repeat: stormRounds, Ops: ops, Background: true})
		if (m.Preempt == scenario.PreemptFull || g.wide && m.Preempt == scenario.PreemptLazy) && g.one(2) {
			g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: fmt.Sprintf("other%d", i), CPU: cpu, Repeat: 1 + g.rand.N(3), Ops: []scenario.Op{{Kind: scenario.OpSchedule}}})
			most := 3
			if g.wide && g.one(2) { // at any instruction of the region and of the detour, again and again
				most = 24
			}
			g.sc.Sources = append(g.sc.Sources, scenario.Source{Kind: scenario.SourcePreempt, CPU: cpu, AtMost: 1 + g.rand.N(most)})
		}
	}
}

// round is what a caller calls before it gives way. Of a drawn scenario's callers one calls
// little else than what mostly gets a jump, so that a task is in a call of it when it does;
// rounds are mostly short, or else everything waits for the callers.
func (g *storm) round(caller int) (ops []scenario.Op) {
	if !g.wide {
		for range 2 + g.rand.N(3) {
			ops = append(ops, g.call())
		}
		return ops
	}
	n := 1 + g.rand.N(2)
	if g.sleeps { // while the machine is stopped, a task that isn't in the call has just made one
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

// module adds one that comes and goes while a task of its own calls it, and a probe
// there, which a prober registers and unregisters among the others: now the text is
// there, now it isn't.
func (g *storm) module() {
	module, err := lang.Load("module", []byte(`
work = text("work", "4889f8 4883c003 c3", at = 0xffffffff81100000) # mov %rdi,%rax; add $3,%rax; ret
enter = text("enter", "31c0 c3", at = 0xffffffff81101000)         # xor %eax,%eax; ret
leave = text("leave", "c3", at = 0xffffffff81100040)
m = module("m", funcs = [work, leave], init_funcs = [enter], init = enter, exit = leave)
task("nobody", ops = [schedule()])
never()
`), library.Open)
	if err != nil {
		panic(err)
	}
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
func (g *storm) sources() {
	for cpu := range g.sc.Machine.CPUs {
		if g.one(3) {
			s := scenario.Source{Kind: scenario.SourceTimer, CPU: cpu, AtMost: 1 + g.rand.N(2)}
			if g.one(3) {
				s.Run = g.funcs[0]
			}
			s.Idle, s.Opens = g.wide && g.one(4), g.wide && g.one(6)
			g.sc.Sources = append(g.sc.Sources, s)
		}
	}
	if g.one(3) {
		s := scenario.Source{Kind: scenario.SourceNMI, CPU: g.rand.N(g.sc.Machine.CPUs), AtMost: 1}
		if g.sc.Machine.Patch == era.PatchBreakpoint && !g.nests && !g.interrupted() {
			s.Run = g.funcs[0]
		}
		s.Idle = g.wide && g.one(4)
		g.sc.Sources = append(g.sc.Sources, s)
	}
}

// interrupted reports whether an interrupt's handler runs a function.
func (g *storm) interrupted() bool {
	for i := range g.sc.Sources {
		if g.sc.Sources[i].Run != "" {
			return true
		}
	}
	return false
}

// Machines are the machines that storms are of: each edition under each model
// of preemption that it can be built with.
func Machines() (list []scenario.Machine) {
	for _, e := range rules.AllEditions() {
		for p := scenario.PreemptNone; p <= scenario.PreemptLazy; p++ {
			if e == rules.Edition26 && (p == scenario.PreemptDynamic || p == scenario.PreemptLazy) || e == rules.EditionDocumented && p.Built() || p == scenario.PreemptLazy && e < rules.Edition69 {
				continue
			}
			m := scenario.Machine{Edition: e, Preempt: p}
			m.Settle()
			list = append(list, m)
		}
	}
	return list
}
