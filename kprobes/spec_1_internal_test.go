package kprobes

import (
	"bytes"

	"github.com/stretchr/testify/require"

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

// brokenTraps is the notifier chain with something wrong around the engine's
// handler of breakpoints.
type brokenTraps struct {
	kapi.Traps
	around func(x kapi.Context, h func() uint64) uint64
}

func (b brokenTraps) OnBreakpoint(h kapi.TrapHandler) {
	b.Traps.OnBreakpoint(func(x kapi.Context, regs *arch.Regs) uint64 {
		return b.around(x, func() uint64 { return h(x, regs) })
	})
}

// around is a wire function that does something around each breakpoint.
func around(f func(d *Deps, x kapi.Context, h func() uint64) uint64) func(k *kernel.Kernel, d *Deps) {
	return func(_ *kernel.Kernel, d *Deps) {
		d.Traps = brokenTraps{d.Traps, func(x kapi.Context, h func() uint64) uint64 { return f(d, x, h) }}
	}
}

// oneLock lets one CPU at a time handle a breakpoint.
func oneLock(_ *kernel.Kernel, d *Deps) {
	lock := d.Locks.NewSpinlock("handlers", false)
	d.Traps = brokenTraps{d.Traps, func(x kapi.Context, h func() uint64) uint64 {
		lock.Lock(x)
		owner := h()
		lock.Unlock(x)
		return owner
	}}
}

// noPoke is text in which nothing can be written while it is live, or, where that is how probes are written, while the
// machine is stopped.
type noPoke struct{ kapi.Text }

func (noPoke) Poke(kapi.Context, arch.Addr, []byte) {}

// Write implements kapi.Text.
func (p noPoke) Write(x kapi.Context, addr arch.Addr, b []byte) {
	if row32.BreakpointFirst || addr-textBase >= 0x1000 { // slots are elsewhere
		p.Text.Write(x, addr, b)
	}
}

// notes is a probe that notes its number when its pre_handler runs, and its
// negative when its post_handler does, and returns ret from the first.
func notes(to *[]int, n int, at arch.Addr, ret int) *Kprobe {
	return &Kprobe{
		ID: uint64(n), Addr: at,
		Pre: func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int {
			*to = append(*to, n)
			if ret != 0 {
				regs.IP = other.at
			}
			return ret
		},
		Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) { *to = append(*to, -n) },
	}
}

// spec1 is of section 1 of the specification what isn't the step.
var spec1 = []specRule{
	{
		rule: "1.1", says: "a breakpoint over the first byte, the rest as it was",
		mutants: []specMutant{{name: "no-poke", wire: func(_ *kernel.Kernel, d *Deps) { d.Text = noPoke{d.Text} }}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				for n := range 3 {
					k := &Kprobe{Addr: victim.insn(n)}
					require.NoError(t, b.e.Register(x, k))
					want := bytes.Clone(victim.bytes)
					copy(want[k.Addr-victim.at:], row32.Breakpoint)
					require.Equal(t, want, b.textOf(x, victim))
					x.Regs().R[arg0] = 5
					require.Equal(t, uint64(8), x.Call(victim.at))
					require.NoError(t, b.e.Unregister(x, k))
				}
			})
		},
	},
	{
		rule: "1.2", says: "pre_handler sees the address and one",
		mutants: []specMutant{{name: "pre-ip", row: "pre-ip", on: onX86}},
		holds: func(t *specT) {
			var ip []uint64
			b := t.bench([]code{victim}, func(b *bench, x *smp.Ctx) {
				k := &Kprobe{Addr: victim.at, Pre: func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int {
					ip = append(ip, uint64(regs.IP))
					return 0
				}}
				require.NoError(t, b.e.Register(x, k))
				x.Call(victim.at)
			})
			t.pass(b)
			require.Equal(t, []uint64{uint64(victim.at + row32.Past)}, ip)
		},
	},
	{
		rule: "1.8", says: "the last registered runs first, before and after",
		mutants: []specMutant{{name: "oldest-first", row: "oldest-first"}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				var got []int
				for n := 1; n <= 3; n++ {
					require.NoError(t, b.e.Register(x, notes(&got, n, victim.at, 0)))
				}
				x.Call(victim.at)
				require.Equal(t, []int{3, 2, 1, -3, -2, -1}, got)
			})
		},
	},
	{
		rule: "1.8", says: "one that returns non-zero ends it, and no post_handler runs",
		mutants: []specMutant{{name: "ignore-pre", row: "path-ignored"}},
		holds: func(t *specT) {
			t.run([]code{victim, other}, func(b *bench, x *smp.Ctx) {
				var got []int
				for n := 1; n <= 3; n++ {
					ret := 0
					if n == 2 {
						ret = 1
					}
					require.NoError(t, b.e.Register(x, notes(&got, n, victim.at, ret)))
				}
				require.Equal(t, uint64(2), x.Call(victim.at))
				require.Equal(t, []int{3, 2}, got)
			})
		},
	},
	{
		rule: "1.8", says: "a disabled one is left out", in: since(rules.Edition415),
		mutants: []specMutant{{name: "run-disabled", row: "run-disabled"}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				var got []int
				var ks []*Kprobe
				for n := 1; n <= 3; n++ {
					ks = append(ks, notes(&got, n, victim.at, 0))
					require.NoError(t, b.e.Register(x, ks[n-1]))
				}
				require.NoError(t, b.e.Disable(x, ks[1]))
				x.Call(victim.at)
				require.Equal(t, []int{3, 1, -3, -1}, got)
			})
		},
	},
	{
		rule: "1.9", says: "two CPUs are in one probe's handler at a time",
		mutants: []specMutant{{name: "one-lock", wire: oneLock}},
		holds: func(t *specT) {
			var ready, in kapi.Var[int]
			both := kapi.Is[int]{Var: &in, Want: 2}
			t.pass(t.boot([]code{victim}, func(b *bench) {
				ready.Init(&b.m.Cells, 0)
				in.Init(&b.m.Cells, 0)
			}, func(b *bench, x *smp.Ctx) {
				require.NoError(t,
					b.e.Register(x, &Kprobe{Addr: victim.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
						kapi.Add(&in, x, kapi.Once, 1)
						x.Spin(&both)
						return 0
					}}))
				ready.WriteOnce(x, 1)
				x.Call(victim.at)
			}, func(_ *bench, x *smp.Ctx) {
				x.Sleep(&kapi.Is[int]{Var: &ready, Want: 1})
				x.Call(victim.at)
			}))
		},
	},
	{
		rule: "1.10", says: "a breakpoint's handlers run with preemption and interrupts off",
		mutants: []specMutant{{name: "irqs-on", wire: around(func(_ *Deps, x kapi.Context, h func() uint64) uint64 {
			x.IRQ(true)
			owner := h()
			x.IRQ(false)
			return owner
		})}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				looks := 0
				look := func(x kapi.Context) {
					looks++
					require.True(t, x.(*smp.Ctx).Atomic())
					require.False(t, x.(*smp.Ctx).Open())
				}
				require.NoError(t, b.e.Register(x, &Kprobe{
					Addr: victim.at,
					Pre:  func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { look(x); return 0 },
					Post: func(x kapi.Context, _ *Kprobe, _ *arch.Regs, _ uint64) { look(x) },
				}))
				x.Call(victim.at)
				require.Equal(t, 2, looks)
			})
		},
	},
	{
		rule: "1.10", says: "a detour's handlers run with preemption off and interrupts as they were",
		needs: withJumps,
		in: []rules.Edition{rules.Edition415, rules.Edition514, rules.Edition65, rules.Edition69,
			rules.EditionDocumented},
		mutants: []specMutant{{name: "irqs-off", do: func(s *Settings) { s.DetourIRQsOff = true }}},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				looks := 0
				require.NoError(t,
					b.e.Register(x, &Kprobe{Addr: victim.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
						looks++
						require.True(t, x.(*smp.Ctx).Atomic())
						require.True(t, x.(*smp.Ctx).Open())
						return 0
					}}))
				b.e.Optimizer.WaitOptimizer(x)
				require.True(t, b.e.Table.aggrs[0].jumped)
				x.Call(victim.at)
				require.Equal(t, 1, looks)
			})
		},
	},
	{
		rule: "1.11", says: "what is missed counts for each probe at the address, disabled ones too",
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "missed-enabled", row: "missed-enabled"}},
		holds: func(t *specT) {
			t.run([]code{victim, other}, func(b *bench, x *smp.Ctx) {
				hits := 0
				count := func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 }
				p, q := &Kprobe{Addr: victim.at, Pre: count},
					&Kprobe{ID: 1, Addr: victim.at, Pre: count, Flags: FlagDisabled}
				outer := &Kprobe{ID: 2, Addr: other.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
					x.Call(victim.at)
					return 0
				}}
				for _, k := range []*Kprobe{p, q, outer} {
					require.NoError(t, b.e.Register(x, k))
				}
				for n := 1; n <= 2; n++ { // by a breakpoint, and by a detour
					x.Call(other.at)
					require.Equal(t, []int{0, n, n, 0}, []int{hits, p.Missed(), q.Missed(), outer.Missed()})
					b.e.Optimizer.WaitOptimizer(x)
				}
			})
		},
	},
	{
		rule: "1.13", says: "a hit takes no mutex and allocates nothing",
		mutants: []specMutant{
			{name: "alloc", wire: around(func(d *Deps, x kapi.Context, h func() uint64) uint64 {
				d.Exec.Alloc(x, 1, kpev.SlotMem)
				return h()
			})},
			{name: "mutex", wire: around(func(d *Deps, x kapi.Context, h func() uint64) uint64 {
				d.Text.Mutex().Lock(x)
				d.Text.Mutex().Unlock(x)
				return h()
			})},
		},
		holds: func(t *specT) {
			t.run([]code{victim}, func(b *bench, x *smp.Ctx) {
				var got []int
				k := notes(&got, 1, victim.at, 0)
				require.NoError(t, b.e.Register(x, k))
				b.e.Optimizer.WaitOptimizer(x)
				seen := new(lockWatch)
				b.log.Subscribe(seen, smpev.Lock, smpev.Alloc, smpev.MightSleep)
				x.Call(victim.at)
				b.log.Unsubscribe(seen)
				require.Equal(t, []int{1, -1}, got)
				require.Zero(t, seen.n)
				require.NoError(t, b.e.Unregister(x, k))
			})
		},
	},
	{
		rule: "1.14", says: "handlers of interrupts and NMIs can be probed",
		mutants: []specMutant{{name: "tasks-alone", wire: around(func(_ *Deps, x kapi.Context, h func() uint64) uint64 {
			if irq, nmi := x.(*smp.Ctx).Interrupts(); irq || nmi {
				return 0
			}
			return h()
		})}},
		holds: func(t *specT) {
			calls, hits, live := 0, 0, false
			b := t.boot([]code{victim, other}, func(b *bench) {
				for _, kind := range []smp.SourceKind{smp.TimerSource, smp.NMISource} {
					require.NoError(t, b.m.Interrupts().Add(&smp.Source{Kind: kind, Name: "source", AtMost: 3}, 0))
				}
				b.k.OnInterrupt(func(x *smp.Ctx, _ *smp.Source) {
					if live {
						calls++
					}
					x.Call(victim.at)
				}, func(*smp.Source) bool { return false })
			}, func(b *bench, x *smp.Ctx) {
				k := &Kprobe{Addr: victim.at, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int {
					if live {
						hits++
					}
					return 0
				}}
				require.NoError(t, b.e.Register(x, k))
				live = true
				for range 10 {
					x.Call(other.at)
				}
				live = false
				require.Equal(t, calls, hits+k.Missed())
				require.NoError(t, b.e.Unregister(x, k))
			})
			random := sched.NewRandom(sched.Params{Seed: 5, Length: 400})
			all := 0
			for i := range uint64(30) {
				calls, hits, live = 0, 0, false
				random.Begin(i)
				require.Equal(t, smp.Passed, b.run(random), "%v", b.m.Refusal())
				all += hits
			}
			require.NotZero(t, all)
		},
	},
	{
		rule: "1.14", says: "a copy of the function elsewhere isn't probed",
		none: "no code looks for copies",
		holds: func(t *specT) {
			inlined := code{name: "inlined", at: victim.at + 0x200, bytes: victim.bytes}
			t.run([]code{victim, inlined}, func(b *bench, x *smp.Ctx) {
				var got []int
				require.NoError(t, b.e.Register(x, notes(&got, 1, victim.at, 0)))
				x.Call(inlined.at)
				require.Empty(t, got)
				x.Call(victim.at)
				require.Equal(t, []int{1, -1}, got)
			})
		},
	},
}

// lockWatch counts mutexes taken, what is allocated and what may sleep.
type lockWatch struct{ n int }

func (w *lockWatch) Event(e *traces.Event) *traces.Finding {
	if e.Kind != smpev.Lock || e.B == 0 {
		w.n++
	}
	return nil
}
