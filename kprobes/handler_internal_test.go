package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// victim is long enough for a region, and ends with its argument plus 3.
var victim = inWords(code{name: "victim", at: textBase, bytes: []byte{
	0x48, 0x89, 0xf8, // mov %rdi,%rax
	0x48, 0x83, 0xc0, 0x03, // add $3,%rax
	0xc3, // ret
}})

// other starts with what is emulated: a jump over its second instruction.
var other = inWords(code{name: "other", at: textBase + 0x100, bytes: []byte{
	0xeb, 0x05, // jmp +5
	0xb8, 1, 0, 0, 0, // mov $1,%eax
	0xb8, 2, 0, 0, 0, // mov $2,%eax
	0xc3, // ret
}})

// seen is what a handler was given.
type seen struct {
	ip, sp, rdi uint64
	flags       uint64
}

// modes are the ways a hit is handled: the engine's settings, whether the probe
// has a post_handler, and whether to wait for the optimizer.
var modes = []struct {
	name             string
	optprobes, waits bool
	post             bool
}{
	{"stepped", false, false, false},
	{"stepped, with post_handler", false, false, true},
	{"queued", true, false, false},
	{"optimized", true, true, false},
	{"not optimized for its post_handler", true, true, true},
}

// TestRegs: what the handlers see of the registers, and that what they leave in
// them holds (spec 1.2, 1.4, 1.7, 4.10).
func TestRegs(t *testing.T) {
	for _, f := range []struct {
		code
		next arch.Addr // where the first instruction goes
		want uint64    // what the function returns if rdi becomes 50 at its start
	}{
		{victim, victim.at + 3, 53},
		{other, other.at + 7, 2},
	} {
		for _, m := range modes {
			t.Run(f.name+" "+m.name, func(t *testing.T) {
				s := repaired
				s.Kernel.Optprobes = m.optprobes
				var pre, post []seen
				var before, after arch.Regs
				b := newBench(t, s, []code{victim, other}, func(b *bench, x *smp.Ctx) {
					k := &Kprobe{Addr: f.at, Pre: func(_ kapi.Context, k *Kprobe, r *arch.Regs) int {
						pre = append(pre, seen{uint64(r.IP), r.R[x86.RSP], r.R[x86.RDI], r.Flags})
						r.R[x86.RDI] = 50
						return 0
					}}
					if m.post {
						k.Post = func(_ kapi.Context, k *Kprobe, r *arch.Regs, flags uint64) {
							post = append(post, seen{uint64(r.IP), r.R[x86.RSP], r.R[x86.RDI], flags})
						}
					}
					require.NoError(t, b.e.Register(x, k))
					if m.waits {
						b.e.Optimizer.WaitOptimizer(x)
						require.Equal(t, f.name == "victim" && !m.post, k.aggr.jumped)
					}
					before = *x.Regs()
					x.Regs().R[x86.RDI] = 7
					require.Equal(t, f.want, x.Call(f.at))
					after = *x.Thread().Left()
					require.NoError(t, b.e.Unregister(x, k))
					x.Call(f.at)
				})
				b.pass(t)
				require.Len(t, pre, 1)
				require.Equal(t, uint64(f.at)+1, pre[0].ip)
				require.Equal(t, uint64(7), pre[0].rdi)
				require.Equal(t, before.R[x86.RSP]&^15-8, pre[0].sp)
				require.Equal(t, x86.IF, pre[0].flags&x86.IF, "regs are those of what was hit")
				require.Equal(t, x86.IF, after.Flags&x86.IF)
				require.Zero(t, after.R[x86.RSP], "off its proper value")
				if !m.post {
					require.Empty(t, post)
					return
				}
				require.Equal(t, []seen{{uint64(f.next), pre[0].sp, 50, 0}}, post)
			})
		}
	}
}

// TestChangedPath: a pre_handler that returns non-zero says where control goes,
// with the registers as it left them; nothing is stepped and no post_handler
// runs (spec 1.6). On an optimized probe both are ignored (4.10).
func TestChangedPath(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			s := repaired
			s.Kernel.Optprobes = m.optprobes
			b := newBench(t, s, []code{victim, other}, func(b *bench, x *smp.Ctx) {
				posts := 0
				k := &Kprobe{Addr: victim.at, Pre: func(_ kapi.Context, k *Kprobe, r *arch.Regs) int {
					r.IP = other.at + 2
					return 1
				}}
				if m.post {
					k.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }
				}
				require.NoError(t, b.e.Register(x, k))
				if m.waits {
					b.e.Optimizer.WaitOptimizer(x)
				}
				x.Regs().R[x86.RDI] = 7
				want := uint64(2) // mov $1,%eax; mov $2,%eax
				if m.waits && !m.post {
					want = 10
				}
				require.Equal(t, want, x.Call(victim.at))
				require.Zero(t, posts)
				require.Nil(t, b.e.Hits.kcb.This(x).current)
			})
			b.pass(t)
		})
	}
}

// TestNoHandlers: either handler may be nil (spec 1.5).
func TestNoHandlers(t *testing.T) {
	for _, f := range []code{victim, other} {
		for _, post := range []bool{false, true} {
			for _, waits := range []bool{false, true} {
				b := newBench(t, repaired, []code{victim, other}, func(b *bench, x *smp.Ctx) {
					posts := 0
					k := &Kprobe{Addr: f.at}
					if post {
						k.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }
					}
					x.Regs().R[x86.RDI] = 7
					want := x.Call(f.at)
					require.NoError(t, b.e.Register(x, k))
					if waits {
						b.e.Optimizer.WaitOptimizer(x)
					}
					x.Regs().R[x86.RDI] = 7
					require.Equal(t, want, x.Call(f.at))
					require.Equal(t, post, posts == 1)
				})
				b.pass(t)
			}
		}
	}
}

// TestMissed: nmissed counts, is zeroed when the probe is registered again
// (spec 1.11, 6.1), and the CPU is where it was.
func TestMissed(t *testing.T) {
	b := newBench(t, repaired, []code{victim, other}, func(b *bench, x *smp.Ctx) {
		inner := &Kprobe{Addr: other.at}
		deep := &Kprobe{Addr: other.at + 7, Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) {
			t.Error("a post_handler of a missed hit")
		}}
		outer := &Kprobe{Addr: victim.at, Pre: func(x kapi.Context, k *Kprobe, r *arch.Regs) int {
			require.Equal(t, uint64(2), x.Call(other.at))
			return 0
		}}
		for range 2 {
			require.NoError(t, b.e.Register(x, inner))
			require.NoError(t, b.e.Register(x, deep))
			require.NoError(t, b.e.Register(x, outer))
			require.Zero(t, inner.Missed())
			for i := range 3 {
				x.Regs().R[x86.RDI] = 7
				require.Equal(t, uint64(10), x.Call(victim.at))
				require.Equal(t, []int{i + 1, i + 1, 0}, []int{inner.Missed(), deep.Missed(), outer.Missed()})
				require.Nil(t, b.e.Hits.kcb.This(x).current)
				require.Equal(t, busy{}, b.e.Hits.kcb.This(x).prevKprobe)
				b.e.Optimizer.WaitOptimizer(x) // the second time around outer is optimized
			}
			for _, k := range []*Kprobe{outer, inner, deep} {
				require.NoError(t, b.e.Unregister(x, k))
			}
		}
	})
	b.pass(t)
}

// TestHitsOnTwoCPUs: two CPUs hit probes while those come and go (spec 1.9).
func TestHitsOnTwoCPUs(t *testing.T) {
	calls := func(b *bench, x *smp.Ctx) {
		for i := range uint64(4) {
			x.Regs().R[x86.RDI] = i
			require.Equal(t, i+3, x.Call(victim.at))
			require.Equal(t, uint64(2), x.Call(other.at))
		}
	}
	b := newBench(t, repaired, []code{victim, other}, func(b *bench, x *smp.Ctx) {
		k, j := &Kprobe{Addr: victim.at}, &Kprobe{Addr: other.at}
		for range 2 {
			require.NoError(t, b.e.Register(x, k))
			require.NoError(t, b.e.Register(x, j))
			calls(b, x)
			require.NoError(t, b.e.Unregister(x, k))
			require.NoError(t, b.e.Unregister(x, j))
		}
	}, calls)
	s := sched.NewSticky(sched.Params{Seed: 1, Mean: 8})
	for i := range uint64(100) {
		s.Begin(i)
		require.Equal(t, smp.Passed, b.run(s), "schedule %d: %v", i, b.m.Refusal())
	}
}
