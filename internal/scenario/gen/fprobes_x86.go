package gen

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Addresses of the functions of fprobes.
const (
	hookedAt arch.Addr = 0xffffffff81050000
	hookedBy arch.Addr = 0xffffffff81050800
)

// drawFprobes adds functions hooked by an fprobe. Some scenarios add others with a site, one of which
// nests deeper than calls are followed, a return probe on one of them, or a second fprobe.
func drawFprobes(g *maker) {
	m := &g.sc.Machine
	if e := m.Edition; !rarely(g, 8) || !m.Kernel.Ftrace || e != rules.EditionNone && e < rules.Edition65 ||
		m.Quiesce == kapi.QuiesceStackCheck || m.Engine != "" || g.on.Contract || g.on.Few || g.i386 {
		return
	}
	var hooked []string
	for i := range 1 + g.rand.N(3) {
		name := fmt.Sprint("hooked", i)
		code := []byte{0x0f, 0x1f, 0x44, 0x00, 0x00, 0x8d, 0x47, byte(i + 1), 0xc3} // the site; lea i+1(%rdi),%eax; ret
		// dec %edi; js end; call itself; end: xor %eax,%eax; ret
		if i > 0 && g.one(2) {
			code = []byte{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xff, 0xcf, 0x78, 0x05, 0xe8, 0xf2, 0xff, 0xff, 0xff, 0x31,
				0xc0, 0xc3}
		}
		g.sc.Texts = append(g.sc.Texts,
			scenario.Text{Name: name, At: hookedAt + arch.Addr(i)*0x100 + arch.Addr(g.rand.N(8)), Code: code})
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
	if g.one(3) {
		ops = append(ops, ops[0], call(), ops[2])
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
	g.alone("hookee", []scenario.Op{call(), {Kind: act.Schedule}, call()})
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
