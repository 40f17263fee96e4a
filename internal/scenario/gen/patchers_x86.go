package gen

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// This file has the scenes about what patches text beside probes and keys: clients of ftrace, alternatives.

// drawTraced adds functions with sites of ftrace, probes there and behind them, and other clients of the same sites,
// which come and go in any order.
func drawTraced(s *scene) {
	m := &s.sc.Machine
	lea := by32(s.maker, byte(0x47), 0x40)
	var names, kept, quick []string
	inside := make(map[string]int)
	for i := range 1 + s.rand.N(3) {
		name := fmt.Sprint("traced", i)
		s.text(name, func(f *function) {
			if s.one(4) {
				f.endbr()
			}
			s.sc.Sites = append(s.sc.Sites, scenario.Site{Func: name, Offset: len(f.code)})
			f.put(x86.Nop5[:]...)
			inside[name] = len(f.code)
			f.put(0x8d, lea, byte(i+1)) // lea i+1(%rdi),%eax
			if to, ok := scenario.KernelExport("cond_resched"); ok && s.one(3) {
				f.put(0x50)
				f.relative(to, 0xe8)
				f.put(0x58)
			} else {
				quick = append(quick, name)
			}
			f.put(0xc3)
		})
		names = append(names, name)
	}
	kept = names
	if s.one(3) { // the last one is a module's
		last := len(names) - 1
		kept = names[:last]
		s.module(scenario.Module{Name: "m", Core: names[last:]},
			[]scenario.Op{{Kind: act.Call, Target: names[last], Args: []uint64{1}}})
	}
	posts := s.one(2) // on a kernel the probes of a site have all a post_handler or none: findings.md, ftrace-by-post
	for _, name := range names {
		for range s.rand.N(3) {
			p := scenario.Probe{Func: name, Offset: inside[name] - len(x86.Nop5)}
			if posts && s.on.Contract || !s.on.Contract && s.one(2) {
				p.Post = []scenario.Step{{Kind: scenario.StepCount}}
			}
			s.probe(p)
		}
		if s.one(4) {
			s.kprobe(name, inside[name], 3)
		}
	}
	s.array(scenario.ProbeKprobe)
	op := func(k *scenario.Operation, on bool) scenario.Op { return scenario.Op{Kind: k, On: on} }
	if s.one(2) {
		s.comes(op(act.Tracer, true), op(act.Tracer, false))
	}
	if len(kept) > 0 && s.one(3) { // without a site that is there it would want all, those of the module, too
		s.comes(op(act.Livepatch, true), op(act.Livepatch, false))
	}
	changed := false
	to := func(k *scenario.Operation, f string, t ...string) scenario.Op {
		return scenario.Op{Kind: k, Target: f, Targets: t}
	}
	if len(kept) > 0 && s.one(2) && m.Quiesce != kapi.QuiesceStackCheck {
		changed = true
		for i := range 2 {
			s.text(fmt.Sprint("patch", i), func(f *function) {
				if to, ok := scenario.KernelExport("cond_resched"); ok && s.one(3) {
					f.put(0x50)
					f.relative(to, 0xe8)
					f.put(0x58)
				}
				f.put(0x8d, lea, byte(0x10+i))
				f.put(0xc3)
			})
		}
		f := kept[s.rand.N(len(kept))]
		if len(kept) > 1 && ours(s.maker) && s.one(2) { // several functions, of which one may be refused
			first := s.rand.N(2)
			s.belongs(to(act.PatchFunc, kept[first], "patch0", kept[1-first], "patch1"), to(act.UnpatchFunc, f))
		}
		s.belongs(to(act.PatchFunc, f, "patch0"), to(act.UnpatchFunc, f), to(act.PatchFunc, f, "patch1"))
		if other := kept[s.rand.N(len(kept))]; s.one(3) && other != f {
			s.belongs(to(act.PatchFunc, other, "patch1"), to(act.UnpatchFunc, other))
		}
	}
	if len(kept) > 0 && s.one(4) && m.Directs() && ours(s.maker) {
		changed = true
		for i := range 2 { // push %rax; pop %rax; ret
			s.text(fmt.Sprint("direct", i), func(f *function) {
				f.put(0x50)
				f.put(0x58)
				f.put(0xc3)
			})
		}
		f := kept[s.rand.N(len(kept))]
		s.comes(to(act.RegisterDirect, f, "direct0"), to(act.UnregisterDirect, f), to(act.ModifyDirect, f, "direct1"))
	}
	hooked := len(kept) > 0 && s.one(2) && s.fprobes(kept)
	for _, name := range kept {
		s.called(name, changed)
	}
	if !hooked && !changed { // an interrupt may come while a call waits to be led elsewhere
		s.runs = slices.DeleteFunc(quick, func(name string) bool { return !slices.Contains(kept, name) })
	}
}

// fprobes adds fprobes of some of the functions, and a function that nests deeper than its calls are followed. It
// reports false if the machine has none.
func (s *scene) fprobes(names []string) bool {
	m := &s.sc.Machine
	if e := m.Edition; e != rules.EditionNone && e < rules.Edition65 || m.Quiesce == kapi.QuiesceStackCheck ||
		!ours(s.maker) || s.i386 {
		return false
	}
	names = slices.Clone(names)
	if s.one(2) {
		const deep = "deep"
		s.text(deep, func(f *function) {
			s.sc.Sites = append(s.sc.Sites, scenario.Site{Func: deep})
			f.put(x86.Nop5[:]...)
			f.put(0xff, 0xcf) // dec %edi
			f.put(0x78, 0x05) // js
			f.relative(f.at, 0xe8)
			f.put(0x31, 0xc0)
			f.put(0xc3)
		})
		for _, n := range []uint64{1, uint64(2 + s.rand.N(6))} {
			s.calls = append(s.calls, scenario.Op{Kind: act.Call, Target: deep, Args: []uint64{n}})
		}
		names = append(names, deep)
	}
	for _, name := range []string{"enters", "leaves"} {
		s.text(name, func(f *function) {
			for range s.rand.N(10) {
				f.put(0x90)
			}
			f.put(0xc3)
		})
	}
	for i := range 1 + s.rand.N(2) {
		fp := scenario.Fprobe{Name: fmt.Sprint("fprobe", i), Funcs: names, Entry: "enters", Exit: "leaves"}
		switch {
		case s.one(6):
			fp.Exit = ""
		case s.one(3):
			fp.Entry = ""
		}
		if len(names) > 1 && s.one(3) {
			fp.Funcs = names[:1]
		}
		s.sc.Fprobes = append(s.sc.Fprobes, fp)
		s.belongs(scenario.Op{Kind: act.RegisterFprobe, Target: fp.Name},
			scenario.Op{Kind: act.UnregisterFprobe, Target: fp.Name})
	}
	return true
}

// drawBoot adds alternatives that are applied while one CPU is there, in text that interrupts run. They may be applied
// again, beside a probe there.
func drawBoot(s *scene) {
	s.wanted = true
	s.sc.Machine.CPUs = 1
	s.maker.alternatives()
	s.wanted = false
	s.part("boot")
	if s.one(2) {
		apply := scenario.Op{Kind: act.Alternatives}
		call := scenario.Op{Kind: act.Call, Target: applied, Args: []uint64{1}}
		starts := Boundaries(s.sc, applied)
		k := s.own(scenario.Probe{Name: "at-applied", Func: applied, Offset: starts[s.rand.N(len(starts))]})
		t := &s.sc.Tasks[len(s.sc.Tasks)-1]
		if t.Ops = append(t.Ops, scenario.Op{Kind: act.Register, Target: k}, s.settled()); s.one(2) {
			t.Ops = append(t.Ops, call)
		}
		t.Ops = append(t.Ops, apply, call)
		if s.one(2) {
			t.Ops = append(t.Ops, scenario.Op{Kind: act.Unregister, Target: k}, call, apply, call)
		}
	}
	for range 1 + s.rand.N(2) {
		s.sc.Sources = append(s.sc.Sources, scenario.Source{Kind: scenario.SourceTimer, AtMost: 1 + s.rand.N(3),
			Run: applied})
	}
}
