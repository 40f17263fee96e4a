package kprobes

import (
	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// Where the module of these tests lies: its core, and a page behind its init
// section.
var (
	modCore = textBase + 0x10000
	modInit = modCore + 0x1000
)

// modTexts is a module: work is victim, plain can't be optimized for its size,
// traced begins with a site of ftrace, setup is its init and leave its exit.
var modTexts = []kernel.ModuleText{
	{Name: "work", At: modCore, Code: victim.bytes},
	{Name: "plain", At: modCore + 0x20, Code: []byte{0x48, 0x89, 0xf8, 0xc3}},
	{Name: "traced", At: modCore + 0x40, Code: append(x86.Nop5[:len(x86.Nop5):len(x86.Nop5)], victim.bytes...)},
	{Name: "leave", At: modCore + 0x60, Code: []byte{0xc3}},
	{Name: "setup", At: modInit, Code: []byte{0x31, 0xc0, 0x90, 0xc3}, Init: true}, // xor %eax,%eax; nop; ret
}

// withModule is a bench with the module, loaded or not.
func (t *specT) withModule(loaded bool, programs ...func(b *bench, x *smp.Ctx, m *kernel.Module)) *bench {
	var m *kernel.Module
	var ps []func(b *bench, x *smp.Ctx)
	for _, p := range programs {
		ps = append(ps, func(b *bench, x *smp.Ctx) { p(b, x, m) })
	}
	b := t.bench([]code{victim}, ps...)
	m = b.k.Modules.NewModule("mod", texts32(modTexts), modInit, modCore+0x60, loaded)
	b.ftrace.AddSite(modCore + 0x40)
	b.m.Freeze()
	return b
}

// noText is how an address without text is refused: the first until 5.13.
var noText = []error{EINVAL, ENOENT}

// counting returns a probe at an address that counts its hits.
func counting(at arch.Addr, hits *int) *Kprobe {
	return &Kprobe{Addr: at, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int {
		*hits++
		return 0
	}}
}

// spec8 is section 8 of the specification, as far as it is about modules and
// ftrace, and what other sections say of them.
var spec8 = []specRule{
	{
		rule: "8.3", says: "a probe in a module: its text goes, the probe is gone, and is unregistered all the same",
		x86: ofModules,
		in:  since(rules.Edition415),
		mutants: []specMutant{
			{name: "no-kill", row: "module-kept"},
		},
		holds: holdsGone,
	},
	{
		rule: "8.3", says: "nothing is written to text that is gone",
		x86: ofModules,
		in:  since(rules.Edition415),
		mutants: []specMutant{
			{name: "no-kill", row: "module-kept"},
		},
		holds: func(t *specT) {
			b := t.withModule(true, func(b *bench, x *smp.Ctx, m *kernel.Module) {
				n := 0
				for _, at := range []arch.Addr{modCore, modCore + 0x20, modCore + 0x40} {
					k := counting(at, &n)
					require.NoError(t, b.e.Register(x, k))
					if at == modCore {
						b.e.Optimizer.WaitOptimizer(x)
					}
					require.Zero(t, b.k.Modules.Unload(x, m))
					require.NoError(t, b.e.Unregister(x, k))
					b.e.Optimizer.WaitOptimizer(x)
					require.Zero(t, b.k.Modules.Load(x, m))
				}
				x.Call(modCore)
				require.Zero(t, n)
			})
			t.pass(b)
		},
	},
	{
		rule: "8.3", says: "a probe holds its module until it is unregistered",
		x86: ofModules,
		in:  []rules.Edition{rules.Edition26},
		mutants: []specMutant{
			{name: "later-editions", do: func(s *Settings) { s.ModuleRefs = false }},
			{name: "no-module-ref", row: "no-module-ref"},
		},
		holds: func(t *specT) {
			b := t.withModule(true, func(b *bench, x *smp.Ctx, m *kernel.Module) {
				n := 0
				k := counting(modCore, &n)
				require.NoError(t, b.e.Register(x, k))
				require.Equal(t, kernel.ModuleEAGAIN, b.k.Modules.Unload(x, m))
				x.Call(modCore)
				require.NoError(t, b.e.Unregister(x, k))
				require.Zero(t, b.k.Modules.Unload(x, m))
				require.Equal(t, 1, n)
				require.Equal(t, EINVAL.when(t.Edition == rules.Edition26), b.e.Register(x, &Kprobe{Symbol: "work"}))
			})
			t.pass(b)
		},
	},
	{
		rule: "8.3", says: "a kernel without MODULE_UNLOAD unloads nothing, and its probes stay",
		x86: ofModules,
		mutants: []specMutant{{name: "with MODULE_UNLOAD", wire: func(k *kernel.Kernel, _ *Deps) {
			k.SetUnload(true)
		}}},
		holds: func(t *specT) {
			b := t.withModule(true, func(b *bench, x *smp.Ctx, m *kernel.Module) {
				n := 0
				k := counting(modCore, &n)
				require.NoError(t, b.e.Register(x, k))
				require.Equal(t, kernel.ModuleENOSYS, b.k.Modules.Unload(x, m))
				x.Call(modCore)
				require.Equal(t, 1, n)
				require.NoError(t, b.e.Unregister(x, k))
			})
			b.k.SetUnload(false)
			t.pass(b)
		},
	},
	{
		rule: "8.3", says: "init text can be probed while its module is coming, and not when it is freed",
		x86:     ofModules,
		mutants: []specMutant{{name: "no-kill", row: "module-kept"}},
		holds:   holdsInit,
	},
	{
		rule: "8.3", says: "registering in a module that goes, beside that: it is refused, or the probe is gone",
		x86: ofModules,
		in:  since(rules.Edition415),
		mutants: []specMutant{
			{name: "no-module-ref", row: "no-module-ref"},
		},
		holds: func(t *specT) { raceModule(t, true, modCore) },
	},
	{
		rule: "8.3", says: "registering in a module's init text, beside its end: it is refused, or the probe is gone",
		x86: ofModules,
		mutants: []specMutant{
			{name: "check-unlocked", row: "check-unlocked"},
		},
		holds: func(t *specT) { raceModule(t, false, modInit+2) },
	},
	{
		rule: "8.3", says: "a point that unregister is about to discard when its text goes: what is there by then is another's",
		x86:     ofModules,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "kill-hidden", row: "kill-hidden"}},
		holds: func(t *specT) {
			var w waiting
			b := t.withModule(true, func(b *bench, x *smp.Ctx, m *kernel.Module) {
				n, fresh := 0, 0
				k, again := counting(modCore+0x20, &n), counting(modCore+0x20, &fresh)
				require.NoError(t, b.e.Register(x, k))
				w.then = func() {
					require.Zero(t, b.k.Modules.Unload(x, m))
					require.Zero(t, b.k.Modules.Load(x, m))
					require.NoError(t, b.e.Register(x, again))
				}
				require.NoError(t, b.e.Unregister(x, k))
				b.e.Optimizer.WaitOptimizer(x)
				x.Call(modCore + 0x20)
				require.Equal(t, [2]int{0, 1}, [2]int{n, fresh})
				require.NoError(t, b.e.Unregister(x, again))
			})
			wire := b.wire
			b.wire = func(k *kernel.Kernel, d *Deps) {
				w.RCU, d.RCU = d.RCU, &w
				if wire != nil {
					wire(k, d)
				}
			}
			t.pass(b)
		},
	},
	{
		rule: "5.1", says: "what is marked in a module refuses probes like the kernel's own",
		mutants: []specMutant{{name: "not marked", wire: func(_ *kernel.Kernel, d *Deps) {
			d.Symbols = unmarked{d.Symbols}
		}}},
		holds: func(t *specT) {
			b := t.withModule(true, func(b *bench, x *smp.Ctx, m *kernel.Module) {
				require.Equal(t, EINVAL, b.e.Register(x, &Kprobe{Addr: modCore + 0x20}))
				require.NoError(t, b.e.Register(x, &Kprobe{Addr: modCore}))
			})
			f, _ := b.k.Symbols.Named("plain")
			b.k.Symbols.Ban(f, kapi.BanSection)
			t.pass(b)
		},
	},
}

// waiting is RCU of which the first grace period that is waited for is long: then
// happens meanwhile.
type waiting struct {
	kapi.RCU
	then func()
}

func (w *waiting) Synchronize(x kapi.Context, f kapi.Flavour) {
	if then := w.then; then != nil {
		w.then = nil
		then()
	}
	w.RCU.Synchronize(x, f)
}

// unmarked is symbols without a blacklist.
type unmarked struct{ kapi.Symbols }

func (unmarked) Banned(arch.Addr) kapi.Ban { return kapi.BanNone }

// when is the errno if something holds, else -ENOENT's.
func (e Errno) when(on bool) Errno {
	if on {
		return e
	}
	return ENOENT
}

// holdsGone is the life of four probes in a module: by ftrace, disabled,
// optimized, and a breakpoint; as the oracle's behaviour.txt has it.
func holdsGone(t *specT) {
	b := t.withModule(true, func(b *bench, x *smp.Ctx, m *kernel.Module) {
		var hits [4]int
		ks := [4]*Kprobe{
			counting(modCore+0x40, &hits[0]), counting(modCore+0x20, &hits[1]),
			counting(modCore, &hits[2]), counting(modCore+3, &hits[3]),
		}
		ks[1].Flags = FlagDisabled
		for _, k := range ks {
			require.NoError(t, b.e.Register(x, k))
			b.e.Optimizer.WaitOptimizer(x)
		}
		require.NoError(t, b.e.Disable(x, ks[3])) // it is in the region of ks[2]
		b.e.Optimizer.WaitOptimizer(x)
		if ks[2].aggr.detour.size > 0 {
			require.NotZero(t, b.e.FlagsOf(ks[2])&FlagOptimized)
		}
		require.NoError(t, b.e.Enable(x, ks[3]))
		for _, at := range []arch.Addr{modCore + 0x40, modCore + 0x20, modCore} {
			x.Call(at)
		}
		require.Equal(t, [4]int{1, 0, 1, 1}, hits)

		require.Zero(t, b.k.Modules.Unload(x, m))
		for i, k := range ks {
			f := b.e.FlagsOf(k)
			require.Equal(t, FlagGone, f&(FlagGone|FlagOptimized), "%d: %v", i, f)
			require.Equal(t, i == 1, f&FlagDisabled != 0, "%d", i)
			require.Equal(t, i == 0, f&FlagFtrace != 0, "%d", i)
			require.Equal(t, EINVAL, b.e.Enable(x, k), "%d", i)
			require.NoError(t, b.e.Disable(x, k), "%d", i)
			require.Equal(t, f, b.e.FlagsOf(k), "%d", i)
		}

		// The module comes again, to the same place. The old probes are gone for
		// good; a new one at the address works, and the old one beside it is silent.
		require.Zero(t, b.k.Modules.Load(x, m))
		x.Call(modCore)
		require.Equal(t, [4]int{1, 0, 1, 1}, hits)
		fresh := 0
		again := counting(modCore, &fresh)
		require.NoError(t, b.e.Register(x, again))
		require.Zero(t, b.e.FlagsOf(again)&FlagGone)
		require.NotZero(t, b.e.FlagsOf(ks[2])&FlagGone)
		x.Call(modCore)
		b.e.Optimizer.WaitOptimizer(x)
		x.Call(modCore)
		require.Equal(t, 2, fresh)
		require.Equal(t, [4]int{1, 0, 1, 1}, hits)
		for _, k := range ks {
			require.NoError(t, b.e.Unregister(x, k))
		}
		x.Call(modCore)
		require.Equal(t, 3, fresh)
		require.NoError(t, b.e.Unregister(x, again))
		b.e.Optimizer.WaitOptimizer(x)
		x.Call(modCore)
		require.Equal(t, 3, fresh)
		require.Zero(t, b.e.Table.probes.Len())
		text := make([]byte, len(victim.bytes))
		b.k.Text.Read(x, modCore, text)
		require.Equal(t, victim.bytes, text)
	})
	t.pass(b)
}

// holdsInit registers in init text from a notifier, which is told that the module
// is coming, and then when that is freed.
func holdsInit(t *specT) {
	n, told := 0, 0
	var k *Kprobe
	b := t.withModule(false, func(b *bench, x *smp.Ctx, m *kernel.Module) {
		k = counting(modInit+2, &n)
		b.k.Modules.OnChange(func(x kapi.Context, _ *kapi.Module, s kapi.ModuleState) {
			if s == kapi.ModuleComing {
				told++
				require.NoError(t, b.e.Register(x, k))
			}
		})
		require.Contains(t, noText, b.e.Register(x, &Kprobe{Addr: modInit}), "before")
		require.Zero(t, b.k.Modules.Load(x, m))
		require.Equal(t, 1, n)
		require.NotZero(t, b.e.FlagsOf(k)&FlagGone)
		require.Contains(t, noText, b.e.Register(x, &Kprobe{Addr: modInit}), "after")
		require.NoError(t, b.e.Unregister(x, k))
		require.Zero(t, b.e.Table.probes.Len())
	})
	t.pass(b)
	require.Equal(t, 1, told)
}

// A moduleRace is a module that comes, or goes, beside a task that registers a
// probe in it. Its notifier is behind kprobes' own, and waits there for that task;
// who asks for the module's state waits for the notifier. Each waits for so many
// steps only, since the right engine keeps one of them out.
type moduleRace struct {
	kapi.Modules
	told  bool // kprobes has been told what ends the text
	tried bool // the probe was registered then, or refused
	done  bool // the text has ended
}

// State implements kapi.Modules.
func (r *moduleRace) State(x kapi.Context, m *kapi.Module) kapi.ModuleState {
	s := r.Modules.State(x, m)
	r.await(x, &r.told)
	return s
}

func (r *moduleRace) await(x kapi.Context, flag *bool) {
	for i := 0; i < 300 && !*flag; i++ {
		x.Sleep(kapi.Yield)
	}
}

// raceModule registers in a module that goes, or in its init section while it
// comes, and unregisters when that has ended. What was registered is gone then,
// and the engine no longer writes there.
func raceModule(t *specT, goes bool, at arch.Addr) {
	refused, gone, n := 0, 0, 0
	var r *moduleRace
	b := t.withModule(goes,
		func(b *bench, x *smp.Ctx, m *kernel.Module) {
			end := kapi.ModuleLive
			if goes {
				end = kapi.ModuleGoing
			}
			b.k.Modules.OnChange(func(x kapi.Context, _ *kapi.Module, s kapi.ModuleState) {
				if s == end {
					r.told = true
					r.await(x, &r.tried)
				}
			})
			if goes {
				for b.k.Modules.Unload(x, m) != 0 {
					x.Sleep(kapi.Yield)
				}
			} else {
				require.Zero(t, b.k.Modules.Load(x, m))
			}
			r.done = true
		},
		func(b *bench, x *smp.Ctx, m *kernel.Module) {
			for !r.done {
				if goes {
					r.await(x, &r.told)
				}
				k := counting(at, &n)
				err := b.e.Register(x, k)
				r.tried = r.told
				if err != nil {
					require.Contains(t, noText, err)
					refused++
					x.Sleep(kapi.Yield)
					continue
				}
				r.await(x, &r.done)
				if b.e.FlagsOf(k)&FlagGone != 0 {
					gone++
				}
				require.NoError(t, b.e.Unregister(x, k))
			}
		})
	b.wire = func(k *kernel.Kernel, d *Deps) {
		r = &moduleRace{Modules: d.Modules}
		d.Modules = r
	}
	s := sched.NewRandom(sched.Params{Seed: 1, Length: 200})
	for i := range uint64(20) {
		s.Begin(i)
		if got := b.run(s); got != smp.Passed {
			t.Fatalf("schedule %d: %v (%v)", i, got, b.m.Refusal())
		}
	}
	require.True(t, refused > 0 && (gone > 0 || goes), "refused %d, gone %d", refused, gone)
}
