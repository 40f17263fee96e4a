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

const (
	cpusMost   = 6  // maximum
	reachMost  = 8  // probes are at f+0 to f+8
	probesMost = 4  // maximum
	roundsMost = 30 // maximum for a caller
	roundsFew  = 16 // maximum in most programs: a run takes half the points and shows as much
)

// libraryFuncs lists the functions of storms with the offset of the first probe, which is far
// enough back that no other probe of the storm lies in its region.
var libraryFuncs = [...]libraryFunc{{"victim", 8}, {"clamp", 4}, {"sign", 5}, {"field", 2}, {"tally", 7}, {"over", 7},
	{"scramble", 0}}

// libraryFuncs32 lists those that begin differently on i386.
var libraryFuncs32 = [...]libraryFunc{{"victim", 10}, {"clamp", 3}, {"sign", 4}, {"field", 3}, {"tally", 6},
	{"over", 6}}

type libraryFunc struct {
	name   string
	offset int
}

// probes draws the probes. Most are at a few addresses of one function, so that they share
// addresses and lie in each other's regions.
func (g *maker) probes() {
	g.part("probes")
	first := libraryFuncs[g.rand.N(len(libraryFuncs))]
	if g.one(2) {
		first = libraryFuncs[0]
	}
	if g.focus != "" && !g.sleeps {
		first.name, first.offset = g.focus, 0
	}
	g.funcs = []string{first.name}
	if g.one(3) {
		g.funcs = append(g.funcs, Functions[g.rand.N(len(Functions))])
	}
	g.funcs = append(g.funcs, g.made...)
	if g.focus == "" {
		g.focus = first.name
	} else {
		first.name, first.offset = g.focus, 0
	}
	// jump labels came with 2.6.37, and rules before don't know their sites
	if g.labelled = g.one(4) && g.sc.Machine.Edition != rules.Edition26 && labels(g); g.labelled {
		g.funcs = append(g.funcs, "labelled")
		g.sc.Labels = []scenario.Label{{Name: "key", Sites: []scenario.LabelSite{
			{Func: "labelled", Offset: 3, Target: "labelled_on"}}}}
	}
	g.nests = g.one(4) || g.faulty
	if i := slices.IndexFunc(libraryFuncs32[:], func(f libraryFunc) bool { return f.name == first.name }); g.i386 &&
		i >= 0 {
		first = libraryFuncs32[i]
	}
	for i := range 2 + g.rand.N(probesMost-1) {
		g.numbered("k", i)
		p := scenario.Probe{Name: fmt.Sprintf("k%d", i), Func: first.name, Offset: first.offset,
			Pre: []scenario.Step{{Kind: scenario.StepCount}}}
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

// The address of row's function.
const (
	rowName           = "row"
	rowAt   arch.Addr = 0xffffffff81048000
	rowMost           = 48
)

// row adds a function with a probe on each of its instructions, which are as long as a jump, so
// that their detours need more than a page.
func (g *maker) row() {
	g.part("row")
	if !g.one(40) || g.on.Few {
		return
	}
	n := rowMost - g.rand.N(rowMost/2)
	f := &function{g: g, at: rowAt}
	f.put(0x89, f.arg()) // mov %edi,%eax
	var names []string
	for i := range n {
		p := scenario.Probe{Name: fmt.Sprint("row", i), Func: rowName, Offset: len(f.code),
			Pre: []scenario.Step{{Kind: scenario.StepCount}}}
		g.sc.Probes, names = append(g.sc.Probes, p), append(names, p.Name)
		f.put(0x05, byte(i), 0, 0, 0) // add $i,%eax
	}
	f.put(0xc3)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: rowName, At: rowAt, Code: f.code})
	every := func(one, all *scenario.Operation) (ops []scenario.Op) {
		if g.sc.Machine.Batches && !g.one(4) {
			return []scenario.Op{{Kind: all, Targets: names}}
		}
		for _, name := range names {
			ops = append(ops, scenario.Op{Kind: one, Target: name})
		}
		return ops
	}
	call := scenario.Op{Kind: act.Call, Target: rowName, Args: []uint64{1}}
	var ops []scenario.Op
	for range 1 + g.rand.N(2) {
		ops = append(ops, every(act.Register, act.RegisterAll)...)
		ops = append(ops, g.settled(), call)
		ops = append(ops, every(act.Unregister, act.UnregisterAll)...)
		ops = append(ops, g.settled(), call)
	}
	g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: "rower", CPU: g.rand.N(g.sc.Machine.CPUs), Repeat: 1, Ops: ops})
}

// handlerCalls draws the function that a handler calls. It must not loop, because its arguments
// are whatever the registers hold at the hit.
func (g *maker) handlerCalls() scenario.Step {
	if g.faulty {
		return scenario.Step{Kind: scenario.StepCall, Target: faultsName}
	}
	return scenario.Step{Kind: scenario.StepCall, Target: g.funcs[0]}
}

// handlers makes some of a kprobe's handlers do more than count.
func (g *maker) handlers(p *scenario.Probe) {
	if g.one(8) {
		p.Pre = nil
	}
	if g.one(6) {
		p.Pre = append(p.Pre, scenario.Step{Kind: scenario.StepStore, Target: noteName, Value: 1})
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
		p.Pre = append(p.Pre, scenario.Step{Kind: scenario.StepSetReg, Reg: g.arch().Result, Value: g.result()})
	case 1:
		p.Post = append(p.Post, scenario.Step{Kind: scenario.StepSetReg, Reg: g.arch().Result, Value: g.result()})
	case 2: // a post_handler means that the path may change, so there is no jump
		if p.Offset == 0 && p.Func != zeroName {
			p.Pre = append(p.Pre, scenario.Step{Kind: scenario.StepSetIP, Target: zeroName},
				scenario.Step{Kind: scenario.StepNonzero})
			p.Post = []scenario.Step{{Kind: scenario.StepCount}}
		}
	}
}

// result draws a return value set by a handler. On i386 its register is also the argument of
// recursion, and values from 1 to 7 would recurse endlessly.
func (g *maker) result() uint64 {
	v := uint64(g.rand.N(100))
	if g.i386 && v >= 1 && v <= 7 {
		v += 8
	}
	return v
}

// kretprobe draws a return probe with few instances, so that calls are missed.
func (g *maker) kretprobe(name string) scenario.Probe {
	p := scenario.Probe{Name: name, Kind: scenario.ProbeKretprobe, Func: g.some(),
		Post: []scenario.Step{{Kind: scenario.StepCount}}, Maxactive: g.rand.N(3)}
	if g.sc.Machine.Batches && g.one(2) {
		switch g.rand.N(3) {
		case 0: // a callee-saved register
			p.Pre, p.DataSize = []scenario.Step{{Kind: scenario.StepSave, Reg: g.arch().Saved[0]}}, 8
			p.Post = append(p.Post, scenario.Step{Kind: scenario.StepRestore, Reg: g.arch().Saved[0]})
		case 1:
			p.Pre = []scenario.Step{{Kind: scenario.StepCount}, {Kind: scenario.StepNonzero}}
		case 2:
			p.Pre, p.DataSize, p.Post = []scenario.Step{{Kind: scenario.StepSave, Reg: g.arch().Args[0]}}, 8, nil
		}
		return p
	}
	if g.sc.Machine.Batches && g.one(2) {
		p.Pre, p.DataSize = []scenario.Step{{Kind: scenario.StepCount}}, 8*g.rand.N(3)
	}
	return p
}

// jprobe draws a jprobe. If there is one already, it is refused. Its entry is a Go function, or
// text that changes saved state: a register, and the stack above its return address. That text
// may have a probe too.
func (g *maker) jprobe(name string) scenario.Probe {
	p := scenario.Probe{Name: name, Kind: scenario.ProbeJprobe, Func: g.some()}
	if g.one(2) {
		p.Pre = []scenario.Step{{Kind: scenario.StepCount},
			{Kind: scenario.StepSetReg, Reg: g.arch().Args[0], Value: 7}}
		if g.nests {
			p.Pre = append(p.Pre, g.handlerCalls())
		}
		return p
	}
	p.Entry = entry
	if g.sc.Text(entry) != nil {
		return p
	}
	code := by32(g, []byte{0xbf, 7, 0, 0, 0, 0x48, 0x89, 0x7c, 0x24, 0x08}, // mov $7,%edi; mov %rdi,8(%rsp)
		[]byte{0xb8, 7, 0, 0, 0, 0x3e, 0x89, 0x44, 0x24, 0x04}) // mov $7,%eax; mov %eax,%ds:4(%esp)
	to, _ := scenario.KernelExport("jprobe_return")
	jump, _ := x86.JumpRel32(entryAt+arch.Addr(len(code)), to)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: entry, At: entryAt, Code: append(code, jump[:]...)})
	if g.one(3) {
		g.nests = true
		g.sc.Probes = append(g.sc.Probes, scenario.Probe{Name: name + "in", Func: entry, Offset: 5 * g.rand.N(2),
			Pre: []scenario.Step{{Kind: scenario.StepCount}}})
	}
	return p
}

// Addresses of the entries of jprobes that are text.
const (
	entry             = "entry"
	entryAt arch.Addr = 0xffffffff81080000
)

// some draws a function, mostly the first.
func (g *maker) some() string {
	if len(g.rares) > 0 && g.one(3) {
		return g.rares[g.rand.N(len(g.rares))]
	}
	if g.one(2) {
		return g.made[g.rand.N(len(g.made))]
	}
	if g.one(3) {
		return g.funcs[g.rand.N(len(g.funcs))]
	}
	return g.focus
}

// offset draws an offset: mostly an instruction boundary, sometimes the middle of an instruction,
// where a probe is refused.
func (g *maker) offset(f string) int {
	reach := reachMost
	size := len(g.sc.Text(f).Code)
	if f != g.focus || g.one(4) {
		reach = size - 1
	}
	if g.one(8) && !g.sc.Machine.AnyByte {
		return min(g.rand.N(reach+1), size-1)
	}
	var near []int
	for _, off := range Boundaries(g.sc, f) {
		if off <= reach {
			near = append(near, off)
		}
	}
	return near[g.rand.N(len(near))]
}
