package kprobes

import (
	"slices"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// swapEdition makes the errnos those of other kernels.
var swapEdition = []specMutant{{name: "other-edition", do: func(s *Settings) {
	if s.Kernel.Edition == rules.Edition26.Rules() {
		s.Kernel.Edition = rules.Edition69.Rules()
	} else {
		s.Kernel.Edition = rules.Edition26.Rules()
	}
}}}

// textOf is what stands at a function.
func (b *bench) textOf(x *smp.Ctx, f code) []byte {
	now := make([]byte, len(f.bytes))
	b.k.Text.Read(x, f.at, now)
	return now
}

// settle lets the optimizer do what it was woken for, and no more.
func (b *bench) settle(x *smp.Ctx) {
	b.e.Optimizer.optimizingWork.Flush(x)
	b.e.Optimizer.optimizingWork.Flush(x)
}

// graces counts the waits for grace periods, by flavour.
type graces struct {
	kapi.RCU
	n [kapi.QuiesceStackCheck + 1]int
}

func (g *graces) Synchronize(x kapi.Context, f kapi.Flavour) {
	g.n[f]++
	g.RCU.Synchronize(x, f)
}

// three are probes on victim and other with post_handlers, so that none is queued.
func three() []*Kprobe {
	post := func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}
	return []*Kprobe{
		{ID: 1, Addr: victim.at, Post: post}, {ID: 2, Addr: other.at, Post: post}, {ID: 3, Addr: victim.at, Post: post},
	}
}

// spec6 is section 6: the API.
var spec6 = []specRule{
	{
		rule: "6.1", says: "a symbol with an offset, or an address; both or neither is EINVAL",
		mutants: []specMutant{{name: "symbol-first", row: "symbol-first"}},
		holds: func(t *specT) {
			second := int(victim.insn(1) - victim.at)
			t.run([]code{victim, other}, func(b *bench, x *smp.Ctx) {
				for _, k := range []*Kprobe{{Symbol: "victim", Offset: second}, {Addr: victim.insn(1)},
					{Addr: victim.at, Offset: second}} {
					require.NoError(t, b.e.Register(x, k))
					require.Equal(t, victim.insn(1), k.Addr)
					require.NoError(t, b.e.Unregister(x, k))
				}
				for _, k := range []*Kprobe{{}, {Offset: 4}, {Symbol: "victim", Addr: victim.at},
					{Symbol: "victim", Addr: other.at}} {
					require.Equal(t, EINVAL, b.e.Register(x, k))
				}
			})
		},
	},
	{
		rule: "6.1", says: "what has no symbol",
		mutants: swapEdition,
		holds: func(t *specT) {
			unknown := ENOENT
			if t.Edition == rules.Edition26 {
				unknown = EINVAL
			}
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				require.Equal(t, unknown, b.e.Register(x, &Kprobe{Symbol: "nobody"}))
				require.Equal(t, unknown, b.e.Register(x, &Kprobe{Symbol: "nobody", Offset: 4}))
			})
		},
	},
	{
		rule: "6.1", says: "nmissed begins at 0, the address is filled in",
		mutants: []specMutant{{name: "keep-missed", row: "keep-missed"}},
		holds: func(t *specT) {
			t.run([]code{victim, other}, func(b *bench, x *smp.Ctx) {
				k := &Kprobe{Symbol: "victim"}
				outer := &Kprobe{ID: 1, Addr: other.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { x.Call(victim.at); return 0 }}
				require.NoError(t, b.e.Register(x, outer))
				for range 2 {
					require.NoError(t, b.e.Register(x, k))
					require.Equal(t, victim.at, k.Addr)
					require.Zero(t, k.Missed())
					x.Call(other.at)
					require.Equal(t, 1, k.Missed())
					require.NoError(t, b.e.Unregister(x, k))
					k.Addr = 0
				}
			})
		},
	},
	{
		rule: "6.1", says: "registered already",
		mutants: []specMutant{{name: "take-twice", row: "take-twice"}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				hits := 0
				k := &Kprobe{Addr: victim.at, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 }}
				require.NoError(t, b.e.Register(x, k))
				require.Equal(t, EINVAL, b.e.Register(x, k))
				x.Call(victim.at)
				require.Equal(t, 1, hits)
			})
		},
	},
	{
		rule: "6.2", says: "a byte that begins no instruction",
		mutants: []specMutant{{name: "other-way", on: onParcels, do: func(s *Settings) { s.AnyByte = !s.AnyByte }}},
		holds: func(t *specT) {
			begins := []arch.Addr{victim.at, victim.insn(1), victim.insn(2)}
			inside := EILSEQ
			if row32.Align == 4 {
				inside = EINVAL // arm64's and powerpc's arch_prepare_kprobe look at the address alone
			}
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				for off := range victim.bytes {
					k := &Kprobe{Addr: victim.at + arch.Addr(off)}
					err := b.e.Register(x, k)
					if slices.Contains(begins, k.Addr) || t.Edition == rules.Edition26 {
						require.NoError(t, err, "+%d", off)
						require.NoError(t, b.e.Unregister(x, k))
					} else {
						require.Equal(t, inside, err, "+%d", off)
					}
				}
			})
		},
	},
	{
		rule: "6.3", says: "registered disabled it is silent, and its breakpoint isn't there, until it is enabled",
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "arm-disabled", row: "arm-disabled"}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				hits := 0
				k := &Kprobe{Addr: victim.at, Flags: FlagDisabled, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 }}
				require.NoError(t, b.e.Register(x, k))
				require.Equal(t, victim.bytes, b.textOf(x, victim))
				x.Call(victim.at)
				require.Zero(t, hits)
				require.NoError(t, b.e.Enable(x, k))
				x.Call(victim.at)
				require.Equal(t, 1, hits)
			})
		},
	},
	{
		rule: "6.3", says: "other flags of the caller are dropped", in: since(rules.Edition415),
		mutants: []specMutant{{name: "keep-flags", row: "keep-flags"}},
		holds: func(t *specT) {
			t.run([]code{victim, outer}, func(b *bench, x *smp.Ctx) {
				k := &Kprobe{Addr: outer.returns(0), Flags: ^Flags(0)}
				require.NoError(t, b.e.Register(x, k))
				require.Equal(t, []Flags{FlagDisabled, FlagDisabled}, []Flags{k.Flags, b.e.FlagsOf(k)})
			})
		},
	},
	{
		rule: "6.4", says: "an array: those before a bad one are unregistered, those after it aren't tried",
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "no-rollback", row: "no-rollback"}},
		holds: func(t *specT) {
			t.run([]code{victim, other}, func(b *bench, x *smp.Ctx) {
				require.Equal(t, EINVAL, b.e.RegisterAll(x, nil))
				ks := append(three(), &Kprobe{ID: 4, Symbol: "nobody"}, &Kprobe{ID: 5, Addr: other.at})
				require.Equal(t, ENOENT, b.e.RegisterAll(x, ks))
				b.e.Optimizer.WaitOptimizer(x)
				require.Zero(t, b.e.Table.probes.Len())
				require.Equal(t, victim.bytes, b.textOf(x, victim))
				require.Nil(t, ks[4].aggr)
				require.NoError(t, b.e.RegisterAll(x, ks[:3]), "it is all as before")
			})
		},
	},
	{
		rule: "6.4", says: "an array is unregistered with one grace period", in: since(rules.Edition415),
		mutants: []specMutant{{name: "grace-each", row: "grace-each"}},
		holds: func(t *specT) {
			var g graces
			b := t.bench([]code{victim, other}, func(b *bench, x *smp.Ctx) {
				ks := three()
				require.NoError(t, b.e.RegisterAll(x, ks))
				before := g.n
				require.NoError(t, b.e.UnregisterAll(x, ks))
				require.Equal(t, 1, g.n[kapi.QuiesceRCU]-before[kapi.QuiesceRCU])
				require.LessOrEqual(t, g.n[kapi.QuiesceTasks]-before[kapi.QuiesceTasks], 1, "for their detours")
				for _, p := range b.e.Table.aggrs {
					require.True(t, p.freed)
				}
				require.Zero(t, b.e.Table.probes.Len())
			})
			b.wire = func(_ *kernel.Kernel, d *Deps) {
				g.RCU = d.RCU
				d.RCU = &g
			}
			t.pass(b)
		},
	},
	{
		rule: "6.5", says: "what isn't registered has its address cleared, and the others go",
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "keep-addr", row: "keep-addr"}},
		holds: func(t *specT) {
			t.run([]code{victim, other}, func(b *bench, x *smp.Ctx) {
				ks := three()
				require.NoError(t, b.e.Register(x, ks[0]))
				require.NoError(t, b.e.Register(x, ks[2]))
				_ = b.e.UnregisterAll(x, ks)
				require.Equal(t, []arch.Addr{victim.at, 0, victim.at}, []arch.Addr{ks[0].Addr, ks[1].Addr, ks[2].Addr})
				require.Zero(t, b.e.Table.probes.Len())
				require.Equal(t, victim.bytes, b.textOf(x, victim))
			})
		},
	},
	{
		rule: "6.5", says: "at any time after registration, and what isn't registered is left alone",
		in:      []rules.Edition{rules.Edition26},
		mutants: []specMutant{{name: "later-edition", do: func(s *Settings) { s.Batches = true }}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				k := &Kprobe{Addr: victim.at}
				_ = b.e.Unregister(x, k)
				require.Equal(t, victim.at, k.Addr)
				require.NoError(t, b.e.Register(x, k))
				require.NoError(t, b.e.Unregister(x, k))
				require.Equal(t, victim.bytes, b.textOf(x, victim))
			})
		},
	},
	{
		rule: "6.6", says: "what isn't registered can't be disabled or enabled", in: since(rules.Edition415),
		mutants: []specMutant{{name: "toggle-any", row: "toggle-any"}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				k := &Kprobe{Addr: victim.at}
				for range 2 {
					require.Equal(t, EINVAL, b.e.Disable(x, k))
					require.Equal(t, EINVAL, b.e.Enable(x, k))
					require.NoError(t, b.e.Register(x, k))
					require.NoError(t, b.e.Unregister(x, k))
				}
			})
		},
	},
	{
		rule: "6.6", says: "both can be done twice", in: since(rules.Edition415),
		mutants: []specMutant{{name: "toggle-once", row: "toggle-once"}, {name: "no-restore", row: "no-restore"}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				hits := 0
				k := &Kprobe{Addr: victim.at, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 }}
				require.NoError(t, b.e.Register(x, k))
				for n := 1; n <= 2; n++ {
					require.NoError(t, b.e.Disable(x, k))
					require.NoError(t, b.e.Disable(x, k))
					b.e.Optimizer.WaitOptimizer(x)
					require.Equal(t, victim.bytes, b.textOf(x, victim))
					x.Call(victim.at)
					require.Equal(t, n-1, hits)
					require.NoError(t, b.e.Enable(x, k))
					require.NoError(t, b.e.Enable(x, k))
					x.Call(victim.at)
					require.Equal(t, n, hits)
				}
			})
		},
	},
	{
		rule: "6.7", says: "it returns when a handler in flight has ended, and what it was of is its owner's",
		mutants: []specMutant{{name: "no-grace", row: "no-grace"}},
		holds: func(t *specT) {
			var stage kapi.Var[int]
			t.pass(t.boot([]code{victim}, func(b *bench) { stage.Init(&b.m.Cells, 0) }, func(b *bench, x *smp.Ctx) {
				done := false
				k := &Kprobe{Addr: victim.at, Pre: func(x kapi.Context, k *Kprobe, _ *arch.Regs) int {
					stage.WriteOnce(x, 2)
					x.Spin(&kapi.Is[int]{Var: &stage, Want: 3})
					for i := range 200 {
						x.Step("in the handler", i)
					}
					done = true
					return 0
				}}
				// Another stays, so that nothing is disarmed: that would wait for the handler, too.
				require.NoError(t, b.e.Register(x, &Kprobe{ID: 1, Addr: victim.at}))
				require.NoError(t, b.e.Register(x, k))
				stage.WriteOnce(x, 1)
				x.Sleep(&kapi.Is[int]{Var: &stage, Want: 2})
				stage.WriteOnce(x, 3)
				require.NoError(t, b.e.Unregister(x, k))
				require.True(t, done)
				*k = Kprobe{Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { t.Fatalf("a handler runs"); return 0 }}
				x.Call(victim.at)
			}, func(_ *bench, x *smp.Ctx) {
				x.Sleep(&kapi.Is[int]{Var: &stage, Want: 1})
				x.Call(victim.at)
				x.Call(victim.at)
			}))
		},
	},
	{
		rule: "6.7", says: "a breakpoint's text is restored by then",
		mutants: []specMutant{{name: "no-restore", row: "no-restore"}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				k := &Kprobe{Addr: victim.at}
				require.NoError(t, b.e.Register(x, k))
				require.NotEqual(t, victim.bytes, b.textOf(x, victim))
				require.NoError(t, b.e.Unregister(x, k))
				require.Equal(t, victim.bytes, b.textOf(x, victim))
			})
		},
	},
	{
		rule: "6.7", says: "a jump goes with the optimizer, and runs no handler until then",
		needs:   withJumps,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "lost-kick", row: "lost-kick"}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				hits := 0
				k := &Kprobe{Addr: victim.at, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 }}
				require.NoError(t, b.e.Register(x, k))
				b.settle(x)
				require.True(t, b.e.Table.aggrs[0].jumped)
				require.NoError(t, b.e.Unregister(x, k))
				require.True(t, b.e.Table.aggrs[0].jumped)
				x.Call(victim.at)
				require.Zero(t, hits)
				b.settle(x)
				require.True(t, b.e.Optimizer.Settled())
				require.Zero(t, b.e.Table.probes.Len())
				require.Equal(t, victim.bytes, b.textOf(x, victim))
			})
		},
	},
	{
		rule: "6.7", says: "nothing stays where a disabled probe has joined what was on its way out",
		needs:   withJumps,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "reuse-disabled", row: "reuse-disabled"}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				k, late := &Kprobe{Addr: victim.at}, &Kprobe{ID: 1, Addr: victim.at, Flags: FlagDisabled}
				require.NoError(t, b.e.Register(x, k))
				b.settle(x)
				require.NoError(t, b.e.Unregister(x, k))
				require.True(t, b.e.Table.aggrs[0].jumped && b.e.Table.aggrs[0].Unused())
				require.NoError(t, b.e.Register(x, late))
				require.Equal(t, b.e.Table.aggrs[0], late.aggr)
				require.NoError(t, b.e.Unregister(x, late))
				b.settle(x)
				require.True(t, b.e.Optimizer.Settled())
				require.Zero(t, b.e.Table.probes.Len())
				require.Equal(t, victim.bytes, b.textOf(x, victim))
			})
		},
	},
	{
		rule: "7.2", says: "what is enabled while all is disarmed is enabled", in: since(rules.Edition415),
		mutants: []specMutant{{name: "enable-lost", row: "enable-lost"}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				hits := 0
				k := &Kprobe{Addr: victim.at, Flags: FlagDisabled, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 }}
				require.NoError(t, b.e.Register(x, k))
				b.e.Files.SetArmed(x, false)
				require.NoError(t, b.e.Enable(x, k))
				x.Call(victim.at)
				require.Zero(t, hits)
				b.e.Files.SetArmed(x, true)
				x.Call(victim.at)
				require.Equal(t, 1, hits)
			})
		},
	},
}
