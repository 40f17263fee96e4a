package kprobes

import (
	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A recorder notes what an engine waits for.
type recorder struct {
	kapi.RCU
	flavours []kapi.Flavour
}

func (r *recorder) Synchronize(x kapi.Context, f kapi.Flavour) {
	r.flavours = append(r.flavours, f)
	r.RCU.Synchronize(x, f)
}

// builds are the settings of an edition built without preemption and with it. The
// one that the rule is run with has the mutant's changes.
func (t *specT) builds() []Settings {
	if t.Preemption {
		return []Settings{settingsOf(t.Edition, false), t.Settings}
	}
	return []Settings{t.Settings, settingsOf(t.Edition, true)}
}

// nothing is a pre_handler.
func nothing(kapi.Context, *Kprobe, *arch.Regs) int { return 0 }

// specCover are the rules of configuration, and of what things cost.
var specCover = []specRule{
	{
		rule: "8.1", says: "the build decides whether probes are optimized, and by which wait",
		needs: withJumps,
		in:    since(rules.Edition415),
		mutants: []specMutant{
			{name: "rcu-for-tasks", do: func(s *Settings) {
				s.Quiesce = kapi.QuiesceRCU
			}, in: since(rules.Edition415)[:4]},
			{name: "tasks-for-rcu", do: func(s *Settings) {
				s.Quiesce = kapi.QuiesceTasks
			}, in: []rules.Edition{rules.EditionDocumented}},
		},
		holds: func(t *specT) {
			for i, s := range t.builds() {
				var rec recorder
				var flags Flags
				b := newBench(t, s, []code{victim}, func(b *bench, x *smp.Ctx) {
					k := &Kprobe{Addr: victim.at, Pre: nothing}
					require.NoError(t, b.e.Register(x, k))
					b.e.Optimizer.WaitOptimizer(x)
					flags = b.e.FlagsOf(k)
				})
				b.wire = func(_ *kernel.Kernel, d *Deps) { rec.RCU, d.RCU = d.RCU, &rec }
				t.pass(b)
				switch want := kapi.QuiesceRCU; {
				case i == 1 && t.Edition == rules.EditionDocumented:
					require.Zero(t, flags&FlagOptimized)
					require.Empty(t, rec.flavours)
				default:
					if i == 1 {
						want = kapi.QuiesceTasks
					} else if t.Edition == rules.Edition415 {
						want = kapi.QuiesceSched
					}
					require.NotZero(t, flags&FlagOptimized)
					require.Equal(t, []kapi.Flavour{want}, rec.flavours)
				}
			}
		},
	},
	{
		rule: "8.1", says: "the build decides maxactive's default",
		needs: withJumps,
		mutants: []specMutant{{name: "built-without", do: func(s *Settings) {
			s.Kernel.Preemption, s.MaxactiveAll = false, false
		}}},
		holds: func(t *specT) {
			for i, s := range t.builds() {
				got := 0
				t.pass(newBench(t, s, []code{victim}, func(b *bench, x *smp.Ctx) {
					r := &Kretprobe{Kprobe: Kprobe{Addr: victim.at}}
					require.NoError(t, b.e.Kretprobes.Register(x, r))
					got = r.Maxactive
				}))
				want := 10 // max(10, 2 CPUs)
				if i == 0 && t.Edition <= rules.Edition514 {
					want = 1 // as many as CPUs
				}
				require.Equal(t, want, got)
			}
		},
	},
	{
		rule: "8.2", says: "without CONFIG_OPTPROBES every probe stays a breakpoint",
		needs:   withJumps,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "no-optprobes", do: func(s *Settings) { s.Kernel.Optprobes = false }}},
		holds:   func(t *specT) { optprobes(t, t.Settings) },
	},
	{
		rule: "10.1", says: "a hit costs its traps: two if it is stepped, one if it is boosted or queued, none if it is optimized; a return by way of code costs none, one by way of a probe one; a kprobe beside it none",
		x86: ofCosts,
		mutants: []specMutant{
			{name: "code-trampoline", do: func(s *Settings) {
				s.Return = era.ReturnHashed
			}, on: onX8664, in: []rules.Edition{rules.Edition26}},
			{name: "no-optprobes", do: func(s *Settings) { s.Kernel.Optprobes = false }, in: since(rules.Edition415)},
		},
		holds: func(t *specT) {
			trampoline := 0
			if t.Edition == rules.Edition26 {
				trampoline = by32(1, 0)
			}
			require.Equal(t, 2, traps(t, t.Settings, hitCost{post: true}), "stepped")
			require.Equal(t, 2+trampoline, traps(t, t.Settings, hitCost{post: true, ret: true}),
				"stepped, and a return")
			if s := settingsOf(t.Edition, false); s.Boost != era.BoostNever {
				s.Kernel.Optprobes = false
				require.Equal(t, 1, traps(t, s, hitCost{warm: true}), "boosted")
				require.Equal(t, 1, traps(t, s, hitCost{warm: true, ret: true}), "boosted, and a return")
			}
			if s := t.Settings; t.Edition != rules.Edition26 {
				require.Equal(t, 1, traps(t, s, hitCost{}), "queued")
				require.Zero(t, traps(t, s, hitCost{waits: true}), "optimized")
				require.Zero(t, traps(t, s, hitCost{waits: true, ret: true}), "optimized, and a return")
			}
		},
	},
}

// spec26 is what edition 2.6 alone must do.
var spec26 = []specRule{
	{
		rule: "7.2", says: "0 leaves the probe on the trampoline: calls in flight return through it, and none is lost",
		in:      []rules.Edition{rules.Edition26},
		mutants: []specMutant{{name: "disarm-trampoline", row: "disarm-trampoline", on: onX8664}},
		holds: func(t *specT) {
			b := t.bench([]code{target, target3}, func(b *bench, x *smp.Ctx) {
				returned := 0
				off := &Kprobe{Addr: target.at, Pre: nothing}
				r := &Kretprobe{Kprobe: Kprobe{Addr: target3.at},
					Handler: func(kapi.Context, *Instance, *arch.Regs) int {
						returned++
						return 0
					}}
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				require.NoError(t, b.e.Register(x, off))
				require.NoError(t, b.e.Files.WriteEnabled(x, "0\n"))
				var tramp, probed [1]byte
				b.e.d.Text.Read(x, b.e.Rethook.trampoline, tramp[:])
				b.e.d.Text.Read(x, target.at, probed[:])
				require.Equal(t, b.settings.NopTrampoline(), tramp[0] == x86.Int3)
				require.Equal(t, target.bytes[0], probed[0])
				require.NoError(t, b.e.Files.WriteEnabled(x, "1\n"))
				require.EqualValues(t, 1+0x11+1, callArg(x, target3.at, 1))
				require.Equal(t, 1, returned)
			})
			t.pass(b)
		},
	},
}

// specLocked is what return probes with locks must do.
var specLocked = []specRule{
	{
		rule: "2.3", says: "where calls are followed under a lock, one in an NMI is missed",
		in:      []rules.Edition{rules.Edition26, rules.Edition415},
		mutants: []specMutant{{name: "lock-in-nmi", row: "lock-in-nmi"}},
		holds: func(t *specT) {
			r := &Kretprobe{Kprobe: Kprobe{Addr: victim.at}}
			up, fired := false, 0
			b := t.bench([]code{victim}, func(b *bench, x *smp.Ctx) {
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				up = true
				for range 5 {
					require.EqualValues(t, 10, callArg(x, victim.at, 7))
				}
				up = false
				require.NoError(t, b.e.Kretprobes.Unregister(x, r))
			})
			require.NoError(t, b.m.Interrupts().Add(&smp.Source{Kind: smp.NMISource, Name: "nmi", AtMost: 3}, 0))
			b.k.OnInterrupt(func(x *smp.Ctx, _ *smp.Source) {
				was, missed := *x.Regs(), r.Missed()+r.Kprobe.Missed()
				require.EqualValues(t, 10, callArg(x, victim.at, 7))
				if up {
					fired++
					require.Equal(t, missed+1, r.Missed()+r.Kprobe.Missed())
				}
				sp, ip := x.Regs().R[row32.SP], x.Regs().IP
				*x.Regs() = was
				x.Regs().R[row32.SP], x.Regs().IP = sp, ip
			}, func(*smp.Source) bool { return false })
			b.m.Freeze()
			random := sched.NewRandom(sched.Params{Seed: 1, Length: 200})
			for i := range uint64(20) {
				random.Begin(i)
				up = false
				require.Equal(t, smp.Passed, b.run(random), "%v", b.m.Refusal())
			}
			require.Positive(t, fired)
		},
	},
}

// specGone is what the documents deprecate.
var specGone = []specRule{
	{
		rule: "11", says: "jprobes are refused",
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "jprobes", do: func(s *Settings) { s.Jprobes = true }}},
		holds: func(t *specT) {
			t.pass(t.bench(jCodes, func(b *bench, x *smp.Ctx) {
				require.Equal(t, EOPNOTSUPP,
					b.e.Jprobes.Register(x, &Jprobe{Kprobe: Kprobe{Addr: sums.at}, Entry: stays.at}))
			}))
		},
	},
}

// optprobes holds that with CONFIG_OPTPROBES a probe becomes a jump, and without it
// doesn't.
func optprobes(t *specT, s Settings) {
	for _, on := range []bool{true, false} {
		s := s
		s.Kernel.Optprobes = s.Kernel.Optprobes && on
		var flags Flags
		var head string
		t.pass(newBench(t, s, []code{victim}, func(b *bench, x *smp.Ctx) {
			k := &Kprobe{Addr: victim.at, Pre: nothing}
			require.NoError(t, b.e.Register(x, k))
			b.e.Optimizer.WaitOptimizer(x)
			flags = b.e.FlagsOf(k)
			head = stands(b.textOf(x, victim), victim.bytes)
		}))
		require.Equal(t, on, flags&FlagOptimized != 0)
		require.Equal(t, on, head == isJump)
	}
}

// hitCost is what is on the function of which traps are counted.
type hitCost struct {
	post  bool // a post_handler
	ret   bool // a return probe, too
	waits bool // for the optimizer
	warm  bool // it was hit before
}

// traps counts the breakpoints and #DB of a call of a probed function.
func traps(t *specT, s Settings, h hitCost) (n int) {
	var log trapCounter
	b := newBench(t, s, []code{victim}, func(b *bench, x *smp.Ctx) {
		k := &Kprobe{Addr: victim.at, Pre: nothing}
		if h.post {
			k.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}
		}
		require.NoError(t, b.e.Register(x, k))
		if h.ret {
			require.NoError(t, b.e.Kretprobes.Register(x, &Kretprobe{Kprobe: Kprobe{Addr: victim.at}}))
		}
		if h.waits {
			b.e.Optimizer.WaitOptimizer(x)
		}
		if h.warm {
			x.Call(victim.at)
		}
		log.n = 0
		x.Call(victim.at)
		n = log.n
	})
	b.log.Subscribe(&log, smpev.Trap)
	t.pass(b)
	return n
}

// A trapCounter counts the traps of probes.
type trapCounter struct{ n int }

func (c *trapCounter) Event(e *traces.Event) *traces.Finding {
	if e.A == smpev.VecBP || e.A == smpev.VecDB {
		c.n++
	}
	return nil
}
