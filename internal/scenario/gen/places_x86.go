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

// This file has the scenes about probes: side by side in what a jump covers, on instructions whose copies are stepped,
// boosted or emulated, and on calls that return in unusual ways.

const (
	sceneAt      arch.Addr = 0xffffffff81090000 // the functions of scenes, two pages each
	outOfReachAt arch.Addr = 0xffffffff02000000 // within reach of the text, and not of detours
)

// drawRegions adds a function of short instructions, with jumps back and forth and loops, and probes on several of its
// instructions in a row: they lie in each other's regions. In most of them the first probe can get a jump, and its
// region holds several others.
func drawRegions(s *scene) {
	packed := !s.one(3)
	far, straight := !packed && !s.i386 && s.one(4), packed || s.one(2)
	lengths, postIn := []int{1, 1, 2, 3, 3, 4}, 4
	if packed {
		lengths, postIn = lengths[:4], 10
	}
	if s.sure = !far; far { // a copy of what reads it isn't within reach of it
		s.sc.Datas = append(s.sc.Datas, scenario.Data{Name: "out-of-reach", At: outOfReachAt,
			Bytes: make([]byte, dataSize)})
	}
	const name = "region"
	s.text(name, func(f *function) {
		var end []byte
		if f.calm = packed || !s.one(4); !packed && s.one(3) {
			end = f.begin()
		}
		for range 4 + s.rand.N(6) {
			switch n := s.rand.N(10); {
			case far && n < 2:
				f.data(outOfReachAt+arch.Addr(s.rand.N(8)), 0x8b, 0x0d) // mov far(%rip),%ecx
			case straight:
				f.plainOf(lengths[s.rand.N(len(lengths))])
			case n == 0:
				f.item()
			case n == 1:
				f.branch()
			case n == 2:
				f.counted()
			case n == 3:
				f.carried()
			default:
				f.plainOf([...]int{1, 1, 1, 2, 3, 3}[s.rand.N(6)])
			}
		}
		f.end(end)
	})
	starts := Boundaries(s.sc, name)
	s.settles = true
	at, first := s.rand.N(max(1, len(starts)-3)), len(s.sc.Probes)
	if packed {
		at = 0
	}
	for range 2 + s.rand.N(4) {
		s.kprobe(name, starts[min(at, len(starts)-1)], postIn)
		if packed || !s.one(5) {
			at++
		}
	}
	if more := s.sc.Probes[first+1:]; s.sc.Machine.Batches && s.one(2) { // one that no jump makes way for
		more[s.rand.N(1+s.rand.N(len(more)))].Disabled = true
	}
	if s.array(scenario.ProbeKprobe); s.one(5) {
		s.probe(scenario.Probe{Kind: scenario.ProbeKretprobe, Func: name, Maxactive: s.rand.N(3)})
	}
	s.called(name, false)
	s.runs = append(s.runs, name)
}

// left adds functions of which the inner ones are left without a return, as longjmp does, while the outer one returns,
// and tasks that call that one, and exit: until then it isn't known that a call never returns.
func (s *scene) left(leaf arch.Addr) []string {
	var far, mid, over arch.Addr
	s.text("far", func(f *function) {
		far = f.at
		f.put(0x48, 0x83, 0xc4, 0x10) // add $16,%rsp
		f.put(0x41, 0xff, 0xe0)       // jmp *%r8
	})
	s.text("mid", func(f *function) {
		mid = f.at
		f.relative(far, 0xe8)
		f.put(0x0f, 0x0b)
	})
	s.text("over", func(f *function) {
		over = f.at
		f.put(0x4c, 0x8d, 0x05, 5, 0, 0, 0) // lea 5(%rip),%r8: behind the call
		f.relative(mid, 0xe8)
		f.relative(leaf, 0xe8)
		f.put(0xc3)
	})
	s.text("top", func(f *function) {
		for range 1 + s.rand.N(3) {
			f.relative(over, 0xe8)
		}
		to, _ := scenario.KernelExport("do_exit")
		f.relative(to, 0xe9)
	})
	for i := range 1 + s.rand.N(2) {
		ops := []scenario.Op{{Kind: act.Schedule}, {Kind: act.Call, Target: "top"}}
		s.alone(fmt.Sprint("jumper", i), ops[s.rand.N(2):])
	}
	return []string{"far", "mid", "over"}
}

// drawArrays adds functions that begin with what a jump may replace, each with a probe, some with one that can't be
// optimized. They are registered and unregistered together, while tasks may be preempted in any one's detour.
func drawArrays(s *scene) {
	var names []string
	for i := range 2 + s.rand.N(3) {
		name := fmt.Sprint("array", i)
		s.text(name, func(f *function) {
			f.calm = true
			end := f.begin()
			f.plain()
			f.end(end)
		})
		s.called(name, false)
		names = append(names, s.kprobe(name, 0, 4))
	}
	if !s.sc.Machine.Batches {
		return
	}
	s.arrays = true
	all := func(k *scenario.Operation, names []string) scenario.Op { return scenario.Op{Kind: k, Targets: names} }
	for range 2 {
		first := s.rand.N(len(names))
		order := slices.Concat(names[first:], names[:first])
		s.comes(all(act.RegisterAll, order), all(act.UnregisterAll, order), s.settled(), s.call())
	}
}

// called adds calls of a function with several arguments.
func (s *scene) called(name string, changed bool) {
	for range 2 + s.rand.N(2) {
		s.calls = append(s.calls, scenario.Op{Kind: act.Call, Target: name, Changed: changed,
			Args: []uint64{uint64(s.rand.N(5)), 2}})
	}
}

// counted adds a loop by the counter over a short instruction, or a jump by it over one.
func (f *function) counted() {
	n := byte(f.g.rand.N(3))
	f.put(0xb9, n, 0, 0, 0) // mov $n,%ecx
	if f.g.one(2) {
		f.put(0xe3-byte(f.g.rand.N(2)), 3) // jrcxz, or loop
		f.put(0x83, 0xc0, n)
		return
	}
	f.code[len(f.code)-4]++
	to := len(f.code)
	f.put([...][]byte{{0x90}, {0x83, 0xc0, n}, {0x01, 0xc0}}[f.g.rand.N(3)]...)
	f.put(0xe2, byte(to-len(f.code)-2)) // loop
}

// carried adds a comparison, instructions that leave the flags, and one that reads them.
func (f *function) carried() {
	f.put(0x39, by32(f.g, byte(0xf7), 0xca)) // cmp %esi,%edi, or %ecx,%edx
	for range 1 + f.g.rand.N(5) {
		f.put([...][]byte{{0x90}, {0x0f, 0x1f, 0x00}, {0x89, 0xc1}}[f.g.rand.N(3)]...)
	}
	f.put(0x83, 0xd0, byte(f.g.rand.N(8))) // adc $n,%eax
}

// drawCopies adds functions of instructions whose copies can't simply be run elsewhere, and probes on them.
func drawCopies(s *scene) {
	s.emulated(func(name string, make func(f *function)) { s.text(name, make) })
	s.called(emulatedName, false)
	s.called(emulatedName, false)
	s.beset(emulatedName, emulatedName, []string{"adds", "pops"}[s.rand.N(2)])
}

// beset adds probes on several instructions of functions.
func (s *scene) beset(names ...string) {
	for _, name := range names {
		starts := Boundaries(s.sc, name)
		at := s.rand.N(len(starts))
		for range min(len(starts), 1+s.rand.N(5)) {
			s.kprobe(name, starts[at%len(starts)], 2)
			at += 1 + s.rand.N(2)
		}
	}
	s.array(scenario.ProbeKprobe)
}

// drawFaults adds functions whose first access of data faults and sleeps, and probes on them.
func drawFaults(s *scene) {
	var names []string
	for i := range 1 + s.rand.N(3) {
		name, at := fmt.Sprint("far", i), farAt+arch.Addr(i)*scenario.Page
		s.sc.Datas = append(s.sc.Datas, scenario.Data{Name: name + "_data", At: at,
			Bytes: []byte("away as a run begins"), Away: true})
		away := 0
		s.text(name, func(f *function) {
			end := f.begin()
			away = len(f.code)
			f.extable = append(f.extable, away)
			f.data(at+arch.Addr(s.rand.N(8)), 0x8b, 0x05) // mov far(%rip),%eax
			f.body(1 + s.rand.N(2))
			f.end(end)
		})
		s.called(name, false)
		if names = append(names, name); !s.one(3) {
			s.kprobe(name, away, 3)
		}
	}
	s.beset(names[s.rand.N(len(names))])
}

// drawChanges adds a function with handlers that change registers, by whatever means it is hit. Its result
// stays the same if what they change is kept: two registers of which it takes the difference, and one that
// a handler sets instead of the instruction that it skips.
func drawChanges(s *scene) {
	const name = "changed"
	v, skips := byte(1+s.rand.N(100)), 0
	var near []int
	s.text(name, func(f *function) {
		filler := func() {
			for range s.rand.N(5) {
				f.put([...][]byte{{0x90}, {0x0f, 0x1f, 0x00}, {0x83, 0xc0, 1}, {0x05, 1, 0, 0, 0}}[s.rand.N(4)]...)
			}
		}
		f.put(0x89, f.arg()) // mov %edi,%eax, or %edx,%eax
		f.put(0x31, 0xc9)    // xor %ecx,%ecx
		f.put(0x31, 0xd2)    // xor %edx,%edx
		from := len(f.starts)
		filler()
		f.put(0x29, 0xd1) // sub %edx,%ecx
		near = f.starts[from:]
		f.put(0x01, 0xc8) // add %ecx,%eax
		filler()
		skips = len(f.code)
		f.put(0xb9, v, 0, 0, 0) // mov $v,%ecx
		filler()
		f.put(0x01, 0xc8)
		f.put(0x31, 0xc9)
		f.put(0x31, 0xd2)
		f.put(0xc3)
	})
	set := func(r arch.Reg, v uint64) scenario.Step {
		return scenario.Step{Kind: scenario.StepSetReg, Reg: r, Value: v}
	}
	cx, dx := s.arch().Args[by32(s.maker, 3, 2)], s.arch().Args[by32(s.maker, 2, 1)]
	for range 1 + s.rand.N(3) {
		w := uint64(s.rand.N(100))
		p := scenario.Probe{Func: name, Offset: near[s.rand.N(len(near))],
			Pre: []scenario.Step{set(cx, w), set(dx, w)}}
		if s.one(3) {
			p.Post = []scenario.Step{{Kind: scenario.StepCount}}
		}
		s.probe(p)
	}
	if s.one(2) {
		s.probe(scenario.Probe{Func: name, Offset: skips, Post: []scenario.Step{{Kind: scenario.StepCount}},
			Pre: []scenario.Step{set(cx, uint64(v)),
				{Kind: scenario.StepSetIP, Target: name, Value: uint64(skips + x86.JumpLen)},
				{Kind: scenario.StepNonzero}}})
	}
	s.array(scenario.ProbeKprobe)
	s.called(name, false)
	s.runs, s.sure = append(s.runs, name), true
}

// drawReturns adds functions that call each other, with return probes of few instances, which calls in interrupts need,
// too. Some give up the CPU in between, or return to their caller's caller.
func drawReturns(s *scene) {
	var leaf, inner arch.Addr
	names := []string{"leaf", "twice"}
	s.text("leaf", func(f *function) {
		leaf = f.at
		f.put(0x89, f.arg())
		for range s.rand.N(3) {
			f.plain()
		}
		f.put(0xc3)
	})
	s.text("twice", func(f *function) {
		f.relative(leaf, 0xe8)
		f.relative(leaf, 0xe8)
		f.put(0xc3)
	})
	s.runs = slices.Clone(names)
	if s.one(3) {
		names = append(names, "recurs")
		s.text("recurs", (*function).recursive)
	}
	if to, ok := scenario.KernelExport("cond_resched"); ok && s.one(2) {
		names = append(names, "gives")
		s.text("gives", func(f *function) {
			f.relative(leaf, 0xe8)
			f.put(0x50)
			f.relative(to, 0xe8)
			f.put(0x58)
			f.put(0xc3)
		})
	}
	for _, name := range names {
		s.called(name, false)
	}
	if s.sc.Machine.Kernel.Edition == rules.Edition415 && !s.i386 && s.one(2) { // later ones find the frame by its list
		names = append(names, "inner", "middle")
		var middle arch.Addr
		s.text("inner", func(f *function) {
			inner = f.at
			f.put(0x48, 0x83, 0xc4, 0x08) // add $8,%rsp: it returns to its caller's caller
			f.put(0xc3)
		})
		s.text("middle", func(f *function) {
			middle = f.at
			f.relative(inner, 0xe8)
			f.put(0x0f, 0x0b)
		})
		s.text("outer", func(f *function) { // what was kept of the call of inner stays until the task ends
			f.relative(middle, 0xe8)
			if to, ok := scenario.KernelExport("cond_resched"); ok && s.one(2) {
				f.relative(to, 0xe8)
			}
			to, _ := scenario.KernelExport("do_exit")
			f.relative(to, 0xe9)
		})
		for i := range 1 + s.rand.N(2) {
			ops := []scenario.Op{{Kind: act.Schedule}, {Kind: act.Call, Target: "outer"}}
			s.maker.alone(fmt.Sprint("leaver", i), ops[s.rand.N(2):])
		}
	}
	if ours(s.maker) && !s.i386 && s.one(3) {
		names = append(names, s.left(leaf)...)
	}
	for range 1 + s.rand.N(4) {
		p := scenario.Probe{Kind: scenario.ProbeKretprobe, Func: names[s.rand.N(len(names))], Maxactive: s.rand.N(5)}
		if s.sc.Machine.Batches && s.one(3) {
			p.Pre, p.DataSize = []scenario.Step{{Kind: scenario.StepCount}}, 8*s.rand.N(3)
			if s.one(2) {
				p.Pre = append(p.Pre, scenario.Step{Kind: scenario.StepNonzero})
			}
		}
		s.probe(p)
	}
	if s.array(scenario.ProbeKretprobe); s.one(3) {
		s.kprobe("leaf", 0, 3)
	}
}
