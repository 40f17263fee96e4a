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

// drawKeys adds functions with jump labels, static calls or a lock prefix, also in modules, and probes
// beside them. Tasks turn the keys on and off.
func drawKeys(s *scene) {
	word := func(k *scenario.Operation, name string, to ...string) scenario.Op {
		return scenario.Op{Kind: k, Target: name, Targets: to}
	}
	var names []string
	called := s.sc.Machine.Kernel.Edition >= rules.Edition514 && !s.whole32 && s.one(2)
	if called {
		s.static(func(name string, make func(f *function)) { s.text(name, make) })
		s.comes(word(act.SetCall, "static", "one"), word(act.SetCall, "static"), word(act.SetCall, "static", "two"),
			word(act.SetCall, "static", "one"))
		s.called(switchedName, true)
		names = append(names, switchedName)
	}
	for i := range s.rand.N(3) {
		name := fmt.Sprint("keyed", i)
		names = append(names, name)
		s.text(name, func(f *function) { s.keyed(f, name, 1) })
		s.called(name, true)
	}
	if len(names) == 0 || s.one(4) {
		const name = "locked"
		s.text(name, func(f *function) {
			f.plain()
			s.sc.Locked = append(s.sc.Locked, scenario.Site{Func: name, Offset: len(f.code)})
			f.number(locksAt, 0xf0, 0xff, 0x04) // lock incl
			f.put(0x31, 0xc0)
			f.put(0xc3)
		})
		s.sc.Datas = append(s.sc.Datas, scenario.Data{Name: "locks", At: locksAt, Bytes: make([]byte, 8)})
		s.belongs(scenario.Op{Kind: act.Locks}, scenario.Op{Kind: act.Locks, On: true})
		s.called(name, false)
		names = append(names, name)
	}
	for range s.rand.N(3) {
		name := names[s.rand.N(len(names))]
		starts := Boundaries(s.sc, name)
		s.kprobe(name, starts[s.rand.N(len(starts))], 3)
	}
	if s.runs = names; ours(s.maker) && s.one(2) {
		for i := range 1 + s.rand.N(2) {
			s.keys(fmt.Sprint("m", i))
		}
	}
}

// keyed adds the instructions of a function with n keys or more, most of them labels that lead over an
// add, the others sites of the static call.
func (s *scene) keyed(f *function, name string, n int) {
	if s.one(2) {
		f.plainOf(1 + s.rand.N(3))
	}
	f.put(0x8d, by32(s.maker, byte(0x47), 0x40), 1) // lea 1(%rdi),%eax
	for range n + s.rand.N(2) {
		at := len(f.code)
		if len(s.sc.Calls) > 0 && s.one(3) {
			f.put(x86.Nop5[:]...)
			sites := &s.sc.Calls[0].Sites
			n := len(*sites) // tails come after them
			if i := slices.IndexFunc(*sites, func(t scenario.CallSite) bool { return t.Tail }); i >= 0 {
				n = i
			}
			*sites = slices.Insert(*sites, s.rand.N(n+1), scenario.CallSite{Func: name, Offset: at})
			continue
		}
		s.label(f, name)
	}
	f.put(0xc3)
}

// label adds a site of a jump label that leads over an add: of a new key, or sometimes of one that has sites.
func (s *scene) label(f *function, name string) {
	site := scenario.LabelSite{Func: name, Offset: len(f.code), Target: name, Likely: s.one(4)}
	e := s.sc.Machine.Edition // the rules may be another one's
	short := s.one(3) && (e == rules.EditionNone || e >= rules.Edition514)
	i := len(s.sc.Labels)
	on := s.one(4)
	if i > 0 && s.one(3) {
		i = s.rand.N(i)
		on = s.lit[i]
	}
	const over = 3 // the bytes of the add
	switch jump := on != site.Likely; {
	case jump && short:
		f.put(x86.OpShort, over)
	case jump:
		f.put(x86.OpJump, over, 0, 0, 0)
	case short:
		f.put(x86.Nop2[:]...)
	default:
		f.put(x86.Nop5[:]...)
	}
	f.put(0x83, 0xc0, 3) // add $3,%eax
	if site.TOff = len(f.code); i < len(s.sc.Labels) {
		s.sc.Labels[i].Sites = append(s.sc.Labels[i].Sites, site)
		return
	}
	key := fmt.Sprint("key", i)
	s.lit = append(s.lit, on)
	s.sc.Labels = append(s.sc.Labels, scenario.Label{Name: key, Sites: []scenario.LabelSite{site}})
	turns := [...]scenario.Op{{Kind: act.EnableLabel, Target: key}, {Kind: act.DisableLabel, Target: key}}
	if on {
		turns[0], turns[1] = turns[1], turns[0]
	}
	s.comes(turns[0], turns[1])
}

// keys adds a module with several keys. Either one task loads and calls it, or several tasks load and
// unload it, and its init function runs the keys.
func (s *scene) keys(module string) {
	m := scenario.Module{Name: module}
	text := func(name string) string {
		name = module + name
		s.text(name, func(f *function) {
			s.keyed(f, name, 1+s.rand.N(2))
			f.starts, f.code = f.starts[:len(f.starts)-1], f.code[:len(f.code)-1]
			f.put(0x31, 0xc0) // xor %eax,%eax
			f.put(0xc3)
		})
		return name
	}
	m.Core = []string{text("work")}
	if s.one(2) {
		m.Init = []string{text("enter")}
		m.Enter = m.Init[0]
	} else {
		m.Enter = m.Core[0]
	}
	if s.one(2) {
		s.module(m, []scenario.Op{{Kind: act.Call, Target: m.Core[0], Args: []uint64{1}, Changed: true}})
		return
	}
	s.loads(m) // without an exit function: its labels are written for the CPU that loads it (text_poke_early)
}

const (
	applied             = "applied"
	appliedAt arch.Addr = 0xffffffff81060000
)

// inPlaceOf holds pairs of equivalent instructions of equal length, for x86-64 and i386.
var inPlaceOf = [...][2][]byte{
	{{0x89, 0xf8}, {0x8b, 0xc7}},                                     // mov %edi,%eax
	{{0x0f, 0xae, 0xe8}, {0x0f, 0x1f, 0x00}},                         // lfence; nop
	{{0x0f, 0x1f, 0x44, 0x00, 0x00}, {0x66, 0x66, 0x66, 0x66, 0x90}}, // nops
}

// alternatives adds a function that only one task runs, before and after some of its instructions
// are replaced by alternatives. No other CPU may have run it, so no CPU may go offline around it.
func (g *maker) alternatives() {
	g.part("alternatives")
	if !rarely(g, 12) || g.on.Contract || g.on.Few || g.sc.Does(act.Offline) || g.sc.Machine.Engine != "" {
		return
	}
	var code []byte
	for range 1 + g.rand.N(4) {
		pair := inPlaceOf[g.rand.N(len(inPlaceOf))]
		g.sc.Alternatives = append(g.sc.Alternatives, scenario.Alternative{Func: applied, Offset: len(code),
			Code: pair[1]})
		code = append(code, pair[0]...)
	}
	code = append(code, 0x89, 0xf8, 0xc3) // mov %edi,%eax; ret
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: applied, At: g.arch().Addr(appliedAt + arch.Addr(g.rand.N(8))),
		Code: code})
	call := func() scenario.Op {
		return scenario.Op{Kind: act.Call, Target: applied, Args: []uint64{uint64(g.rand.N(8))}}
	}
	g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: "applier", CPU: g.rand.N(g.sc.Machine.CPUs), Repeat: 1,
		Ops: []scenario.Op{call(), {Kind: act.Alternatives}, call()}})
}
