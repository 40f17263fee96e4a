package kprobes

import (
	"slices"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// jumping is bench for an engine that writes jumps as its edition does.
func (t *specT) jumping(codes []code, programs ...func(b *bench, x *smp.Ctx)) *bench {
	b := bootBench(t, t.Settings, codes, func(b *bench) { b.m.Memory().Watch(codes[0].at, len(codes[0].bytes)) },
		programs...)
	b.wire = func(k *kernel.Kernel, d *Deps) {
		if t.Edition == rules.EditionDocumented {
			d.Patch = kernel.PokeStopped{K: k}
		}
		if t.wire != nil {
			t.wire(k, d)
		}
	}
	return b
}

// alone runs one program in the default schedule, on two CPUs.
func (t *specT) alone(codes []code, program func(b *bench, x *smp.Ctx)) {
	t.pass(t.jumping(codes, program, func(*bench, *smp.Ctx) {}))
}

// schedules runs the programs in many schedules, which all pass.
func (t *specT) schedules(codes []code, programs ...func(b *bench, x *smp.Ctx)) {
	b := t.jumping(codes, programs...)
	for name, s := range map[string]sched.Strategy{
		"random": sched.NewRandom(sched.Params{Seed: 7, Length: 600}),
		"sticky": sched.NewSticky(sched.Params{Seed: 7, Length: 600}),
	} {
		for i := range uint64(400) {
			s.Begin(i)
			require.Equal(t, smp.Passed, b.run(s), "%s, run %d: %v", name, i, b.m.Refusal())
		}
	}
}

// standing is what stands at a place: "jump", "int3", or "text", with the tail of
// the original behind the latter two.
func (b *bench) standing(t *specT, x *smp.Ctx, c code, off int) string {
	now := b.textOf(x, c)[off:]
	orig := c.bytes[off:]
	n := min(jumpSize, len(orig))
	what := stands(now, orig)
	switch whole := len(row32.Breakpoint); what {
	case asLinked:
		require.Equal(t, orig[:n], now[:n])
	case isInt3:
		require.Equal(t, orig[whole:n], now[whole:n])
	default:
		require.Equal(t, isJump, what)
	}
	return what
}

// at makes a probe that counts its hits.
func (b *bench) at(addr arch.Addr, hits *int) *Kprobe {
	return &Kprobe{Addr: addr, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { *hits++; return 0 }}
}

// twice calls crowded, and looks at what it returns.
func twice(t *specT, x *smp.Ctx) { require.Equal(t, uint64(15), callWith(x, crowded.at, 7)) }

// The functions that rule 4.2 is about. In each the region at its start would be
// fine but for one thing.
var (
	short  = code{name: "short", at: textBase + 0x400, bytes: []byte{0x90, 0x90, 0x90, 0xc3}} // nop; nop; nop; ret
	behind = code{name: "behind", at: textBase + 0x404, bytes: []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0xc3}}
	// 6 nops; dec %edi; jg to the third; ret
	entered = code{name: "entered", at: textBase + 0x440, bytes: []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xcf,
		0x7f, 0xf8, 0xc3}}
	// 6 nops; ret; jmp *%rax
	indirect = code{name: "indirect", at: textBase + 0x480, bytes: []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3,
		0xff, 0xe0}}
	faults = code{name: "faults", at: textBase + 0x4c0, bytes: []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x8b, 0x04, 0x24,
		0xc3}, extable: []int{5}}
	// nop; call 470; ret
	callee  = code{name: "callee", at: textBase + 0x500, bytes: []byte{0x90, 0xe8, 0x6a, 0xff, 0xff, 0xff, 0xc3}}
	callees = code{name: "callees", at: textBase + 0x470, bytes: []byte{0xc3}}
)

func unchecked(name string, c rules.Checks) specMutant {
	return specMutant{name: name, do: func(s *Settings) { s.Kernel.Unchecked = c }}
}

// refuses is rule 4.2 for a function whose region at an offset is no good.
func refuses(c code, off int, mutants ...specMutant) specRule {
	return specRule{
		rule: "4.2", says: "no jump in " + c.name, x86: ofRegions, in: since(rules.Edition415), mutants: mutants,
		holds: func(t *specT) {
			t.alone([]code{short, behind, entered, indirect, faults, callee, callees}, func(b *bench, x *smp.Ctx) {
				hits := 0
				require.NoError(t, b.e.Register(x, b.at(c.at+arch.Addr(off), &hits)))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, "int3", b.standing(t, x, c, off))
				callWith(x, c.at, 1)
				require.Equal(t, 1, hits) // 4.1: it stays a breakpoint, that works
			})
		},
	}
}

// the order of events that rules look at.
type order struct{ kinds []traces.Kind }

func (o *order) Event(e *traces.Event) *traces.Finding {
	o.kinds = append(o.kinds, e.Kind)
	return nil
}

// noWait is an optimizer that waits for no task. Where it stops the machine to write,
// without preemption, that is a wait by itself (4.6): there it doesn't stop it either.
var noWait = []specMutant{
	{name: "no-quiesce", row: "no-quiesce", in: every[1:5]},
	{
		name: "no-stop", row: "no-quiesce",
		wire: func(k *kernel.Kernel, d *Deps) { d.Patch = kernel.PokeNaive{K: k, TailFirst: true} },
		in:   []rules.Edition{rules.EditionDocumented},
	},
}

// spec4 is section 4: jump optimization.
var spec4 = []specRule{
	{
		rule: "4.1", says: "a breakpoint first, then a jump", in: since(rules.Edition415),
		needs:   withJumps,
		mutants: []specMutant{{name: "lost-kick", row: "lost-kick"}},
		holds: func(t *specT) {
			t.alone([]code{crowded}, func(b *bench, x *smp.Ctx) {
				hits := 0
				require.NoError(t, b.e.Register(x, b.at(crowded.at, &hits)))
				require.Equal(t, "int3", b.standing(t, x, crowded, 0))
				twice(t, x)
				b.settle(x)
				require.Equal(t, "jump", b.standing(t, x, crowded, 0))
				twice(t, x)
				require.Equal(t, 2, hits)
			})
		},
	},
	refuses(short, 0, unchecked("no-end", rules.CheckEnd)),
	refuses(entered, 0, unchecked("no-targets", rules.CheckTargets)),
	refuses(indirect, 0, unchecked("no-indirect", rules.CheckIndirect)),
	refuses(faults, 0, unchecked("no-extable", rules.CheckExtable)),
	{
		rule: "4.2", says: "what can't run elsewhere isn't in a region", in: since(rules.Edition415),
		x86:   ofRegions,
		none:  "a detour without it is none: that the judge refuses it is a case of rules' own tests (TestRows)",
		holds: refuses(callee, 0).holds,
	},
	{
		rule: "4.3", says: "the handlers see the registers as a trap has them, and leave them so",
		needs: withJumps,
		in:    since(rules.Edition415),
		mutants: []specMutant{
			{name: "sp-unadjusted", row: "sp-unadjusted", on: onX86, do: func(s *Settings) { s.SaveSS = true }},
		},
		holds: func(t *specT) {
			t.alone([]code{crowded}, func(b *bench, x *smp.Ctx) {
				var got []arch.Regs
				k := &Kprobe{Addr: crowded.at, Pre: func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int {
					got = append(got, *regs)
					return 0
				}}
				require.NoError(t, b.e.Register(x, k))
				was := *x.Regs()
				twice(t, x)
				left := x.Thread().Left().R
				b.e.Optimizer.WaitOptimizer(x)
				*x.Regs() = was
				twice(t, x)
				require.Len(t, got, 2)
				require.Equal(t, got[0].R, got[1].R)
				require.Equal(t, got[0].IP, got[1].IP)
				require.Equal(t, got[0].Flags, got[1].Flags)
				require.Equal(t, left, x.Thread().Left().R)
			})
		},
	},
	{
		rule: "1.10", says: "the handlers of an optimized probe find interrupts as they were, and preemption off",
		needs:   withJumps,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "until 4.14", do: func(s *Settings) { s.DetourIRQsOff = true }}},
		holds: func(t *specT) {
			t.alone([]code{crowded}, func(b *bench, x *smp.Ctx) {
				var on []bool
				k := &Kprobe{Addr: crowded.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
					c := x.(*smp.Ctx)
					require.NotZero(t, c.Thread().PreemptCount()+c.Thread().Traps())
					on = append(on, c.Open())
					return 0
				}}
				require.NoError(t, b.e.Register(x, k))
				twice(t, x)
				b.e.Optimizer.WaitOptimizer(x)
				twice(t, x)
				require.Equal(t, []bool{false, true}, on)
				require.True(t, x.Open())
			})
		},
	},
	{
		rule: "4.4", says: "not with a post_handler; tried again when it goes", in: since(rules.Edition415),
		needs:   withJumps,
		mutants: []specMutant{{name: "optimize-post", row: "optimize-post"}},
		holds: func(t *specT) {
			t.alone([]code{crowded}, func(b *bench, x *smp.Ctx) {
				hits, posts := 0, 0
				post := &Kprobe{Addr: crowded.at, Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }}
				require.NoError(t, b.e.Register(x, post))
				require.NoError(t, b.e.Register(x, b.at(crowded.at, &hits)))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, "int3", b.standing(t, x, crowded, 0))
				twice(t, x)
				require.Equal(t, []int{1, 1}, []int{hits, posts})
				require.NoError(t, b.e.Unregister(x, post))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, "jump", b.standing(t, x, crowded, 0))
			})
		},
	},
	{
		rule: "4.4", says: "not over another probe; tried again when that goes, at once or by way of the optimizer",
		x86: ofRegions,
		in:  since(rules.Edition415),
		mutants: []specMutant{
			{name: "optimize-blocked", row: "optimize-blocked"},
			{name: "retry-lost", row: "retry-lost"},
		},
		holds: func(t *specT) {
			for _, jump := range []bool{false, true} { // whether the other becomes one itself
				t.alone([]code{crowded}, func(b *bench, x *smp.Ctx) {
					hits := 0
					inside := b.at(crowded.at+5, &hits)
					if !jump {
						inside.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}
					}
					require.NoError(t, b.e.Register(x, inside))
					require.NoError(t, b.e.Register(x, b.at(crowded.at+1, &hits)))
					b.e.Optimizer.WaitOptimizer(x)
					require.Equal(t, isInt3, stands(b.textOf(x, crowded)[1:], crowded.bytes[1:]))
					twice(t, x)
					require.Equal(t, 2, hits)
					require.NoError(t, b.e.Unregister(x, inside))
					b.e.Optimizer.WaitOptimizer(x)
					require.Equal(t, "jump", b.standing(t, x, crowded, 1))
				})
			}
		},
	},
	{
		rule: "4.4", says: "not while it is disabled; a jump that was to go stays when it is enabled again",
		needs:   withJumps,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "cancel-lost", row: "cancel-lost"}},
		holds: func(t *specT) {
			t.alone([]code{crowded}, func(b *bench, x *smp.Ctx) {
				hits := 0
				k := b.at(crowded.at, &hits)
				require.NoError(t, b.e.Register(x, k))
				b.e.Optimizer.WaitOptimizer(x)
				require.NoError(t, b.e.Disable(x, k))
				require.Equal(t, "jump", b.standing(t, x, crowded, 0)) // queued
				twice(t, x)
				require.Zero(t, hits)
				require.NoError(t, b.e.Enable(x, k))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, "jump", b.standing(t, x, crowded, 0))
				require.NoError(t, b.e.Disable(x, k))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, "text", b.standing(t, x, crowded, 0))
			})
		},
	},
	{
		rule: "4.4", says: "handlers of disabled probes don't run behind a jump that is to go, nor inside a handler",
		needs: withJumps,
		in:    since(rules.Edition415),
		mutants: []specMutant{
			{name: "detour-disabled", row: "detour-disabled"},
			{name: "detour-nested", row: "detour-nested"},
		},
		holds: func(t *specT) {
			t.alone([]code{crowded, victim}, func(b *bench, x *smp.Ctx) {
				hits, inner := 0, 0
				k := &Kprobe{Addr: crowded.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
					hits++
					was := *x.Regs()
					x.Call(victim.at)
					*x.Regs() = was
					return 0
				}}
				require.NoError(t, b.e.Register(x, k))
				nested := b.at(victim.at, &inner)
				require.NoError(t, b.e.Register(x, nested))
				b.e.Optimizer.WaitOptimizer(x)
				twice(t, x)
				require.Equal(t, []int{1, 0, 1}, []int{hits, inner, nested.Missed()})
				require.NoError(t, b.e.Disable(x, k))
				twice(t, x)
				require.Equal(t, 1, hits)
			})
		},
	},
	{
		rule: "4.5", says: "a hit while it is queued steps nothing", in: since(rules.Edition415),
		needs: withJumps,
		mutants: []specMutant{{
			name: "step-queued", row: "optimized-late", on: onX86,
			in: every[1:5],
		}, { // built without preemption what would be stepped is boosted
			name: "step-queued, boosting nothing", row: "optimized-late", do: func(s *Settings) {
				s.Boost = era.BoostNever
			},
			in: []rules.Edition{rules.EditionDocumented},
		}},
		holds: func(t *specT) {
			b := t.jumping([]code{crowded}, func(b *bench, x *smp.Ctx) {
				hits := 0
				require.NoError(t, b.e.Register(x, b.at(crowded.at, &hits)))
				b.log.Store = true
				twice(t, x)
				b.log.Store = false
				require.Equal(t, 1, hits)
				require.Len(t, b.e.Optimizer.optimizingList.Peek(), 1)
			})
			t.pass(b)
			traps := 0
			for _, e := range b.log.Events {
				if e.Kind == smpev.Trap {
					traps++
				}
			}
			require.Equal(t, 1, traps)
		},
	},
	{
		rule: "4.6", says: "it waits as its edition does, then it writes", in: since(rules.Edition415),
		needs: withJumps,
		mutants: []specMutant{
			{name: "no-quiesce", row: "no-quiesce"},
			{name: "rcu-for-tasks", do: func(s *Settings) { s.Quiesce = kapi.QuiesceRCU }, in: every[1:5]},
			{name: "sched", do: func(s *Settings) { s.Quiesce = kapi.QuiesceSched }},
		},
		holds: func(t *specT) {
			want := kapi.QuiesceTasks
			if t.Edition == rules.EditionDocumented {
				want = kapi.QuiesceRCU
			}
			var g *graces
			o := new(order)
			b := t.jumping([]code{crowded}, func(b *bench, x *smp.Ctx) {
				hits := 0
				require.NoError(t, b.e.Register(x, b.at(crowded.at, &hits)))
				o.kinds = o.kinds[:0]
				b.e.Optimizer.WaitOptimizer(x)
			}, func(*bench, *smp.Ctx) {})
			b.log.Subscribe(o, smpev.GPStart, smpev.GPEnd, smpev.Image, smpev.StopStart, kpev.Optimized)
			wire := b.wire
			b.wire = func(k *kernel.Kernel, d *Deps) {
				wire(k, d)
				g = &graces{RCU: d.RCU}
				d.RCU = g
			}
			t.pass(b)
			require.Equal(t, 1, g.n[want])
			image := slices.Index(o.kinds, traces.Kind(smpev.Image))
			require.Positive(t, image)
			require.NotContains(t, o.kinds[:image], traces.Kind(smpev.StopStart))
			require.NotContains(t, o.kinds[image:], traces.Kind(smpev.GPStart))
			stops := slices.Contains(o.kinds[image:], traces.Kind(smpev.StopStart))
			require.Equal(t, t.Edition == rules.EditionDocumented, stops)
		},
	},
	{
		rule: "4.7", says: "who stands behind the first instruction doesn't come back into a jump",
		x86:     ofRegions,
		in:      since(rules.Edition415),
		mutants: noWait,
		holds: func(t *specT) {
			t.schedules([]code{crowded}, func(b *bench, x *smp.Ctx) {
				hits := 0
				for _, off := range []arch.Addr{0, 5, 10} {
					require.NoError(t, b.e.Register(x, b.at(crowded.at+off, &hits)))
					b.e.Optimizer.WaitOptimizer(x)
				}
			}, func(b *bench, x *smp.Ctx) {
				for range 8 {
					twice(t, x)
					x.Sleep(kapi.Yield)
				}
			})
		},
	},
	{
		rule: "4.8", says: "before it is done it is dequeued; after that the original code comes back",
		x86:     ofRegions,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "saved-at-prepare", row: "saved-at-prepare"}},
		holds: func(t *specT) {
			t.alone([]code{crowded}, func(b *bench, x *smp.Ctx) {
				hits := 0
				k := b.at(crowded.at, &hits)
				inside := b.at(crowded.at+4, &hits)
				inside.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}
				require.NoError(t, b.e.Register(x, inside))
				require.NoError(t, b.e.Register(x, k)) // its region holds a breakpoint now
				require.NoError(t, b.e.Unregister(x, inside))
				require.Len(t, b.e.Optimizer.optimizingList.Peek(), 1)
				require.NoError(t, b.e.Disable(x, k))
				require.Empty(t, b.e.Optimizer.optimizingList.Peek())
				require.Equal(t, "text", b.standing(t, x, crowded, 0))

				require.NoError(t, b.e.Enable(x, k))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, "jump", b.standing(t, x, crowded, 0))
				require.NoError(t, b.e.Register(x, inside)) // it gives way at once
				require.Equal(t, isInt3, stands(b.textOf(x, crowded)[0:], crowded.bytes[0:]))
				require.Equal(t, crowded.bytes[1:4], b.textOf(x, crowded)[1:4])
				require.NoError(t, b.e.Unregister(x, inside))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, "jump", b.standing(t, x, crowded, 0))
				require.NoError(t, b.e.Unregister(x, k))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, "text", b.standing(t, x, crowded, 0))
			})
		},
	},
	{
		rule: "4.8", says: "who meets the breakpoint before the tail is back goes by the detour",
		x86: ofRegions,
		in:  since(rules.Edition415),
		mutants: []specMutant{{
			name: "flag-early", row: "flag-early",
			// elsewhere the patcher owns that breakpoint
			in: []rules.Edition{rules.Edition514, rules.Edition65, rules.Edition69},
		}, {name: "no-quiesce", row: "no-quiesce"}},
		holds: func(t *specT) {
			t.schedules([]code{crowded}, func(b *bench, x *smp.Ctx) {
				hits := 0
				for range 2 {
					k := b.at(crowded.at, &hits)
					require.NoError(t, b.e.Register(x, k))
					b.e.Optimizer.WaitOptimizer(x)
					require.NoError(t, b.e.Unregister(x, k))
					b.e.Optimizer.WaitOptimizer(x)
				}
			}, func(b *bench, x *smp.Ctx) {
				for range 6 {
					twice(t, x)
					x.Sleep(kapi.Yield)
				}
			})
		},
	},
	{
		rule: "4.9", says: "a post_handler at an optimized point makes it a breakpoint", in: since(rules.Edition415),
		needs:   withJumps,
		mutants: []specMutant{{name: "optimize-post", row: "optimize-post"}},
		holds: func(t *specT) {
			t.alone([]code{crowded}, func(b *bench, x *smp.Ctx) {
				hits, posts := 0, 0
				require.NoError(t, b.e.Register(x, b.at(crowded.at, &hits)))
				b.e.Optimizer.WaitOptimizer(x)
				post := &Kprobe{Addr: crowded.at, Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }}
				require.NoError(t, b.e.Register(x, post))
				require.Equal(t, "int3", b.standing(t, x, crowded, 0))
				b.e.Optimizer.WaitOptimizer(x)
				twice(t, x)
				require.Equal(t, []int{1, 1}, []int{hits, posts})
			})
		},
	},
	{
		rule: "4.10", says: "of a pre_handler a change of ip and the return value are ignored, changes of registers hold", in: since(rules.Edition415),
		needs: withJumps,
		mutants: []specMutant{
			{name: "detour-path", row: "detour-path", on: onX86},
			{name: "detour-stops", row: "detour-stops"},
		},
		holds: func(t *specT) {
			t.alone([]code{crowded, victim}, func(b *bench, x *smp.Ctx) {
				hits := 0
				require.NoError(t, b.e.Register(x, b.at(crowded.at, &hits)))
				elsewhere := &Kprobe{Addr: crowded.at, Pre: func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int {
					regs.R[arg0]++
					regs.IP = victim.at
					return 1
				}}
				require.NoError(t, b.e.Register(x, elsewhere))
				require.Equal(t, uint64(11), callWith(x, crowded.at, 7)) // a breakpoint still: victim, of 8
				require.Zero(t, hits)
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, "jump", b.standing(t, x, crowded, 0))
				require.Equal(t, uint64(17), callWith(x, crowded.at, 7))
				require.Equal(t, 1, hits)
				b.e.Files.SetOptimization(x, false) // the old behaviour is back
				require.Equal(t, uint64(11), callWith(x, crowded.at, 7))
				require.Equal(t, 1, hits)
			})
		},
	},
	{
		rule: "4.11", says: "in place of the wait all stacks are looked at while the machine is stopped",
		x86: ofRegions,
		in:  since(rules.Edition415),
		mutants: append(slices.Clone(noWait), specMutant{
			name: "stack-regions", row: "stack-regions",
			in: every[1:5], // without preemption no task is stopped in a detour
		}),
		holds: func(t *specT) {
			t.Settings.Quiesce = kapi.QuiesceStackCheck
			t.schedules([]code{crowded}, func(b *bench, x *smp.Ctx) {
				hits := 0
				first := b.at(crowded.at+1, &hits)
				require.NoError(t, b.e.Register(x, first))
				b.e.Optimizer.WaitOptimizer(x)
				require.NoError(t, b.e.Disable(x, first))
				require.NoError(t, b.e.Register(x, b.at(crowded.at+5, &hits)))
				b.e.Optimizer.WaitOptimizer(x)
			}, func(b *bench, x *smp.Ctx) {
				for range 4 {
					twice(t, x)
					x.Sleep(kapi.Yield)
				}
			})
		},
	},
}
