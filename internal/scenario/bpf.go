package scenario

import (
	"slices"

	"kpsim/engine/bpf"
	"kpsim/smp/arch/target"
)

// Bpf is a BPF program that may be attached to a function.
type Bpf struct {
	Name string
	Func string // which has a site of ftrace
	Run  string // the function that it is
	Kind bpf.Kind
}

// TheBpfs is the row of BPF programs.
var TheBpfs = list(func(s *Scenario) *[]Bpf { return &s.Bpfs }, checkBpf, List{
	What: "program", Many: "BPF programs", Most: bpf.MostProgs, Counted: "BPF program", Unknown: "define it above",
	Given: true, Paragraph: InOthers,
	Makers: []*Maker{{
		Word: "bpf",
		Params: []PartParam{
			param("name", PartName, func(b *Bpf) any { return &b.Name }),
			param("f", PartFunc, func(b *Bpf) any { return &b.Func }).bare(),
			param("run", PartFunc, func(b *Bpf) any { return &b.Run }),
			param("kind", PartWord, func(b *Bpf) any { return Word{bpf.KindWords, (*uint8)(&b.Kind)} }).or(`"fentry"`),
		},
		Says: "a BPF program, not yet attached, for the function `f`, which needs a site of ftrace. `run` is the " +
			"function that it is: its argument points to the six arguments of the call and, after them, to its " +
			"result. `kind`: `\"fentry\"`, called where a call begins; `\"fmod_ret\"`, likewise, and if its result " +
			"isn't 0 `f` isn't called, and that is the call's result; `\"fexit\"`, called where `f` has returned. A " +
			"function's programs are called by an image of its BPF trampoline, of which each change makes another " +
			"one (since 5.5, as since 5.12). A program that the CPU runs already is left out",
		Kernel: []string{"bpf_tracing_prog_attach"},
	}},
})

func checkBpf(c checker, p Part, b *Bpf) error {
	who := p.who(b.Name)
	if err := checkName(p, "program", b.Name); err != nil {
		return err
	}
	if !slices.ContainsFunc(c.s.Sites, func(s Site) bool { return s.Func == b.Func }) {
		return Faultf(p, "%s: function %q has no site of ftrace; add fentry(%s)", who, b.Func, b.Func)
	}
	if err := c.function(p, who, b.Run, 0); err != nil {
		return err
	}
	if b.Run == b.Func {
		return Faultf(p, "%s: it would be called by itself; give run another function", who)
	}
	switch m := &c.s.Machine; {
	case m.Engine != "" && !m.Arch.Serves(target.OwnClients):
		return Faultf(p, "%s: engine %s knows no BPF programs on %s; leave it out, or take kpsim's own engine", who,
			m.Engine, m.Arch)
	case !m.Directs():
		return Faultf(p, "%s: edition %v has no BPF trampolines, which came with 5.5; leave it out, or take a "+
			"later edition", who, m.Edition)
	case !m.Arch.Serves(target.BPF):
		return Faultf(p, "%s: BPF trampolines are of x86-64; leave it out, or take another machine", who)
	case c.s.Redirected(b.Func, Live|Direct):
		return Faultf(p, "%s: %s has a live patch or a direct call, too, which isn't modelled beside BPF; give it "+
			"another function", who, b.Func)
	}
	for _, o := range c.s.Bpfs[:p.I] {
		switch {
		case o.Name == b.Name:
			return Faultf(p, "%s: there are two of that name; give one another", who)
		case o.Func == b.Func && o.Run == b.Run:
			return Faultf(p, "%s: %s has a program that is %s already; give run another function", who, b.Func, b.Run)
		}
	}
	return nil
}
