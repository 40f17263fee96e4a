package kprobes

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
)

// TestRepUnboosted: a string instruction that a step doesn't end is never boosted: it
// hits once an iteration for good (spec 1.15, 8.5).
func TestRepUnboosted(t *testing.T) {
	s := settingsOf(rules.Edition415, false)
	s.Kernel.Optprobes = false
	newBench(t, s, []code{repeats}, func(b *bench, x *smp.Ctx) {
		hits := 0
		require.NoError(t, b.e.Register(x, counting(repeats.at+12, &hits)))
		for n := 1; n <= 3; n++ {
			x.Call(repeats.at)
			require.Equal(t, 5*n, hits)
		}
	}).pass(t)
}

// TestBoostElsewhere: what goes elsewhere by itself needs no jump behind it, and is
// boosted once it was stepped; not under CONFIG_PREEMPTION.
func TestBoostElsewhere(t *testing.T) {
	for _, full := range []bool{false, true} {
		s := settingsOf(rules.Edition415, full)
		s.Kernel.Optprobes = false
		c := new(trapped)
		b := newBench(t, s, []code{victim}, func(b *bench, x *smp.Ctx) {
			require.NoError(t, b.e.Register(x, &Kprobe{Addr: victim.at + 7})) // ret
			stepped := trapped{breaks: 1, debugs: 1}
			want := []trapped{stepped, boostedTraps, boostedTraps}
			if full {
				want = []trapped{stepped, stepped, stepped}
			}
			for _, w := range want {
				*c = trapped{}
				require.EqualValues(t, 10, callWith(x, victim.at, 7))
				require.Equal(t, w, *c)
			}
		})
		b.log.Subscribe(c, smpev.Trap)
		b.pass(t)
	}
}

// TestBoostedMeanwhile: a CPU whose first step boosts the slot, and others that come
// to it then.
func TestBoostedMeanwhile(t *testing.T) {
	s := settingsOf(rules.Edition415, false)
	s.Kernel.Optprobes = false
	var ready kapi.Var[int]
	calls := func(_ *bench, x *smp.Ctx) {
		x.Sleep(&kapi.Is[int]{Var: &ready, Want: 1})
		for i := range uint64(3) {
			require.Equal(t, i+3, callWith(x, victim.at, i))
		}
	}
	b := bootBench(t, s, []code{victim}, func(b *bench) { ready.Init(&b.m.Cells, 0) }, func(b *bench, x *smp.Ctx) {
		require.NoError(t, b.e.Register(x, &Kprobe{Addr: victim.at}))
		ready.WriteOnce(x, 1)
		calls(b, x)
	}, calls)
	for _, s := range []sched.Strategy{sched.NewRandom(sched.Params{Seed: 2, Length: 200}), sched.NewSticky(sched.Params{Seed: 2, Mean: 6})} {
		for i := range uint64(150) {
			s.Begin(i)
			require.Equal(t, smp.Passed, b.run(s), "run %d: %v", i, b.m.Refusal())
		}
	}
}

// TestWholeCopy: 2.6 copies 16 bytes, so that what follows mov ss is stepped with it.
func TestWholeCopy(t *testing.T) {
	newBench(t, settingsOf(rules.Edition26, true), []code{watched}, func(b *bench, x *smp.Ctx) {
		require.NoError(t, b.e.Register(x, &Kprobe{Addr: watched.at + 1}))
		var now [16]byte
		b.k.Text.Read(x, b.e.Table.aggrs[0].slot.Peek().at, now[:])
		require.Equal(t, watched.bytes[1:17], now[:])
	}).pass(t)
}

// A farExec hands out memory out of reach, and notes what comes back.
type farExec struct {
	kapi.Exec
	out *int
}

func (f farExec) Alloc(kapi.Context, int, uint64) (arch.Addr, bool) {
	*f.out++
	return 0x10000000, true
}

func (f farExec) Free(kapi.Context, arch.Addr, int, uint64) { *f.out-- }

func (f farExec) Retire(kapi.Context, arch.Addr, int, uint64) { *f.out-- }

// TestOutOfReach: a copy that can't reach what it is relative to, or can't come
// back, is refused, and its memory given back.
func TestOutOfReach(t *testing.T) {
	for _, ed := range rules.AllEditions() {
		for _, full := range []bool{false, true} {
			out := 0
			s := settingsOf(ed, full)
			b := newBench(t, s, []code{calls, victim}, func(b *bench, x *smp.Ctx) {
				require.Equal(t, EINVAL, b.e.Register(x, &Kprobe{Addr: calls.at + 10}), "%v", ed)
				if !full && s.Boost != era.BoostNever {
					require.Equal(t, EINVAL, b.e.Register(x, &Kprobe{Addr: victim.at}), "%v", ed)
				}
				require.Zero(t, out, "%v", ed)
				require.Zero(t, b.e.Table.probes.Len())
			})
			b.wire = func(_ *kernel.Kernel, d *Deps) { d.Exec = farExec{d.Exec, &out} }
			b.pass(t)
		}
	}
}

// TestInt3OfOld: rules of kernels that step by #DB let everything be stepped; where
// the step is by int3 all the same, what that can't do is refused.
func TestInt3OfOld(t *testing.T) {
	s := settingsOf(rules.Edition415, true)
	s.Step = era.StepInt3
	at := textBase + 0x700
	var codes []code
	for i, c := range []struct {
		bytes []byte
		want  error
	}{
		{[]byte{0xff, 0x25, 0, 0, 0, 0}, EOPNOTSUPP}, // jmp *(%rip)
		{[]byte{0xff, 0x15, 0, 0, 0, 0}, EOPNOTSUPP}, // call *(%rip)
		{[]byte{0x48, 0xcf}, EOPNOTSUPP},             // iretq
		{append(slices.Repeat([]byte{0x66}, 14), 0x90), ENOSPC},
		{append(slices.Repeat([]byte{0x66}, 13), 0x90), nil},
		{[]byte{0xff, 0xe0}, nil}, // jmp *%rax, which is emulated
	} {
		codes = append(codes, code{name: string(rune('a' + i)), at: at + arch.Addr(0x40*i), bytes: append(c.bytes, 0xc3)})
		newBench(t, s, codes[i:], func(b *bench, x *smp.Ctx) {
			require.Equal(t, c.want, b.e.Register(x, &Kprobe{Addr: codes[i].at}), "% x", c.bytes)
		}).pass(t)
	}
}

// TestArrayWaits: of an array's points one with a detour that a breakpoint leads to
// already is enough: who was preempted in that is waited for, wherever it stands.
func TestArrayWaits(t *testing.T) {
	for _, swapped := range []bool{false, true} {
		var g graces
		b := newBench(t, repaired, []code{victim, other}, func(b *bench, x *smp.Ctx) {
			ks := []*Kprobe{{ID: 1, Addr: victim.at}, {ID: 2, Addr: other.at}} // the second isn't optimized: it is a jump
			if swapped {
				slices.Reverse(ks)
			}
			require.NoError(t, b.e.RegisterAll(x, ks))
			require.Len(t, b.e.Optimizer.optimizingList.Peek(), 1)
			require.NoError(t, b.e.UnregisterAll(x, ks))
			require.Equal(t, 1, g.n[kapi.QuiesceTasks])
			require.True(t, b.e.Table.aggrs[0].freed && b.e.Table.aggrs[1].freed)
		})
		b.wire = func(_ *kernel.Kernel, d *Deps) {
			g.RCU = d.RCU
			d.RCU = &g
		}
		b.pass(t)
	}
}

// TestDisabledUncounted: a jump to a point of which nothing is enabled any more, from
// inside a handler, is no miss.
func TestDisabledUncounted(t *testing.T) {
	newBench(t, repaired, []code{victim, fits}, func(b *bench, x *smp.Ctx) {
		inner := &Kprobe{Addr: fits.at}
		require.NoError(t, b.e.Register(x, inner))
		b.settle(x)
		require.NoError(t, b.e.Disable(x, inner))
		require.NoError(t, b.e.Register(x, &Kprobe{ID: 1, Addr: victim.at + 3, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
			require.True(t, b.e.Table.aggrs[0].jumped)
			require.EqualValues(t, 10, x.Call(fits.at))
			return 0
		}}))
		require.EqualValues(t, 10, callWith(x, victim.at, 7))
		require.Zero(t, inner.Missed())
	}).pass(t)
}

// TestRemovedBreakpoint: a trap on what is no breakpoint any more is taken for one that
// somebody has removed meanwhile, in a handler, too; where there is the fallback.
func TestRemovedBreakpoint(t *testing.T) {
	for _, on := range []bool{false, true} {
		s := repaired
		s.RemovedInt3 = on
		newBench(t, s, []code{victim, other, broken}, func(b *bench, x *smp.Ctx) {
			looks := func(x kapi.Context) {
				for _, c := range []struct {
					at      arch.Addr
					removed bool
				}{{other.at + 2, true}, {broken.at + 5, false}} {
					r := arch.Regs{IP: c.at + 1}
					owner := b.e.Hits.kprobeInt3Handler(x, &r)
					if c.removed && on {
						require.Equal(t, []uint64{kpev.OwnerRemoved, uint64(c.at)}, []uint64{owner, uint64(r.IP)})
					} else {
						require.Equal(t, []uint64{0, uint64(c.at) + 1}, []uint64{owner, uint64(r.IP)})
					}
				}
			}
			looks(x)
			n := 0
			require.NoError(t, b.e.Register(x, &Kprobe{Addr: victim.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { n++; looks(x); return 0 }}))
			require.EqualValues(t, 10, callWith(x, victim.at, 7))
			require.Equal(t, 1, n)
		}).pass(t)
	}
}

// TestCut: what lies behind a function where there is no memory is nothing, whatever
// was looked at before.
func TestCut(t *testing.T) {
	cut := code{name: "cut", at: textBase + 0x8000 - 2, bytes: []byte{0x90, 0xc3}}
	newBench(t, settingsOf(rules.Edition26, true), []code{watched, cut}, func(b *bench, x *smp.Ctx) {
		require.NoError(t, b.e.Register(x, &Kprobe{Addr: watched.at}))
		require.NoError(t, b.e.Register(x, &Kprobe{ID: 1, Addr: cut.at}))
		var now [16]byte
		b.k.Text.Read(x, b.e.Table.aggrs[1].slot.Peek().at, now[:])
		require.Equal(t, [16]byte{0x90, 0xc3}, now)
	}).pass(t)
}

// TestGoesElsewhere: what goes somewhere else by itself goes there from a copy, too,
// at each hit, with a post_handler or without.
func TestGoesElsewhere(t *testing.T) {
	at := textBase + 0x900
	var codes []code
	for i, b := range [][]byte{
		{0xff, 0xe6}, // jmp *%rsi
		{0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, // jmp *(%rip): to victim
		{0x56, 0xc3},       // push %rsi; ret
		{0x56, 0xc2, 0, 0}, // push %rsi; ret $0
		{0xff, 0xd6, 0xc3}, // call *%rsi; ret
		{0xff, 0x15, 1, 0, 0, 0, 0xc3, 0, 0, 0, 0, 0, 0, 0, 0}, // call *1(%rip); ret
	} {
		if n := len(b) - 8; n > 0 {
			binary.LittleEndian.PutUint64(b[n:], uint64(victim.at))
		}
		codes = append(codes, code{name: string(rune('a' + i)), at: at + arch.Addr(0x40*i), bytes: b})
	}
	for _, ed := range rules.AllEditions() {
		for _, full := range []bool{false, true} {
			s := settingsOf(ed, full)
			s.Kernel.Optprobes = false
			newBench(t, s, append([]code{victim}, codes...), func(b *bench, x *smp.Ctx) {
				for _, f := range codes {
					for off := arch.Addr(0); off < 2; off++ {
						for _, post := range []bool{false, true} {
							k, posts := &Kprobe{Addr: f.at + off}, 0
							if post {
								k.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }
							}
							if off == 1 && f.bytes[0] != 0x56 {
								continue // within an instruction
							}
							if b.e.Register(x, k) != nil {
								require.True(t, ed >= rules.Edition514 && f.bytes[0] == 0xff && f.bytes[1]&0xf == 5, "%v, %s+%d", ed, f.name, off)
								continue
							}
							for n := 1; n <= 3; n++ {
								x.Regs().R[x86.RSI] = uint64(victim.at)
								require.EqualValues(t, 10, callWith(x, f.at, 7), "%v, %s+%d", ed, f.name, off)
								b.idle(t, x)
								if post {
									require.Equal(t, n, posts)
								}
							}
							require.NoError(t, b.e.Unregister(x, k))
						}
					}
				}
			}).pass(t)
		}
	}
}

// TestNewPoint: a point is new, whatever was in its place in the run before.
func TestNewPoint(t *testing.T) {
	newBench(t, repaired, []code{victim}, func(b *bench, x *smp.Ctx) {
		require.NoError(t, b.e.Register(x, &Kprobe{Addr: victim.at}))
		require.NotZero(t, b.e.Table.aggrs[0].detour.size)
		b.e.Optimizer.WaitOptimizer(x)
		points := b.e.Table.aggrs
		was := *points[0]
		b.e.Table.aggrs = points[:0] // as Renew has them
		require.Equal(t, Aggr{id: 1, addr: other.at}, *b.e.Table.newAggr(other.at))
		*points[0], b.e.Table.aggrs = was, points
	}).pass(t)
}

// TestListTrampoline: where the trampoline of return probes is a probe, it is listed
// from boot.
func TestListTrampoline(t *testing.T) {
	for _, ed := range rules.AllEditions() {
		newBench(t, settingsOf(ed, true), []code{victim}, func(b *bench, _ *smp.Ctx) {
			require.Equal(t, ed != rules.Edition26, b.e.Files.HasBlacklist())
			chains := uint64(0)
			for at := victim.at; at < victim.at+1000; at++ {
				chains = max(chains, b.e.Table.chainOf(at)+1)
			}
			require.EqualValues(t, 64, chains)
			list := string(b.e.Table.List(nil))
			if ed != rules.Edition26 {
				require.Empty(t, list)
				return
			}
			require.Equal(t, 1, strings.Count(list, "\n"))
			require.Contains(t, list, fmt.Sprintf("%016x  k  ", b.e.Rethook.trampoline))
		}).pass(t)
	}
}

// TestUnsettled: what waits to be freed isn't settled.
func TestUnsettled(t *testing.T) {
	newBench(t, repaired, []code{victim}, func(b *bench, x *smp.Ctx) {
		k := &Kprobe{Addr: victim.at}
		require.NoError(t, b.e.Register(x, k))
		b.settle(x)
		require.NoError(t, b.e.Unregister(x, k))
		require.NoError(t, b.e.Register(x, &Kprobe{ID: 1, Addr: victim.at + 3, Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}}))
		require.Equal(t, []int{0, 0, 1}, []int{len(b.e.Optimizer.optimizingList.Peek()), len(b.e.Optimizer.unoptimizingList.Peek()), len(b.e.Optimizer.freeingList.Peek())})
		require.False(t, b.e.Optimizer.Settled())
		b.settle(x)
		require.True(t, b.e.Optimizer.Settled())
	}).pass(t)
}
