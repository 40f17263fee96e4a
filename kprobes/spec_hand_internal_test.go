package kprobes

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"kpsim/engine/ftrace"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// specHand is what mutants that were put into the engine by hand have shown to be
// held by nothing else.
var specHand = []specRule{
	{
		rule: "4.6", says: "a run of the optimizer writes and removes a limited number of jumps; another run does the rest", in: since(rules.Edition415),
		needs: withJumps,
		mutants: []specMutant{{name: "one more", do: func(s *Settings) { s.Batch = 3 }},
			{name: "one less", do: func(s *Settings) { s.Batch = 1 }}},
		holds: func(t *specT) {
			require.Equal(t, map[rules.Edition]int{rules.EditionDocumented: 256}[t.Edition],
				settingsOf(t.Edition, t.Preemption).Batch)
			if t.Settings.Batch == 0 || t.Settings.Batch == era.MostOptimized {
				t.Settings.Batch = 2
			}
			five := manyFunctions(5)
			b := t.boot(nil, five.boot, func(b *bench, x *smp.Ctx) {
				for i := range int(five) {
					require.NoError(t, b.e.Register(x, b.at(five.at(i), new(int))))
				}
				var runs inRuns
				b.log.Subscribe(&runs, smpev.GPStart, kpev.Optimized, kpev.Unoptimized)
				defer b.log.Unsubscribe(&runs)
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, []int{2, 2, 1}, runs.of(kpev.Optimized))
				b.e.Files.SetOptimization(x, false)
				require.Equal(t, []int{2, 2, 1}, runs.of(kpev.Unoptimized))
			})
			t.pass(b)
		},
	},
	{
		rule: "4.6", says: "the locks that are held while it waits and while it writes, in their order, by edition",
		needs: withJumps,
		in:    since(rules.Edition415),
		mutants: []specMutant{{name: "another order", do: func(s *Settings) {
			s.Order = (s.Order + 1) % (era.OrderStep + 1)
		}}},
		holds: func(t *specT) {
			own := settingsOf(t.Edition, t.Preemption).Order
			for o, want := range map[era.Order]string{
				era.OrderText:   "+cpus +text unopt wait opt -text -cpus",
				era.OrderModule: "+cpus +modules +text unopt -text wait +text opt -text -modules -cpus",
				era.OrderStep:   "+modules +cpus +text unopt -text -cpus wait +cpus +text opt -text -cpus -modules",
			} {
				s := t.Settings
				if o != own {
					s.Order = o
				}
				var log []string
				five := manyFunctions(5)
				b := bootBench(t, s, nil, five.boot, func(b *bench, x *smp.Ctx) {
					k := b.at(five.at(0), new(int))
					require.NoError(t, b.e.Register(x, k))
					b.e.Optimizer.WaitOptimizer(x)
					require.NoError(t, b.e.Register(x, b.at(five.at(1), new(int))))
					require.NoError(t, b.e.Disable(x, k))
					log = log[:0]
					b.e.Optimizer.kprobeOptimizer(x)
					require.Equal(t, want, strings.Join(log, " "))
					b.e.Optimizer.WaitOptimizer(x)
				})
				b.wire = func(k *kernel.Kernel, d *Deps) {
					if t.wire != nil {
						t.wire(k, d)
					}
					d.Text, d.RCU = toldText{d.Text, &log}, toldRCU{d.RCU, &log}
					d.Hotplug, d.ModuleMutex = toldCPUs{&log}, toldMutex{k.Locks.NewMutex("module_mutex"), "modules",
						&log}
				}
				b.log.Subscribe(onEvent(func(e *traces.Event) {
					log = append(log, map[traces.Kind]string{kpev.Optimized: "opt", kpev.Unoptimized: "unopt"}[e.Kind])
				}), kpev.Optimized, kpev.Unoptimized)
				t.pass(b)
			}
		},
	},
	{
		rule: "4.8", says: "between a store to the first byte and one to those behind it each CPU serialises",
		x86: ofRegions,
		in:  []rules.Edition{rules.Edition415, rules.Edition514, rules.Edition65, rules.Edition69},
		mutants: []specMutant{
			without(smpev.SyncPoke1, rules.Edition415, rules.Edition514, rules.Edition65, rules.Edition69),
			without(smpev.SyncPoke2, rules.Edition415, rules.Edition514, rules.Edition65, rules.Edition69),
			without(kpev.SyncUnopt1, rules.Edition514, rules.Edition65, rules.Edition69),
			without(kpev.SyncUnopt2, rules.Edition514, rules.Edition65, rules.Edition69),
		},
		holds: func(t *specT) {
			c := serialised{site: uint64(victim.at), all: 7}
			b := t.jumping([]code{victim}, func(b *bench, x *smp.Ctx) {
				for range 2 {
					k := b.at(victim.at, new(int))
					require.NoError(t, b.e.Register(x, k))
					b.e.Optimizer.WaitOptimizer(x)
					require.Equal(t, "jump", b.standing(t, x, victim, 0))
					require.NoError(t, b.e.Unregister(x, k))
					b.e.Optimizer.WaitOptimizer(x)
				}
			}, func(*bench, *smp.Ctx) {}, func(*bench, *smp.Ctx) {})
			b.log.Subscribe(&c, smpev.TextStore, smpev.Serialise)
			t.pass(b)
			require.Equal(t, "", c.wrong)
			require.GreaterOrEqual(t, c.stores, 10)
		},
	},
	{
		rule: "7.2", says: "when 0 has been written no breakpoint and no jump is left, whatever was on its way out",
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "disarm-lost", row: "disarm-lost", on: unstopped}},
		holds: func(t *specT) {
			for name, on := range map[string]func(b *bench, x *smp.Ctx, k *Kprobe){
				"enabled":      func(*bench, *smp.Ctx, *Kprobe) {},
				"disabled":     func(b *bench, x *smp.Ctx, k *Kprobe) { require.NoError(t, b.e.Disable(x, k)) },
				"unregistered": func(b *bench, x *smp.Ctx, k *Kprobe) { require.NoError(t, b.e.Unregister(x, k)) },
				"joined": func(b *bench, x *smp.Ctx, k *Kprobe) {
					require.NoError(t, b.e.Disable(x, k))
					require.NoError(t, b.e.Register(x, &Kprobe{Addr: victim.at, Flags: FlagDisabled}))
				},
			} {
				t.alone([]code{victim}, func(b *bench, x *smp.Ctx) {
					k := b.at(victim.at, new(int))
					require.NoError(t, b.e.Register(x, k))
					b.e.Optimizer.WaitOptimizer(x)
					on(b, x, k)
					b.e.Files.SetArmed(x, false)
					require.Equal(t, "text", b.standing(t, x, victim, 0), name)
					require.True(t, b.e.Optimizer.Settled(), name)
				})
			}
			// What the sysctl has queued is told to go at once: its breakpoint stays until the optimizer comes.
			b := t.jumping([]code{victim}, func(b *bench, x *smp.Ctx) {
				require.NoError(t, b.e.Register(x, b.at(victim.at, new(int))))
				b.e.Optimizer.WaitOptimizer(x)
				b.e.kprobeMutex.Lock(x)
				b.e.Optimizer.kprobesAllowOptimization = false
				b.e.Optimizer.unoptimizeKprobe(x, b.e.Table.aggrs[0], false)
				b.e.kprobeMutex.Unlock(x)
				b.e.Files.SetArmed(x, false)
				require.Equal(t, "text", b.standing(t, x, victim, 0))
			}, func(*bench, *smp.Ctx) {})
			t.pass(b)
		},
	},
	{
		rule: "8.3", says: "a point on its way out when its text goes is given back; one that is revived is optimized again", in: since(rules.Edition415),
		x86:     ofModules,
		mutants: []specMutant{{name: "no-optprobes", do: func(s *Settings) { s.Kernel.Optprobes = false }}},
		holds: func(t *specT) {
			b := t.withModule(true, func(b *bench, x *smp.Ctx, m *kernel.Module) {
				jumps := func(k *Kprobe) {
					t.Helper()
					require.NoError(t, b.e.Register(x, k))
					b.e.Optimizer.WaitOptimizer(x)
					require.Equal(t, "jump", b.standing(t, x, code{at: modCore, bytes: victim.bytes}, 0))
				}
				k, again := b.at(modCore, new(int)), b.at(modCore, new(int))
				jumps(k)
				require.NoError(t, b.e.Unregister(x, k)) // its jump waits for the optimizer
				require.Zero(t, b.k.Modules.Unload(x, m))
				b.e.Optimizer.WaitOptimizer(x)
				require.Zero(t, b.e.Table.probes.Len())
				require.Zero(t, b.k.Modules.Load(x, m))
				jumps(k)
				require.Zero(t, b.k.Modules.Unload(x, m))
				require.Zero(t, b.k.Modules.Load(x, m))
				jumps(again) // where the first has gone
				require.Equal(t, FlagGone, b.e.FlagsOf(k)&FlagGone)
				require.NoError(t, b.e.Unregister(x, k))
				require.NoError(t, b.e.Unregister(x, again))
				b.e.Optimizer.WaitOptimizer(x)
			})
			t.pass(b)
		},
	},
	{
		rule: "8.4", says: "a site that was refused is wanted no more; of a site nothing is written to another",
		needs:   withFtrace,
		in:      since(rules.Edition514),
		mutants: []specMutant{{name: "the other", do: func(s *Settings) { s.FtraceClaims = true }}},
		holds: func(t *specT) {
			b := t.withSites(func(b *bench, x *smp.Ctx) {
				post := func(at arch.Addr) *Kprobe {
					return &Kprobe{Addr: at, Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}}
				}
				other := 0
				stores := onEvent(func(e *traces.Event) {
					if e.A-uint64(traced.site()) < 5 {
						other++
					}
				})
				b.log.Subscribe(&stores, smpev.TextStore)
				for _, k := range []*Kprobe{post(aside.site()), b.at(aside.site(), new(int))} {
					require.NoError(t, b.e.Register(x, k))
					require.NoError(t, b.e.Unregister(x, k))
				}
				require.Zero(t, other)
				b.log.Unsubscribe(&stores)

				rival := b.ftrace.NewOps("livepatch", func(kapi.Context, arch.Addr, *arch.Regs) {}, ftrace.Modifies)
				require.Zero(t, rival.Filter(x, traced.site(), true))
				require.Zero(t, rival.Register(x))
				require.Equal(t, EBUSY, b.e.Register(x, post(traced.site())))
				k := post(aside.site())
				require.NoError(t, b.e.Register(x, k))
				require.NoError(t, b.e.Unregister(x, k))
				require.Zero(t, rival.Filter(x, aside.site(), true)) // and the rival may have what we had
				require.NoError(t, b.e.Register(x, b.at(traced.site(), new(int))))
			})
			t.pass(b)
		},
	},
	{
		rule: "8.3", says: "refusing a probe in init text that is about to be freed holds its module no longer, nor is one in it gone twice", in: since(rules.Edition415),
		x86:     ofModules,
		mutants: []specMutant{{name: "no-kill", row: "module-kept"}},
		holds: func(t *specT) {
			first, last := &Kprobe{Addr: modInit + 2}, &Kprobe{Addr: modInit + 2}
			coming, live := error(nil), error(nil)
			b := t.withModule(false, func(b *bench, x *smp.Ctx, m *kernel.Module) {
				b.k.Modules.OnChange(func(x kapi.Context, _ *kapi.Module, s kapi.ModuleState) {
					switch s {
					case kapi.ModuleComing:
						coming = b.e.Register(x, first)
					case kapi.ModuleLive:
						live = b.e.Register(x, last)
					}
				})
				require.Zero(t, b.k.Modules.Load(x, m))
				require.NoError(t, coming)
				require.Equal(t, ENOENT, live)
				require.Equal(t, FlagGone, b.e.FlagsOf(first))
				require.Zero(t, b.k.Modules.Unload(x, m))
				require.Equal(t, FlagGone, b.e.FlagsOf(first))
				require.NoError(t, b.e.Unregister(x, first))
			})
			t.pass(b)
		},
	},
}

// without is a mutant that leaves a sync out.
func without(why kapi.Why, in ...rules.Edition) specMutant {
	return specMutant{name: fmt.Sprintf("without sync %d", why), in: in, wire: func(k *kernel.Kernel, d *Deps) {
		d.Sync = skips{d.Sync, why}
		k.Poke.Sync = d.Sync
	}}
}

type skips struct {
	kapi.Sync
	why kapi.Why
}

func (s skips) Core(x kapi.Context, why kapi.Why) {
	if why != s.why {
		s.Sync.Core(x, why)
	}
}

// serialised looks whether every CPU has serialised between stores to a site's
// first byte and stores to those behind it.
type serialised struct {
	site      uint64
	all, done uint64 // CPUs, and those that have since the last store
	tail      bool   // which was to the bytes behind
	stores    int
	wrong     string
}

// Event implements traces.Sink.
func (s *serialised) Event(e *traces.Event) *traces.Finding {
	switch {
	case e.Kind == smpev.Serialise:
		s.done |= 1 << e.CPU
	case e.A-s.site < jumpSize:
		tail := e.A != s.site
		if s.stores > 0 && tail != s.tail && s.done != s.all && s.wrong == "" {
			s.wrong = fmt.Sprintf("store %d to the site: only the CPUs %b have serialised since the one before",
				s.stores, s.done)
		}
		s.stores, s.tail, s.done = s.stores+1, tail, 0
	}
	return nil
}

// toldText, toldRCU, toldCPUs and toldMutex take down what is locked and waited for.
type toldText struct {
	kapi.Text
	log *[]string
}

func (t toldText) Mutex() kapi.Mutex { return toldMutex{t.Text.Mutex(), "text", t.log} }

type toldRCU struct {
	kapi.RCU
	log *[]string
}

func (r toldRCU) Synchronize(x kapi.Context, f kapi.Flavour) {
	*r.log = append(*r.log, "wait")
	r.RCU.Synchronize(x, f)
}

type toldMutex struct {
	kapi.Mutex
	name string
	log  *[]string
}

func (m toldMutex) Lock(x kapi.Context) {
	m.Mutex.Lock(x)
	*m.log = append(*m.log, "+"+m.name)
}

func (m toldMutex) Unlock(x kapi.Context) {
	*m.log = append(*m.log, "-"+m.name)
	m.Mutex.Unlock(x)
}

type toldCPUs struct{ log *[]string }

func (c toldCPUs) ReadLock(kapi.Context)   { *c.log = append(*c.log, "+cpus") }
func (c toldCPUs) ReadUnlock(kapi.Context) { *c.log = append(*c.log, "-cpus") }
func (c toldCPUs) AssertHeld(kapi.Context) {}

// inRuns counts events of a kind that come without a grace period between them.
type inRuns struct {
	kinds []traces.Kind
}

// Event implements traces.Sink.
func (r *inRuns) Event(e *traces.Event) *traces.Finding {
	r.kinds = append(r.kinds, e.Kind)
	return nil
}

func (r *inRuns) of(k traces.Kind) (counts []int) {
	n := 0
	for _, kind := range append(r.kinds, smpev.GPStart) {
		switch {
		case kind == k:
			n++
		case kind == smpev.GPStart && n > 0:
			counts, n = append(counts, n), 0
		}
	}
	return counts
}
