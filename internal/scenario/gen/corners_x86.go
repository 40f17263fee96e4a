package gen

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// drawEntry adds a function that begins with a site of ftrace, probes there, and a task that
// registers them while clients of ftrace come and go. A client that may change where a call
// continues prevents arming a probe with a post_handler.
func drawEntry(g *maker) {
	if !rarely(g, 8) || !g.sc.Machine.Kernel.Ftrace {
		return
	}
	f := &function{g: g, at: siteAt}
	if g.one(2) {
		f.endbr()
	}
	g.sc.Sites = append(g.sc.Sites, scenario.Site{Func: entryName, Offset: len(f.code)})
	at := len(f.code)
	f.put(x86.Nop5[:]...)
	f.put(0x8d, by32(g, byte(0x47), 0x40), 0x01) // lea 1(%rdi),%eax
	f.put(0xc3)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: entryName, At: f.at, Code: f.code})
	posts := g.one(2) // on a kernel the probes of a site have all a post_handler or none: findings.md, ftrace-by-post
	var names []string
	for i := range 1 + g.rand.N(3) {
		p := scenario.Probe{Name: fmt.Sprint("site", i), Func: entryName, Offset: at, Disabled: g.sc.Machine.Batches &&
			g.one(4)}
		if posts != (!g.on.Contract && g.one(4)) {
			p.Post = []scenario.Step{{Kind: scenario.StepCount}}
		}
		if p.Pre = []scenario.Step{{Kind: scenario.StepCount}}; g.one(3) {
			p.Pre = append(p.Pre, scenario.Step{Kind: scenario.StepCall, Target: entryName})
		}
		names = append(names, g.own(p))
	}
	call := scenario.Op{Kind: act.Call, Target: entryName, Args: []uint64{uint64(g.rand.N(7))}}
	one := func() string { return names[g.rand.N(len(names))] }
	var ops []scenario.Op
	// a kernel's own engine warns where writing 1 doesn't arm a probe
	held := g.one(2) && !(g.on.Contract && g.switches())
	if held {
		ops = append(ops, scenario.Op{Kind: act.Livepatch, On: true})
	}
	for _, k := range names {
		ops = append(ops, scenario.Op{Kind: act.Register, Target: k})
	}
	for range 1 + g.rand.N(4) {
		switch g.rand.N(6) {
		case 0:
			ops = append(ops, call)
		case 1:
			ops = append(ops, scenario.Op{Kind: act.Register, Target: one()})
		case 2:
			ops = append(ops, scenario.Op{Kind: act.Unregister, Target: one()})
		case 3:
			if g.sc.Machine.Batches {
				ops = append(ops, scenario.Op{Kind: act.Disable, Target: one()},
					scenario.Op{Kind: act.Enable, Target: one()})
			}
		case 4:
			if g.on.Contract && (held || g.lateSite) {
				break
			}
			ops = append(ops, scenario.Op{Kind: act.Enabled}, call, scenario.Op{Kind: act.Enabled, On: true})
		case 5:
			ops = append(ops, scenario.Op{Kind: act.Tracer, On: true}, call, scenario.Op{Kind: act.Tracer})
		}
	}
	if held {
		ops = append(ops, scenario.Op{Kind: act.Livepatch})
	}
	for _, k := range names {
		ops = append(ops, scenario.Op{Kind: act.Unregister, Target: k})
	}
	g.alone("entrant", append(ops, call))
}

// drawCrowd adds short functions with so many probes that their detours need more than a page, and
// exercises all of them at once, so that a page is freed.
func drawCrowd(g *maker) {
	if !g.one(150) || !g.sc.Machine.Batches || !g.sc.Machine.Kernel.Optprobes ||
		g.sc.Machine.Edition == rules.Edition26 {
		return
	}
	const each = 4 // probes per function
	var names []string
	for i := 0; len(names) < crowdMost; i++ {
		f := &function{g: g, at: crowdAt + arch.Addr(i)*0x100}
		name := fmt.Sprint("crowd", i)
		f.put(0x89, f.arg()) // mov %edi,%eax
		for k := range each {
			names = append(names,
				g.own(scenario.Probe{Name: fmt.Sprintf("crowd%d.%d", i, k), Func: name, Offset: len(f.code)}))
			f.put(0x05, byte(k), 0, 0, 0) // add $k,%eax
		}
		f.put(0xc3)
		g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: f.at, Code: f.code})
	}
	call := scenario.Op{Kind: act.Call, Target: "crowd0", Args: []uint64{1}}
	all, none := scenario.Op{Kind: act.RegisterAll, Targets: names},
		scenario.Op{Kind: act.UnregisterAll, Targets: names}
	ops := []scenario.Op{all}
	if g.one(2) {
		ops = append(ops, g.settled(), call)
	}
	ops = append(ops, none)
	if g.one(2) {
		ops = append(ops, g.settled())
	}
	if g.one(2) {
		ops = append(ops, scenario.Op{Kind: act.Register, Target: names[0]}, call,
			scenario.Op{Kind: act.Unregister, Target: names[0]})
	}
	g.sc.Machine.Steps = crowdSteps
	g.alone("crowd", ops)
}

// drawContended adds a return probe with few instances on a short function that a task on each CPU
// calls repeatedly: CPUs take and return instances at the same time.
func drawContended(g *maker) {
	if !g.one(8) {
		return
	}
	k := g.own(scenario.Probe{Name: "few", Kind: scenario.ProbeKretprobe, Func: zeroName, Maxactive: 1 + g.rand.N(4),
		Post: []scenario.Step{{Kind: scenario.StepCount}}})
	call := scenario.Op{Kind: act.Call, Target: zeroName, Changed: g.changes}
	for cpu := range g.sc.Machine.CPUs {
		g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: fmt.Sprint("contender", cpu), CPU: cpu,
			Repeat: 4 + g.rand.N(12), Ops: []scenario.Op{call, call, {Kind: act.Schedule}}, Background: true})
	}
	register, unregister := scenario.Op{Kind: act.Register, Target: k}, scenario.Op{Kind: act.Unregister, Target: k}
	give := scenario.Op{Kind: act.Schedule}
	g.alone("holder", []scenario.Op{register, give, give, unregister, give, register, call, give, unregister})
}

// drawGoing adds tasks that yield in a function with a return probe and exit there, while the probe
// comes and goes: calls that never return, under a probe that is gone.
func drawGoing(g *maker) {
	if !rarely(g, 12) {
		return
	}
	f := &function{g: g, at: goingAt}
	f.put(0x90)
	if to, ok := scenario.KernelExport("cond_resched"); ok {
		f.relative(to, 0xe8)
	}
	to, _ := scenario.KernelExport("do_exit")
	f.relative(to, 0xe9)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: goingName, At: goingAt, Code: f.code})
	var register, unregister []scenario.Op
	for i := range 1 + g.rand.N(2) { // a call that never returns keeps an instance
		k := g.own(scenario.Probe{Name: fmt.Sprint("gone", i), Kind: scenario.ProbeKretprobe, Func: goingName,
			Maxactive: 1 + g.rand.N(3), Post: []scenario.Step{{Kind: scenario.StepCount}}})
		register, unregister = append(register, scenario.Op{Kind: act.Register, Target: k}),
			append(unregister, scenario.Op{Kind: act.Unregister, Target: k})
	}
	give := scenario.Op{Kind: act.Schedule}
	g.alone("undertaker", slices.Concat(register, []scenario.Op{give}, unregister, register, []scenario.Op{give, give},
		unregister))
	for i := range 1 + g.rand.N(3) {
		ops := []scenario.Op{give, {Kind: act.Call, Target: goingName}}
		g.alone(fmt.Sprint("goer", i), ops[g.rand.N(2):])
	}
}

// drawInInit adds a probe in a module's init text, which exists only while init runs.
func drawInInit(g *maker) {
	if len(g.sc.Modules) == 0 || len(g.sc.Modules[0].Init) == 0 || !g.one(3) {
		return
	}
	m := &g.sc.Modules[0]
	k := g.own(scenario.Probe{Name: "init", Func: m.Init[g.rand.N(len(m.Init))]})
	register, unregister := scenario.Op{Kind: act.Register, Target: k}, scenario.Op{Kind: act.Unregister, Target: k}
	give := scenario.Op{Kind: act.Schedule}
	g.alone("starter", []scenario.Op{register, give, unregister, register, give, register, unregister})
}

// drawJoint adds a function with several probes on one instruction, each with its own handlers or
// registered disabled. A task registers, unregisters and switches them between calls: the state
// of the address depends on all its probes.
func drawJoint(g *maker) {
	if !rarely(g, 5) {
		return
	}
	f := &function{g: g, at: jointAt, calm: true}
	if g.one(3) {
		f.endbr() // a probe on the function is placed after it
	}
	base := len(f.code)
	f.put(0x89, f.arg())                   // mov %edi,%eax
	f.put(0x83, 0xc0, 0x01)                // add $1,%eax
	f.put(0x01, by32(g, byte(0xf0), 0xc8)) // add %esi,%eax
	f.put(0xc3)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: jointName, At: f.at, Code: f.code})
	m := &g.sc.Machine
	at := []int{0, base, base + 2, base + 5}[g.rand.N(4)]
	count := []scenario.Step{{Kind: scenario.StepCount}}
	var names []string
	for i := range 2 + g.rand.N(3) {
		p := scenario.Probe{Name: fmt.Sprint("joint", i), Func: jointName, Offset: at, Pre: count}
		switch g.rand.N(6) {
		case 0, 1:
			p.Post = count
		case 2:
			if p.Pre = nil; g.one(2) {
				p.Post = count
			}
		case 3: // near the others, in the region of a jump
			p.Offset = base + []int{0, 2, 5}[g.rand.N(3)]
		}
		p.Disabled = m.Batches && g.one(3)
		if p.Pre == nil { // own would otherwise give it one
			g.sc.Probes = append(g.sc.Probes, p)
			names = append(names, p.Name)
			continue
		}
		names = append(names, g.own(p))
	}
	call := scenario.Op{Kind: act.Call, Target: jointName, Args: []uint64{uint64(g.rand.N(7)), 2}}
	one := func(k *scenario.Operation) scenario.Op {
		return scenario.Op{Kind: k, Target: names[g.rand.N(len(names))]}
	}
	var ops []scenario.Op
	for _, k := range names {
		if !g.one(4) {
			ops = append(ops, scenario.Op{Kind: act.Register, Target: k})
		}
	}
	for range 4 + g.rand.N(8) {
		switch g.rand.N(8) {
		case 0, 1:
			ops = append(ops, one(act.Register))
		case 2, 3:
			ops = append(ops, one(act.Unregister))
		case 4:
			if m.Batches {
				ops = append(ops, one(act.Enable))
			}
		case 5:
			if m.Batches {
				ops = append(ops, one(act.Disable))
			}
		case 6:
			ops = append(ops, g.settled())
		}
		if g.one(2) {
			ops = append(ops, call)
		}
	}
	for _, k := range names {
		ops = append(ops, scenario.Op{Kind: act.Unregister, Target: k})
	}
	g.alone("joiner", append(ops, g.settled(), call))
}

// switches reports whether a task writes kprobes/enabled.
func (g *maker) switches() bool {
	for i := range g.sc.Tasks {
		if slices.ContainsFunc(g.sc.Tasks[i].Ops, func(op scenario.Op) bool { return op.Kind == act.Enabled }) {
			return true
		}
	}
	return false
}
