package gen

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
)

// This file reaches corners of an engine: the instruction decoder, errno answers, several pages
// of detours, and a site of ftrace held by another client. Each is a part of its own, with its
// own functions, probes and task, in few scenarios, so that it doesn't change the other parts.

// Addresses of this file's functions.
const (
	tastesName           = "tastes"
	tastesAt   arch.Addr = 0xffffffff81049000
	cfiAt      arch.Addr = 0xffffffff8104a000
	entryName            = "traced0"
	siteAt     arch.Addr = 0xffffffff8104b000
	crowdAt    arch.Addr = 0xffffffff8104c000
	jointName            = "joint"
	jointAt    arch.Addr = 0xffffffff8104e000
	goingName            = "going"
	goingAt    arch.Addr = 0xffffffff8104d000
)

// Limits of these parts.
const (
	tastesMost = 12        // instructions of random encoding
	tastedMost = 8         // probes on them
	crowdMost  = 36        // probes that each get a jump: more than a page of detours
	crowdSteps = 3_000_000 // boundaries of a run with a crowd
)

// tales are the parts of a scenario that are drawn by themselves: a function and who runs it, with
// what is patched there. Those that are early come before the probers.
var tales = []struct {
	part  string
	early bool
	draw  func(g *maker)
}{
	{"tastes", true, drawTastes},
	{"preamble", true, drawPreamble},
	{"siblings", true, drawSiblings},
	{"nesting", true, drawNesting},
	{"odds", false, drawOdds},
	{"entry", false, drawEntry},
	{"crowd", false, drawCrowd},
	{"contended", false, drawContended},
	{"going", false, drawGoing},
	{"in-init", false, drawInInit},
	{"joint", false, drawJoint},
	{"patches", false, drawPatches},
	{"debugger", false, drawDebugger},
	{"fprobes", false, drawFprobes},
	{"programs", false, drawPrograms},
	{"dispatcher", false, drawDispatcher},
	{"tailcall", false, drawTailCall},
	{"universes", false, drawUniverses},
	{"uprobes", false, drawUprobes},
	{"works", false, drawWorks},
}

// tales draws the early ones, or the others.
func (g *maker) tales(early bool) {
	for i := range tales {
		if t := &tales[i]; t.early == early {
			g.part(t.part)
			t.draw(g)
		}
	}
}

// direct reports whether a kernel assumes that its text has no jumps through registers. Since 6.6
// a kernel built with retpolines or IBT does, and optimizes probes even where such a jump leads.
func (g *maker) direct() bool {
	k := &g.sc.Machine.Kernel
	return g.on.Contract && (k.Retpoline || k.IBT) && k.Edition >= rules.Edition69
}

// own adds a probe that belongs to no prober.
func (g *maker) own(p scenario.Probe) string {
	if p.Kind == scenario.ProbeKprobe && p.Pre == nil {
		p.Pre = []scenario.Step{{Kind: scenario.StepCount}}
	}
	g.sc.Probes = append(g.sc.Probes, p)
	return p.Name
}

// alone adds a task that does ops once.
func (g *maker) alone(name string, ops []scenario.Op) {
	g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: name, CPU: g.rand.N(g.sc.Machine.CPUs), Repeat: 1, Ops: ops})
}

// drawTastes adds a function of randomly encoded instructions, which nothing calls, as input for the
// rules and the decoder. odds registers probes there.
func drawTastes(g *maker) {
	if !g.one(4) {
		return
	}
	f := &function{g: g, at: tastesAt, calm: true}
	for range 3 + g.rand.N(tastesMost-2) {
		switch g.rand.N(4) {
		case 0:
			f.put(f.refused()...)
		case 1, 2:
			f.put(f.known(encodings[g.rand.N(len(encodings))])...)
		default:
			f.put(f.any()...)
		}
	}
	f.put(0xc3)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: tastesName, At: f.at, Code: f.code})
}

// encodings lists forms that random bytes rarely give: many prefixes, unusual sizes of addresses
// and immediates, and what emulators look for after ud2.
var encodings = [...][]byte{
	{0x66, 0x67, 0x2e, 0xf2, 0x36, 0x90},                         // five prefixes, all different
	{0x66, 0x67, 0x2e, 0x3e, 0x36, 0x64, 0x65, 0x90},             // seven
	{0x66, 0x67, 0x2e, 0xf2, 0x66, 0x90},                         // the first of four again
	{0x66, 0x67, 0xf3, 0x65, 0x26, 0x66, 0x66, 0x90},             // one of them again
	{0x0f, 0x0b, 0x78, 0x65, 0x6e, 0x90},                         // ud2; "xen"; nop
	{0x0f, 0x0b, 0x6b, 0x76, 0x6d, 0x90},                         // ud2; "kvm"; nop
	{0x0f, 0x01, 0xc1},                                           // vmcall
	{0x0f, 0x01, 0x00},                                           // sgdt (%rax)
	{0x0f, 0x01, 0xca},                                           // clac
	{0x66, 0xb8, 0x34, 0x12},                                     // mov $0x1234,%ax
	{0x66, 0x05, 0x34, 0x12},                                     // add $0x1234,%ax
	{0x66, 0x81, 0xc1, 0x34, 0x12},                               // add $0x1234,%cx
	{0x66, 0x68, 0x34, 0x12},                                     // pushw $0x1234
	{0x66, 0x69, 0xc0, 0x34, 0x12},                               // imul $0x1234,%ax,%ax
	{0x66, 0xc7, 0x00, 0x34, 0x12},                               // movw $0x1234,(%rax)
	{0x48, 0xb8, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}, // movabs $n,%rax
	{0x48, 0xa1, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}, // movabs n,%rax
	{0xa2, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11},       // movabs %al,n
	{0x67, 0xa1, 0x44, 0x33, 0x22, 0x11},                         // mov n,%eax, of 32 bits
	{0x67, 0x8b, 0x04, 0x24},                                     // mov (%esp),%eax
	{0x67, 0x8b, 0x45, 0x08},                                     // mov 8(%ebp),%eax
	{0x67, 0x8b, 0x05, 0x08, 0, 0, 0},                            // mov 8(%eip),%eax
	{0x8b, 0x84, 0x24, 0x80, 0, 0, 0},                            // mov 0x80(%rsp),%eax
	{0x8b, 0x04, 0x25, 0x80, 0, 0, 0},                            // mov 0x80,%eax
	{0xc8, 0x10, 0x00, 0x01},                                     // enter
	{0xc2, 0x08, 0x00},                                           // ret $8
	{0x0f, 0xc7, 0x0f},                                           // cmpxchg8b (%rdi)
	{0x0f, 0xae, 0xf0},                                           // mfence
	{0xf3, 0x0f, 0xae, 0xc0},                                     // rdfsbase %eax
	{0xf3, 0x0f, 0xb8, 0xc0},                                     // popcnt
	{0x66, 0x0f, 0x6f, 0xc1},                                     // movdqa
	{0xf2, 0x0f, 0x38, 0xf0, 0xc1},                               // crc32b %cl,%eax
	{0x66, 0xf2, 0x0f, 0x38, 0xf1, 0xc1},                         // crc32w %cx,%eax
	{0x0f, 0x38, 0x00, 0xc1},                                     // pshufb
	{0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x04},                         // palignr
	{0x0f, 0x71, 0xd0, 0x04},                                     // psrlw $4,%mm0
	{0x66, 0x0f, 0x71, 0xd0, 0x04},                               // psrlw $4,%xmm0
	{0x0f, 0x0d, 0x08},                                           // prefetchw
	{0x0f, 0xb9, 0xc1},                                           // ud1
	{0xc5, 0xf8, 0x77},                                           // vzeroupper
	{0xc5, 0xf9, 0x6f, 0xc1},                                     // vmovdqa, with two bytes of VEX
	{0xc4, 0xe2, 0x7d, 0x00, 0xc1},                               // vpshufb, with three
	{0xc4, 0xe3, 0x7d, 0x0f, 0xc1, 0x04},                         // vpalignr
	{0xc4, 0xe2, 0xf8, 0xf2, 0xc1},                               // andn
	{0xc4, 0xe3, 0xfb, 0xf0, 0xc1, 0x04},                         // rorx
	{0xc5, 0xf9, 0x71, 0xd0, 0x04},                               // vpsrlw $4
	{0x62, 0xf1, 0x7d, 0x48, 0x6f, 0xc1},                         // vmovdqa32, with EVEX
	{0x62, 0xf2, 0x7d, 0x48, 0x00, 0xc1},                         // vpshufb
	{0x62, 0xf3, 0x7d, 0x48, 0x0f, 0xc1, 0x04},                   // vpalignr
	{0x62, 0xf1, 0x7d, 0x48, 0x71, 0xd0, 0x04},                   // vpsrlw $4
	{0x8e, 0xd0},                                                 // mov %eax,%ss
	{0x8e, 0xd8},                                                 // mov %eax,%ds
	{0x9b},                                                       // wait
	{0x66, 0xe9, 0x10, 0, 0, 0},                                  // jmp with a prefix that means nothing
	{0x66, 0xe8, 0x10, 0, 0, 0},                                  // call with one
	{0x66, 0x0f, 0x84, 0x10, 0, 0, 0},                            // je with one
	{0x2e, 0x74, 0x01},                                           // je with a hint
	{0x3e, 0x8b, 0x00},                                           // mov %ds:(%rax),%eax
	{0x2e, 0x8b, 0x00},                                           // mov %cs:(%rax),%eax
	{0x67, 0xe3, 0x01},                                           // jecxz
	{0xf3, 0x48, 0xab},                                           // rep stos
	{0x41, 0xff, 0xe0},                                           // jmp *%r8
	{0x41, 0xff, 0xd0},                                           // call *%r8
	{0xff, 0x25, 0, 0, 0, 0},                                     // jmp *(%rip)
	{0xff, 0x15, 0, 0, 0, 0},                                     // call *(%rip)
	{0xff, 0x34, 0x24},                                           // push (%rsp)
	{0xf6, 0xc1, 0x01},                                           // test $1,%cl
	{0xf7, 0xc1, 0x01, 0, 0, 0},                                  // test $1,%ecx
	{0x66, 0xf7, 0xc1, 0x01, 0},                                  // test $1,%cx
	{0x48, 0x0f, 0xc7, 0x0f},                                     // cmpxchg16b (%rdi)
	{0xdb, 0xe3},                                                 // fninit
	{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},             // nop
	{0xf3, 0x0f, 0x1e, 0xfa},                                     // endbr64
	{0x66, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0},                   // nop
}

// tasted draws operations on probes at some of these instructions. One is always at the last,
// since the kernel then decodes all before it.
func (g *maker) tasted() (ops []scenario.Op) {
	if g.sc.Text(tastesName) == nil {
		return nil
	}
	starts := Boundaries(g.sc, tastesName)
	for i := range 2 + g.rand.N(tastedMost-1) {
		at := starts[len(starts)-1]
		if i > 0 {
			at = starts[g.rand.N(len(starts))]
		}
		k := g.own(scenario.Probe{Name: fmt.Sprint("taste", i), Func: tastesName, Offset: at})
		ops = append(ops, scenario.Op{Kind: act.Register, Target: k})
		if g.one(4) {
			ops = append(ops, g.settled())
		}
		if g.one(2) {
			ops = append(ops, scenario.Op{Kind: act.Unregister, Target: k})
		}
	}
	return ops
}

// emulatedOps draws operations on probes at instructions that newer kernels emulate.
func (g *maker) emulatedOps() (ops []scenario.Op) {
	if g.sc.Text(emulatedName) == nil || !g.one(2) {
		return nil
	}
	starts := Boundaries(g.sc, emulatedName)
	var names []string
	for i := range 2 + g.rand.N(4) {
		names = append(names, g.own(scenario.Probe{Name: fmt.Sprint("does", i), Func: emulatedName,
			Offset: starts[g.rand.N(len(starts))]}))
		ops = append(ops, scenario.Op{Kind: act.Register, Target: names[i]})
	}
	for range 1 + g.rand.N(3) {
		ops = append(ops, g.callOf(emulatedName))
	}
	for _, k := range names {
		ops = append(ops, scenario.Op{Kind: act.Unregister, Target: k})
	}
	return ops
}

// drawPreamble adds a function with the name of the preamble that kernels with type-checked calls put
// before a function.
func drawPreamble(g *maker) {
	if !g.on.Contract || !g.one(25) { // releases of one edition differ, so this is only for a given kernel
		return
	}
	names := [...]string{"__cfi_f", "__pfx_f", "__cfi", "_fx_f"}
	f := &function{g: g, at: cfiAt}
	f.begin()
	f.put(0xc3)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: names[g.rand.N(len(names))], At: f.at, Code: f.code})
}

// preambled draws operations on probes in the preamble.
func (g *maker) preambled() (ops []scenario.Op) {
	i := slices.IndexFunc(g.sc.Texts, func(t scenario.Text) bool { return t.At == cfiAt })
	if i < 0 {
		return nil
	}
	name := g.sc.Texts[i].Name
	starts := Boundaries(g.sc, name)
	k := g.own(scenario.Probe{Name: preambleProbe, Func: name, Offset: starts[g.rand.N(len(starts))]})
	return []scenario.Op{{Kind: act.Register, Target: k}, {Kind: act.Unregister, Target: k}}
}

// drawSiblings adds a second return probe to a function that has one: calls return through both.
func drawSiblings(g *maker) {
	if !g.one(3) {
		return
	}
	for i := range g.sc.Probes {
		p := g.sc.Probes[i]
		if p.Kind != scenario.ProbeKretprobe {
			continue
		}
		g.sc.Probes = append(g.sc.Probes, scenario.Probe{Name: "sibling", Kind: p.Kind, Func: p.Func,
			Maxactive: 1 + g.rand.N(4), Post: []scenario.Step{{Kind: scenario.StepCount}}})
		return
	}
}

// drawNesting makes handlers that call a function call another one than the first, so that all kinds
// of probes are hit in handlers. A function that may sleep, or call one that does, is excluded.
func drawNesting(g *maker) {
	if g.faulty || g.sleeps || !g.one(2) {
		return
	}
	list := g.made
	if i := slices.Index(g.rares, emulatedName); i >= 0 {
		list = append(slices.Clone(list), emulatedName, emulatedName)
	}
	for i := range g.sc.Probes {
		for k := range g.sc.Probes[i].Pre {
			if st := &g.sc.Probes[i].Pre[k]; st.Kind == scenario.StepCall && g.one(2) {
				st.Target = list[g.rand.N(len(list))]
			}
		}
	}
}

const (
	switchName    = "__switch_to" // which no return probe may follow
	preambleProbe = "before"
)

// kernels lists functions of the kernel itself. Most refuse probes, and no scenario executes
// them. kpsim's own engine has no such symbols.
var kernels = [...]string{"kprobe_int3_handler", "entry_SYSCALL_64", "asm_exc_int3", "exc_int3", "get_kprobe",
	"arch_rethook_trampoline", "do_idle", "schedule"}

// Kernels reports whether a probe is at a function that only a kernel has, or at one that only
// some releases of an edition refuse: a preamble.
func Kernels(p *scenario.Probe) bool {
	return p.Symbol == switchName || p.Func == "" && slices.Contains(kernels[:], p.Symbol) || p.Name == preambleProbe
}

// drawOdds adds a task with unusual requests: an empty array, an array with one invalid return probe,
// a function of the kernel, and the functions above.
func drawOdds(g *maker) {
	m := &g.sc.Machine
	ops := append(append(g.tasted(), g.preambled()...), g.emulatedOps()...)
	if m.Batches && g.one(10) {
		ops = append(ops, scenario.Op{Kind: act.RegisterAll}, scenario.Op{Kind: act.UnregisterAll})
	}
	if m.Batches && g.one(10) { // never unregistered, since it may not have been registered
		var names []string
		bad := g.rand.N(3)
		for i := range 1 + g.rand.N(3) {
			p := scenario.Probe{Name: fmt.Sprint("array", i), Kind: scenario.ProbeKretprobe,
				Func: g.made[g.rand.N(len(g.made))], Maxactive: 2, Post: []scenario.Step{{Kind: scenario.StepCount}}}
			switch {
			case i != bad:
			case g.one(2):
				p.Func, p.Symbol = "", "nobody"
			default:
				p.Offset = 1 // no return probe can be there
			}
			names = append(names, g.own(p))
		}
		ops = append(ops, scenario.Op{Kind: act.RegisterAll, Targets: names})
	}
	if m.Batches && g.one(20) {
		k := g.own(scenario.Probe{Name: "large", Kind: scenario.ProbeKretprobe, Func: zeroName,
			DataSize: scenario.MaxRet + g.rand.N(scenario.MaxRetData-scenario.MaxRet+1),
			Post:     []scenario.Step{{Kind: scenario.StepCount}}})
		ops = append(ops, scenario.Op{Kind: act.Register, Target: k})
	}
	if f := g.made[g.rand.N(len(g.made))]; g.one(12) {
		if starts := Boundaries(g.sc, f); starts[len(starts)-1] > 4 { // after the entry sequence of any kernel
			k := g.own(scenario.Probe{Name: "behind", Kind: scenario.ProbeKretprobe, Func: f,
				Offset: starts[len(starts)-1], Post: []scenario.Step{{Kind: scenario.StepCount}}})
			ops = append(ops, scenario.Op{Kind: act.Register, Target: k})
		}
	}
	if g.one(12) { // after all functions
		t := g.sc.Text(g.made[g.rand.N(len(g.made))])
		p := scenario.Probe{Name: "outside", Symbol: t.Name, Offset: len(t.Code) + g.rand.N(64)}
		at := t.At + arch.Addr(p.Offset)
		if !slices.ContainsFunc(g.sc.Texts, func(o scenario.Text) bool {
			return at >= o.At &&
				at < o.At+arch.Addr(len(o.Code))
		}) {
			k := g.own(p)
			ops = append(ops, scenario.Op{Kind: act.Register, Target: k}, scenario.Op{Kind: act.Unregister, Target: k})
		}
	}
	if g.on.Contract && g.one(20) { // a function that returns to an address left by another task
		k := g.own(scenario.Probe{Name: "switch", Kind: scenario.ProbeKretprobe, Symbol: switchName,
			Post: []scenario.Step{{Kind: scenario.StepCount}}})
		ops = append(ops, scenario.Op{Kind: act.Register, Target: k})
	}
	if g.on.Contract && g.one(10) {
		for i := range 1 + g.rand.N(3) {
			k := g.own(scenario.Probe{Name: fmt.Sprint("kernels", i), Symbol: kernels[g.rand.N(len(kernels))]})
			ops = append(ops, scenario.Op{Kind: act.Register, Target: k}, scenario.Op{Kind: act.Unregister, Target: k})
		}
	}
	if len(ops) > 0 {
		g.alone("odd", ops)
	}
}
