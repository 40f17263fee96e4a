package gen

import (
	"fmt"
	"slices"

	"kpsim/engine/bpf"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// This file draws the clients of ftrace besides probes. Each is a part of its own, with its own
// functions and tasks, in few scenarios.
const (
	patchedName           = "patched"
	patchedAt   arch.Addr = 0xffffffff8104f000
	directAt    arch.Addr = 0xffffffff8104f600
)

// drawPatches adds a function that is live patched once or twice, its replacements and, sometimes, a
// probe after its site, which is never hit while the function is patched.
func drawPatches(g *maker) {
	if !rarely(g, 10) || !g.sc.Machine.Kernel.Ftrace || len(g.sc.Modules) > 0 {
		return
	}
	f := &function{g: g, at: patchedAt}
	if g.one(2) {
		f.endbr()
	}
	g.sc.Sites = append(g.sc.Sites, scenario.Site{Func: patchedName, Offset: len(f.code)})
	f.put(x86.Nop5[:]...)
	inside := len(f.code)
	lea := by32(g, byte(0x47), 0x40)
	f.put(0x8d, lea, 0x01) // lea 1(%rdi),%eax
	f.put(0xc3)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: patchedName, At: f.at, Code: f.code})
	var to []string
	for i := range 1 + g.rand.N(2) {
		name := fmt.Sprint("patch", i)
		g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: patchedAt + arch.Addr(i+1)*0x40,
			Code: []byte{0x8d, lea, byte(2 + i), 0x90, 0x90, 0xc3}})
		to = append(to, name)
	}
	call := scenario.Op{Kind: act.Call, Target: patchedName, Args: []uint64{uint64(g.rand.N(7))}, Changed: true}
	var ops []scenario.Op
	if g.one(3) {
		ops = append(ops, scenario.Op{Kind: act.Register,
			Target: g.own(scenario.Probe{Name: "behind-site", Func: patchedName, Offset: inside})})
	}
	for _, name := range to {
		if ops = append(ops, scenario.Op{Kind: act.PatchFunc, Target: patchedName, Targets: []string{name}}); g.one(2) {
			ops = append(ops, call)
		}
	}
	if g.sc.Machine.Quiesce != kapi.QuiesceStackCheck {
		for range to {
			ops = append(ops, scenario.Op{Kind: act.UnpatchFunc, Target: patchedName})
		}
	}
	// unknown to a kernel's own engine
	if m := &g.sc.Machine; g.one(2) && m.Directs() && !g.on.Contract && !g.on.Few {
		for i := range 2 { // push %rax; pop %rax; ret
			g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: fmt.Sprint("direct", i),
				At: directAt + arch.Addr(i)*0x1c8, Code: []byte{0x50, 0x90, 0x58, 0xc3}})
		}
		to := func(k *scenario.Operation, t string) scenario.Op {
			return scenario.Op{Kind: k, Target: patchedName, Targets: []string{t}}
		}
		direct := []scenario.Op{to(act.RegisterDirect, "direct0"), call}
		if g.one(2) {
			direct = append(direct, to(act.ModifyDirect, "direct1"), call)
		}
		g.alone("director", append(direct, scenario.Op{Kind: act.UnregisterDirect, Target: patchedName}))
	}
	g.alone("patcher", append(ops, call))
	g.alone("patchee", []scenario.Op{call, {Kind: act.Schedule}, call})
}

// Addresses of functions that are patched together.
const (
	universeName           = "universe"
	universeAt   arch.Addr = 0xffffffff81051000
)

// drawUniverses adds a function and its callee that are live patched together, once or twice, while
// tasks are inside them. Sometimes another task than the patching one reverts the patch.
func drawUniverses(g *maker) {
	if m := &g.sc.Machine; !rarely(g, 10) || !m.Kernel.Ftrace || m.Engine != "" || g.on.Contract || g.on.Few || g.i386 {
		return
	}
	text := func(name string, off int, code ...byte) {
		g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: universeAt + arch.Addr(off), Code: code})
	}
	nop := []byte{0x0f, 0x1f, 0x44, 0x00, 0x00}
	// push %rdi; cond_resched(); pop %rdi; call the inner one; add $more,%eax; ret
	outer := func(off int, site []byte, more byte) []byte {
		code := append(site[:len(site):len(site)], 0x57, 0x48, 0xc7, 0xc0, 0x00, 0x00, 0x00, 0x82, 0xff, 0xd0, 0x5f,
			0xe8)
		rel := -(off + len(code) + 4)
		return append(code, byte(rel), byte(rel>>8), byte(rel>>16), byte(rel>>24), 0x83, 0xc0, more, 0xc3)
	}
	text("innermost", 0, append(nop, 0x8d, 0x47, 0x01, 0xc3)...) // lea 1(%rdi),%eax; ret
	text(universeName, 0x20, outer(0x20, nop, 1)...)
	text("innermost1", 0x60, 0x8d, 0x47, 0x0a, 0xc3)
	text("universe1", 0x80, outer(0x80, nil, 0x14)...)
	g.sc.Sites = append(g.sc.Sites, scenario.Site{Func: "innermost"}, scenario.Site{Func: universeName})

	patch := scenario.Op{Kind: act.PatchFunc, Target: universeName,
		Targets: []string{"universe1", "innermost", "innermost1"}}
	unpatch := scenario.Op{Kind: act.UnpatchFunc, Target: []string{universeName, "innermost"}[g.rand.N(2)]}
	call := scenario.Op{Kind: act.Call, Target: universeName, Args: []uint64{uint64(g.rand.N(7))}, Changed: true}
	ops := []scenario.Op{patch, unpatch}
	switch g.rand.N(4) {
	case 0:
		ops = []scenario.Op{patch, call, unpatch, call}
	case 1:
		g.alone("taker", []scenario.Op{unpatch})
	case 2:
		ops = append(ops, patch)
	}
	if g.one(3) { // before 5.3 any probe at a site conflicts with a live patch there
		ops = append([]scenario.Op{{Kind: act.Register,
			Target: g.own(scenario.Probe{Name: "at-innermost", Func: "innermost"})}}, ops...)
	}
	g.alone("uniter", ops)
	g.alone("inhabitant", []scenario.Op{call, {Kind: []*scenario.Operation{act.User, act.Schedule}[g.rand.N(2)]}, call})
}

// Addresses of the functions of fprobes.
const (
	hookedAt arch.Addr = 0xffffffff81050000
	hookedBy arch.Addr = 0xffffffff81050800
)

// hooks reports whether the machine has clients of ftrace that are kpsim's own, and came with an edition.
func hooks(g *maker, since rules.Edition) bool {
	m := &g.sc.Machine
	return m.Kernel.Ftrace && (m.Edition == rules.EditionNone || m.Edition >= since) &&
		m.Quiesce != kapi.QuiesceStackCheck && m.Engine == "" && !g.on.Contract && !g.on.Few && !g.i386
}

// drawFprobes adds functions hooked by an fprobe. Some scenarios add others with a site, one of which
// nests deeper than calls are followed, a return probe on one of them, or a second fprobe.
func drawFprobes(g *maker) {
	if !rarely(g, 8) || !hooks(g, rules.Edition65) {
		return
	}
	var hooked []string
	for i := range 1 + g.rand.N(3) {
		name := fmt.Sprint("hooked", i)
		code := []byte{0x0f, 0x1f, 0x44, 0x00, 0x00, 0x8d, 0x47, byte(i + 1), 0xc3} // the site; lea i+1(%rdi),%eax; ret
		at := hookedAt + arch.Addr(i)*0x100 + arch.Addr(g.rand.N(8))
		switch to, ok := scenario.KernelExport("cond_resched"); {
		case i > 0 && g.one(2): // dec %edi; js end; call itself; end: xor %eax,%eax; ret
			code = []byte{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xff, 0xcf, 0x78, 0x05, 0xe8, 0xf2, 0xff, 0xff, 0xff, 0x31,
				0xc0, 0xc3}
		case ok && g.one(3): // several calls are under way while hooks come and go
			f := &function{g: g, at: at}
			f.put(code[:5]...)
			f.relative(to, 0xe8)
			f.put(0x31, 0xc0, 0xc3) // xor %eax,%eax; ret
			code = f.code
		}
		g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: at, Code: code})
		g.sc.Sites = append(g.sc.Sites, scenario.Site{Func: name})
		hooked = append(hooked, name)
	}
	wanted := slices.Clone(hooked)
	if g.sc.Text(patchedName) != nil && g.one(2) {
		wanted = append(wanted, patchedName)
	}
	for i, name := range []string{"enters", "leaves"} {
		// push %rax; pop %rax; ret
		g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: hookedBy + arch.Addr(i)*0x40,
			Code: []byte{0x50, 0x58, 0xc3}})
	}
	call := func() scenario.Op {
		return scenario.Op{Kind: act.Call, Target: hooked[g.rand.N(len(hooked))], Args: []uint64{uint64(g.rand.N(8))}}
	}
	add := func(name string, funcs []string) []scenario.Op {
		fp := scenario.Fprobe{Name: name, Funcs: funcs, Entry: "enters", Exit: "leaves"}
		switch g.rand.N(4) {
		case 0:
			fp.Entry = ""
		case 1:
			fp.Exit = ""
		case 2:
			if fp.Skips = g.one(2); fp.Skips {
				fp.Entry = refuses(g.sc)
			}
			if g.one(2) {
				fp.Maxactive = 1 + g.rand.N(3)
			}
		}
		g.sc.Fprobes = append(g.sc.Fprobes, fp)
		return []scenario.Op{{Kind: act.RegisterFprobe, Target: name}, call(),
			{Kind: act.UnregisterFprobe, Target: name}}
	}
	ops := add("fprobe0", wanted)
	switch g.rand.N(6) {
	case 0, 1:
		ops = append(ops, ops[0], call(), ops[2])
	case 2: // at once
		ops = append(ops, ops[0], ops[2], ops[0], ops[2])
	}
	if g.one(3) {
		g.alone("fprober1", append(add("fprobe1", hooked[:1]), call()))
	}
	if g.one(2) {
		k := g.own(scenario.Probe{Name: "hooked-return", Kind: scenario.ProbeKretprobe, Func: hooked[0],
			Post: []scenario.Step{{Kind: scenario.StepCount}}})
		g.alone("returner", []scenario.Op{{Kind: act.Register, Target: k}, call(), {Kind: act.Unregister, Target: k}})
	}
	g.alone("fprober", ops)
	for i := range 1 + g.rand.N(3) {
		g.alone(fmt.Sprint("hookee", i), []scenario.Op{call(), {Kind: act.Schedule}, call()})
	}
}

// Addresses of a function with BPF programs, and of these.
const (
	programmedName           = "programmed"
	programmedAt   arch.Addr = 0xffffffff81059000
	programAt      arch.Addr = 0xffffffff81059100
)

// drawPrograms adds a function with BPF programs of several kinds, which come and go while tasks call it. In some
// scenarios the function gives its CPU up, or another client of ftrace or a probe comes and goes, too.
func drawPrograms(g *maker) {
	if !rarely(g, 8) || !hooks(g, rules.Edition514) {
		return
	}
	code := slices.Clone(x86.Nop5[:])
	if to, ok := scenario.KernelExport([]string{"cond_resched", "sched_yield"}[g.rand.N(2)]); ok && g.one(2) {
		// push %rdi; mov $to,%rax; call *%rax; pop %rdi
		code = append(code, 0x57, 0x48, 0xc7, 0xc0, byte(to), byte(to>>8), byte(to>>16), byte(to>>24), 0xff, 0xd0, 0x5f)
	}
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: programmedName, At: programmedAt + arch.Addr(g.rand.N(8)),
		Code: append(code, 0x8d, 0x47, 0x01, 0xc3)}) // lea 1(%rdi),%eax; ret
	g.sc.Sites = append(g.sc.Sites, scenario.Site{Func: programmedName})
	changed := false
	var ops [2][]scenario.Op
	call := func() scenario.Op {
		return scenario.Op{Kind: act.Call, Target: programmedName, Args: []uint64{uint64(g.rand.N(8))},
			Changed: changed}
	}
	for i := range 1 + g.rand.N(3) {
		name := fmt.Sprint("program", i)
		b := scenario.Bpf{Name: name, Func: programmedName, Run: name, Kind: bpf.Kind(g.rand.N(3))}
		code := []byte{0x48, 0x8b, 0x47, 0x30, 0xc3} // mov 0x30(%rdi),%rax; ret
		switch {
		case b.Kind != bpf.ModRet:
		case g.one(2):
			code, changed = []byte{0x48, 0x8b, 0x07, 0x83, 0xe0, 0x01, 0xc3}, true // mov (%rdi),%rax; and $1,%eax; ret
		default:
			code = []byte{0x31, 0xc0, 0xc3} // xor %eax,%eax; ret
		}
		g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: programAt + arch.Addr(i)*0x40, Code: code})
		g.sc.Bpfs = append(g.sc.Bpfs, b)
		of := g.rand.N(2)
		ops[of] = append(ops[of], scenario.Op{Kind: act.AttachBpf, Target: name}, call())
		if g.one(2) {
			ops[of] = append(ops[of], scenario.Op{Kind: act.DetachBpf, Target: name})
		}
	}
	last := fmt.Sprint("program", g.rand.N(len(g.sc.Bpfs)))
	if g.one(3) {
		ops[0] = append(ops[0], scenario.Op{Kind: act.AttachBpf, Target: last}, call())
	}
	ops[1] = append(ops[1], scenario.Op{Kind: act.DetachBpf, Target: last}, call())
	for i := range ops {
		for k := range ops[i] {
			ops[i][k].Changed = ops[i][k].Kind == act.Call && changed
		}
		if len(ops[i]) > 0 {
			g.alone(fmt.Sprint("programmer", i), ops[i])
		}
	}
	if g.one(3) {
		g.alone("traces", []scenario.Op{{Kind: act.Tracer, On: true}, call(), {Kind: act.Tracer}})
	}
	if g.one(3) {
		k := g.own(scenario.Probe{Name: "at-programmed", Func: programmedName})
		g.alone("probes", []scenario.Op{{Kind: act.Register, Target: k}, call(), {Kind: act.Unregister, Target: k}})
	}
	g.alone("programmee", []scenario.Op{call(), {Kind: act.Schedule}, call()})
}

// Addresses of a BPF dispatcher and of its programs.
const (
	dispatcherName           = "dispatcher"
	dispatcherAt   arch.Addr = 0xffffffff8105a000
	dispatchedAt   arch.Addr = 0xffffffff8105a100
)

// drawDispatcher adds a BPF dispatcher, whose programs come and go while tasks call them through it.
func drawDispatcher(g *maker) {
	if !rarely(g, 8) || !hooks(g, rules.Edition514) || g.sc.Machine.Preempt.Built() {
		return
	}
	at := dispatcherAt + arch.Addr(g.rand.N(8))
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: dispatcherName, At: at,
		Code: append(slices.Clone(x86.Nop5[:]), 0xff, 0xe2)}) // jmp *%rdx
	programs := 1 + g.rand.N(4)
	for i := range programs {
		program(g, fmt.Sprint("dispatched", i), dispatchedAt, i)
	}
	one := func() int { return g.rand.N(programs) }
	call := func() scenario.Op {
		return scenario.Op{Kind: act.Call, Target: dispatcherName,
			Args: []uint64{uint64(g.rand.N(8)), 0, uint64(dispatchedAt) + uint64(one())*0x40}}
	}
	changed(g, "dispatches", "dispatchee", call, func() scenario.Op {
		op := scenario.Op{Kind: act.Dispatch, Target: dispatcherName,
			Targets: []string{fmt.Sprint("dispatched", one())}}
		if g.one(3) {
			op.Kind = act.Undispatch
		}
		return op
	})
}

// program adds program number i of those that begin at an address: mov %edi,%eax; add $i+1,%eax; ret.
func program(g *maker, name string, at arch.Addr, i int) {
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: at + arch.Addr(i)*0x40,
		Code: []byte{0x89, 0xf8, 0x83, 0xc0, byte(i + 1), 0xc3}})
}

// changed adds tasks that change what a function leads to, and tasks that call it.
func changed(g *maker, changer, caller string, call, change func() scenario.Op) {
	for i := range 1 + g.rand.N(2) {
		var ops []scenario.Op
		for range 2 + g.rand.N(4) {
			if ops = append(ops, change()); g.one(3) {
				ops = append(ops, call())
			}
		}
		g.alone(fmt.Sprint(changer, i), ops)
	}
	for i := range 1 + g.rand.N(2) {
		g.alone(fmt.Sprint(caller, i), []scenario.Op{call(), {Kind: act.Schedule}, call()})
	}
}

// Addresses of a function with a tail call and of its programs.
const (
	tailName           = "tails"
	tailAt   arch.Addr = 0xffffffff8105b000
	tailedAt arch.Addr = 0xffffffff8105b100
)

// drawTailCall adds a function with a tail call, whose array's programs come and go while tasks call it.
func drawTailCall(g *maker) {
	if !rarely(g, 8) || !hooks(g, rules.Edition514) || g.sc.Machine.Preempt.Built() {
		return
	}
	// push %rdi; jmp out; pop %rdi; the nop; out: pop %rdi; mov %edi,%eax; add $7,%eax; ret
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: tailName, At: tailAt + arch.Addr(g.rand.N(8)),
		Code: []byte{0x57, 0xe9, 0x06, 0, 0, 0, 0x5f, 0x0f, 0x1f, 0x44, 0, 0, 0x5f, 0x89, 0xf8, 0x83, 0xc0, 0x07,
			0xc3}})
	programs := 1 + g.rand.N(2)
	for i := range programs {
		program(g, fmt.Sprint("tailed", i), tailedAt, i)
	}
	call := func() scenario.Op {
		return scenario.Op{Kind: act.Call, Target: tailName, Args: []uint64{uint64(g.rand.N(8))}, Changed: true}
	}
	changed(g, "tailer", "taker", call, func() scenario.Op {
		op := scenario.Op{Kind: act.TailCall, Target: tailName}
		if !g.one(3) {
			op.Targets = []string{fmt.Sprint("tailed", g.rand.N(programs))}
		}
		return op
	})
}

// refuses returns an entry handler that leaves out the exit handler of calls with an odd argument.
func refuses(sc *scenario.Scenario) string {
	const name = "refuses"
	if sc.Text(name) == nil {
		// mov %edi,%eax; and $1,%eax; ret
		sc.Texts = append(sc.Texts, scenario.Text{Name: name, At: hookedBy + 0x80,
			Code: []byte{0x89, 0xf8, 0x83, 0xe0, 0x01, 0xc3}})
	}
	return name
}
