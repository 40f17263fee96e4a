package kprobes

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
)

// TestRepUnboosted: a string instruction that a step doesn't end is never boosted: it
// hits once an iteration for good (spec 1.15, 8.5).
func TestRepUnboosted(t *testing.T) {
	s := Edition415.Settings(false)
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
		s := Edition415.Settings(full)
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
	s := Edition415.Settings(false)
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
		ready.Store(x, 1)
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
	newBench(t, Edition26.Settings(true), []code{watched}, func(b *bench, x *smp.Ctx) {
		require.NoError(t, b.e.Register(x, &Kprobe{Addr: watched.at + 1}))
		var now [16]byte
		b.k.Text.Read(x, b.e.points[0].slot.Peek().at, now[:])
		require.Equal(t, watched.bytes[1:17], now[:])
	}).pass(t)
}

// A farExec hands out memory out of reach, and notes what comes back.
type farExec struct {
	kapi.Exec
	out *int
}

func (f farExec) Alloc(kapi.Context, int, uint64) (isa.Addr, bool) {
	*f.out++
	return 0x10000000, true
}

func (f farExec) Free(kapi.Context, isa.Addr, int, uint64) { *f.out-- }

func (f farExec) Retire(kapi.Context, isa.Addr, int, uint64) { *f.out-- }

// TestOutOfReach: a copy that can't reach what it is relative to, or can't come
// back, is refused, and its memory given back.
func TestOutOfReach(t *testing.T) {
	for ed := range Editions {
		for _, full := range []bool{false, true} {
			out := 0
			s := ed.Settings(full)
			b := newBench(t, s, []code{calls, victim}, func(b *bench, x *smp.Ctx) {
				require.Equal(t, EINVAL, b.e.Register(x, &Kprobe{Addr: calls.at + 10}), "%v", ed)
				if !full && s.Boost != BoostNever {
					require.Equal(t, EINVAL, b.e.Register(x, &Kprobe{Addr: victim.at}), "%v", ed)
				}
				require.Zero(t, out, "%v", ed)
				require.Zero(t, b.e.table.Len())
			})
			b.wire = func(_ *kernel.Kernel, d *Deps) { d.Exec = farExec{d.Exec, &out} }
			b.pass(t)
		}
	}
}

// TestInt3OfOld: rules of kernels that step by #DB let everything be stepped; where
// the step is by int3 all the same, what that can't do is refused.
func TestInt3OfOld(t *testing.T) {
	s := Edition415.Settings(true)
	s.Step = StepInt3
	at := smp.TextBase + 0x700
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
		codes = append(codes, code{name: string(rune('a' + i)), at: at + isa.Addr(0x40*i), bytes: append(c.bytes, 0xc3)})
		newBench(t, s, codes[i:], func(b *bench, x *smp.Ctx) {
			require.Equal(t, c.want, b.e.Register(x, &Kprobe{Addr: codes[i].at}), "% x", c.bytes)
		}).pass(t)
	}
}
