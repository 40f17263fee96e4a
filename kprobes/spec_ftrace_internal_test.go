package kprobes

import (
	"bytes"

	"github.com/stretchr/testify/require"

	"kpsim/engine/ftrace"
	"kpsim/engine/jumplabel"
	"kpsim/engine/staticcall"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// traced begins with a site of ftrace and then is victim; aside is somewhere else
// to go, and is traced, too.
var (
	traced = inWords(code{name: "traced", at: textBase + 0x200, bytes: append(x86.Nop5[:len(x86.Nop5):len(x86.Nop5)],
		victim.bytes...)})
	aside = inWords(code{name: "aside", at: textBase + 0x240, bytes: append(x86.Nop5[:len(x86.Nop5):len(x86.Nop5)],
		0xb8, 100, 0, 0, 0, 0xc3)})
)

// withSites is a bench with the two.
func (t *specT) withSites(programs ...func(b *bench, x *smp.Ctx)) *bench {
	b := t.bench([]code{victim, traced, aside}, programs...)
	b.ftrace.AddSite(traced.site())
	b.ftrace.AddSite(aside.site())
	b.m.Freeze()
	return b
}

// callArg calls a function with an argument.
func callArg(x *smp.Ctx, f arch.Addr, arg uint64) uint64 {
	x.Regs().R[arg0] = arg
	return x.Call(f)
}

// site returns where the site of a function is that begins with one.
func (c *code) site() arch.Addr { return specArch.Linux().Sites[0].At(c.at) }

// siteCalls reports whether the text of a site isn't its nop.
func siteCalls(b *bench, x kapi.Context, at arch.Addr) bool {
	a := b.k.Text.Arch()
	now := make([]byte, a.BranchLen)
	b.k.Text.Read(x, at, now)
	nop := a.Sites[0].Nop(at, at)
	return !bytes.Equal(now, nop.Bytes())
}

// unreserved is symbols that know of no sites.
type unreserved struct{ kapi.Symbols }

func (unreserved) Reserved(arch.Addr, int) bool                         { return false }
func (unreserved) Sites(to []kapi.Site, _ arch.Addr, _ int) []kapi.Site { return to }

// specFtrace is what is around the engine: rule 8.4, and what other sections say
// of sites.
var specFtrace = []specRule{
	{
		rule: "8.4", says: "no breakpoint and no jump, but a call; handlers see what they would of a breakpoint, and of a nop that was stepped",
		needs: withFtrace,
		in:    since(rules.Edition415),
		mutants: []specMutant{
			{name: "without KPROBES_ON_FTRACE", do: func(s *Settings) { s.Kernel.Ftrace = false }},
			{name: "pre-ip", row: "pre-ip", on: onX86},
			{name: "skip-post", row: "post-skipped"},
		},
		holds: func(t *specT) {
			b := t.withSites(func(b *bench, x *smp.Ctx) {
				var seen []uint64
				past, branch := uint64(b.k.Text.Arch().Past), uint64(b.k.Text.Arch().BranchLen)
				k := &Kprobe{Addr: traced.site(), Pre: func(_ kapi.Context, k *Kprobe, regs *arch.Regs) int {
					seen = append(seen, uint64(regs.IP-k.Addr), regs.R[arg0])
					regs.R[arg0] = 50
					return 0
				}}
				require.NoError(t, b.e.Register(x, k))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, FlagFtrace, b.e.FlagsOf(k)&(FlagFtrace|FlagOptimized))
				require.True(t, siteCalls(b, x, traced.site()))
				require.EqualValues(t, 53, callArg(x, traced.at, 7))
				require.Equal(t, []uint64{past, 7}, seen)
				require.NoError(t, b.e.Unregister(x, k))
				require.False(t, siteCalls(b, x, traced.site()))

				seen = nil
				k = &Kprobe{Addr: traced.site(), Pre: k.Pre, Post: func(_ kapi.Context, k *Kprobe, regs *arch.Regs,
					flags uint64) {
					seen = append(seen, uint64(regs.IP-k.Addr), flags)
				}}
				require.NoError(t, b.e.Register(x, k))
				require.EqualValues(t, 53, callArg(x, traced.at, 8))
				require.Equal(t, []uint64{past, 8, branch, 0}, seen)
				require.NoError(t, b.e.Unregister(x, k))
				require.EqualValues(t, 10, callArg(x, traced.at, 7))
				require.Len(t, seen, 4)
			})
			t.pass(b)
		},
	},
	{
		rule: "8.4", says: "a pre_handler's change of the path holds, and no post_handler runs then",
		needs: withFtrace,
		in:    since(rules.Edition415),
		mutants: []specMutant{
			{name: "keeps-path", row: "ftrace-keeps-path"},
			{name: "ignore-pre", row: "path-ignored"},
		},
		holds: func(t *specT) {
			b := t.withSites(func(b *bench, x *smp.Ctx) {
				n := 0
				k := &Kprobe{Addr: traced.site(), Pre: func(_ kapi.Context, k *Kprobe, regs *arch.Regs) int {
					regs.IP = aside.at
					return 1
				}, Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) { n++ }}
				require.NoError(t, b.e.Register(x, k))
				require.EqualValues(t, 100, callArg(x, traced.at, 7))
				require.Zero(t, n)
				require.NoError(t, b.e.Unregister(x, k))
			})
			t.pass(b)
		},
	},
	{
		rule: "8.4", says: "a site hit inside a handler is missed; disabled it is a nop again",
		needs: withFtrace,
		in:    since(rules.Edition415),
		mutants: []specMutant{
			{name: "no-missed", row: "missed-uncounted"},
			{name: "run-disabled", row: "arm-disabled"},
		},
		holds: func(t *specT) {
			b := t.withSites(func(b *bench, x *smp.Ctx) {
				inner, outer := 0, 0
				k := counting(aside.site(), &inner)
				o := &Kprobe{Addr: traced.site(), Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
					outer++
					require.EqualValues(t, 100, x.Call(aside.at))
					return 0
				}}
				require.NoError(t, b.e.Register(x, k))
				require.NoError(t, b.e.Register(x, o))
				require.EqualValues(t, 10, callArg(x, traced.at, 7))
				require.Equal(t, [4]int{0, 1, 1, 0}, [4]int{inner, outer, k.Missed(), o.Missed()})
				require.NoError(t, b.e.Disable(x, k))
				require.False(t, siteCalls(b, x, aside.site()))
				require.True(t, siteCalls(b, x, traced.site()))
				require.NoError(t, b.e.Enable(x, k))
				x.Call(aside.at)
				require.Equal(t, 1, inner)
				b.e.Files.SetArmed(x, false)
				require.False(t, siteCalls(b, x, aside.site()))
				x.Call(aside.at)
				require.Equal(t, 1, inner)
				b.e.Files.SetArmed(x, true)
				x.Call(aside.at)
				require.Equal(t, 2, inner)
				require.NoError(t, b.e.Unregister(x, o))
				require.NoError(t, b.e.Unregister(x, k))
				d := counting(aside.site(), &inner)
				d.Flags = FlagDisabled
				require.NoError(t, b.e.Register(x, d))
				require.False(t, siteCalls(b, x, aside.site()))
				require.NoError(t, b.e.Unregister(x, d))
			})
			t.pass(b)
		},
	},
	{
		rule: "8.4", says: "several at a site, the post_handler first or last: all gone, the site is a nop",
		needs: withFtrace,
		in:    since(rules.Edition415),
		mutants: []specMutant{
			{name: "by-post", row: "ftrace-by-post", in: since(rules.Edition514)}, // before, there is one client
		},
		none: "until 5.3 all probes are of one client, which the mutant can't confuse with another",
		holds: func(t *specT) {
			b := t.withSites(func(b *bench, x *smp.Ctx) {
				for i := range 4 {
					n, posts := 0, 0
					pre, post := counting(traced.site(), &n), counting(traced.site(), &n)
					post.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }
					ks := []*Kprobe{pre, post}
					if i&1 != 0 {
						ks[0], ks[1] = post, pre
					}
					require.NoError(t, b.e.Register(x, ks[0]))
					require.NoError(t, b.e.Register(x, ks[1]))
					require.EqualValues(t, 10, callArg(x, traced.at, 7))
					require.Equal(t, [2]int{2, 1}, [2]int{n, posts})
					require.NoError(t, b.e.Unregister(x, ks[i>>1]))
					require.NoError(t, b.e.Unregister(x, ks[1-i>>1]))
					require.False(t, siteCalls(b, x, traced.site()))
					require.Zero(t, b.e.Table.probes.Len())
				}
			})
			t.pass(b)
		},
	},
	{
		rule: "8.4", says: "who may change the path claims the site: until 5.3 every probe, later one with a post_handler",
		needs: withFtrace,
		in:    since(rules.Edition415),
		mutants: []specMutant{
			{name: "the other", do: func(s *Settings) { s.FtraceClaims = !s.FtraceClaims }},
		},
		holds: func(t *specT) {
			b := t.withSites(func(b *bench, x *smp.Ctx) {
				n := 0
				patch := b.ftrace.NewOps("livepatch", func(_ kapi.Context, _ arch.Addr, regs *arch.Regs) { n++ },
					ftrace.Modifies)
				require.Zero(t, patch.Filter(x, traced.site(), true))
				require.Zero(t, patch.Register(x))
				pre, post := counting(traced.site(), &n), counting(traced.site(), &n)
				post.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}
				require.Equal(t, EBUSY, b.e.Register(x, post))
				require.Zero(t, b.e.Table.probes.Len())
				if t.Edition == rules.Edition415 {
					require.Equal(t, EBUSY, b.e.Register(x, pre))
				} else {
					require.NoError(t, b.e.Register(x, pre))
					callArg(x, traced.at, 7)
					require.Equal(t, 2, n)
					require.NoError(t, b.e.Unregister(x, pre))
				}
				require.Zero(t, patch.Unregister(x))
				require.NoError(t, b.e.Register(x, post))
				require.Equal(t, ftrace.EBUSY, patch.Register(x))
				require.NoError(t, b.e.Unregister(x, post))
			})
			t.pass(b)
		},
	},
	{
		rule: "8.4", says: "a return probe's entry goes through ftrace, too",
		needs:   withFtrace,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "no-hook", row: "return-not-hooked"}},
		holds: func(t *specT) {
			b := t.withSites(func(b *bench, x *smp.Ctx) {
				var values []uint64
				r := &Kretprobe{Kprobe: Kprobe{Addr: traced.site()},
					Handler: func(_ kapi.Context, _ *Instance, regs *arch.Regs) int {
						values = append(values, regs.R[result])
						return 0
					}}
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				require.Equal(t, FlagFtrace, b.e.FlagsOf(&r.Kprobe)&FlagFtrace)
				require.EqualValues(t, 10, callArg(x, traced.at, 7))
				require.Equal(t, []uint64{10}, values)
				require.NoError(t, b.e.Kretprobes.Unregister(x, r))
				require.EqualValues(t, 10, callArg(x, traced.at, 7))
			})
			t.pass(b)
		},
	},
	{
		rule: "8.4", says: "a module's site goes with it, and comes again as a nop",
		x86:     ofModules,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "kill-keeps-ftrace", row: "kill-keeps-ftrace"}},
		holds: func(t *specT) {
			b := t.withModule(true, func(b *bench, x *smp.Ctx, m *kernel.Module) {
				n := 0
				at := arch.Addr(modCore + 0x40)
				k := counting(at, &n)
				require.NoError(t, b.e.Register(x, k))
				x.Call(at)
				require.Zero(t, b.k.Modules.Unload(x, m))
				require.Zero(t, b.k.Modules.Load(x, m))
				require.False(t, siteCalls(b, x, at))
				x.Call(at)
				require.Equal(t, 1, n)
				require.NoError(t, b.e.Unregister(x, k))
				k = counting(at, &n)
				require.NoError(t, b.e.Register(x, k))
				x.Call(at)
				require.Equal(t, 2, n)
				require.NoError(t, b.e.Unregister(x, k))
				require.False(t, siteCalls(b, x, at))
			})
			t.pass(b)
		},
	},
	{
		rule: "8.4", says: "beside CPUs that call: each call is right, and after unregister no handler runs",
		needs:   withFtrace,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "no-grace", row: "no-grace"}},
		holds: func(t *specT) {
			gone, late, wrong, hits := true, 0, 0, 0
			run := func(b *bench, x *smp.Ctx) {
				for i := range 4 {
					if callArg(x, traced.at, uint64(i)) != uint64(i)+3 || callArg(x, aside.at, 0) != 100 {
						wrong++
					}
				}
			}
			b := t.withSites(func(b *bench, x *smp.Ctx) {
				// unregistering the last one waits for its callers
				require.NoError(t, b.e.Register(x, &Kprobe{Addr: aside.site()}))
				for range 2 {
					k := &Kprobe{Addr: traced.site(), Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
						for i := range 80 { // longer than unregistering takes
							x.Step("handler", i)
						}
						if hits++; gone {
							late++
						}
						return 0
					}}
					gone = false
					require.NoError(t, b.e.Register(x, k))
					require.NoError(t, b.e.Unregister(x, k))
					gone = true
					for i := range 10 {
						x.Step("unregistered", i)
					}
				}
			}, run, run)
			s := sched.NewRandom(sched.Params{Seed: 1, Length: 200})
			for i := range uint64(40) {
				s.Begin(i)
				require.Equal(t, smp.Passed, b.run(s), "schedule %d: %v", i, b.m.Refusal())
			}
			require.True(t, hits > 0 && late == 0 && wrong == 0, "%d hits, %d after unregister, %d wrong results", hits,
				late, wrong)
		},
	},
	{
		rule: "7.1", says: "[FTRACE], and [GONE] without [DISABLED]",
		x86:     ofModules,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "bare", row: "list-bare"}},
		holds: func(t *specT) {
			b := t.withModule(true, func(b *bench, x *smp.Ctx, m *kernel.Module) {
				n := 0
				f, d := counting(modCore+0x40, &n), counting(modCore+0x20, &n)
				d.Flags = FlagDisabled
				require.NoError(t, b.e.Register(x, f))
				require.NoError(t, b.e.Register(x, d))
				list := string(b.e.Table.List(nil))
				require.Contains(t, list, "  k  traced+0x0  mod [FTRACE]\n")
				require.Contains(t, list, "  k  plain+0x0  mod [DISABLED]\n")
				require.Zero(t, b.k.Modules.Unload(x, m))
				list = string(b.e.Table.List(nil))
				require.Contains(t, list, " [GONE][FTRACE]\n")
				require.Contains(t, list, " [GONE]\n")
				require.NotContains(t, list, "DISABLED")
				require.NoError(t, b.e.Unregister(x, f))
				require.NoError(t, b.e.Unregister(x, d))
				require.Empty(t, b.e.Table.List(nil))
			})
			t.pass(b)
		},
	},
	{
		rule: "4.2", says: "text that others rewrite refuses probes, and no jump goes over it",
		in: since(rules.Edition415),
		mutants: []specMutant{{name: "unreserved", wire: func(_ *kernel.Kernel, d *Deps) {
			d.Symbols = unreserved{d.Symbols}
		}}},
		holds: func(t *specT) {
			// f: xor %eax,%eax; a 5-byte nop; ret: what stands there is the nop's kind.
			f := inWords(code{name: "f", at: textBase + 0x300, bytes: []byte{0x31, 0xc0, 0x0f, 0x1f, 0x44, 0, 0, 0xc3,
				0x90, 0x90, 0xc3}})
			site := f.insn(1)
			for _, c := range []struct {
				name  string
				since rules.Edition
				make  func(k *kernel.Kernel)
			}{
				{"jump label", rules.Edition415, func(k *kernel.Kernel) {
					jumplabel.New(k, &k.Text, &k.Traps, &k.Hotplug).Add(false,
						jumplabel.Place{At: site, Target: f.insn(3)})
				}},
				{"static call", rules.Edition514, func(k *kernel.Kernel) {
					staticcall.New(staticcall.Deps{Boot: k, Cells: &k.M.Cells, Text: &k.Text,
						Traps: &k.Traps, CPUs: &k.Hotplug,
						Patch: &k.Poke}).Add(0, 0, staticcall.CallSite{At: site})
				}}, // 5.10 and later
			} {
				if t.Edition < c.since || !row32.BreakpointFirst && c.name != "jump label" {
					continue
				}
				b := t.bench([]code{f}, func(b *bench, x *smp.Ctx) {
					for at := site; at < f.insn(2); at++ {
						require.Equal(t, EINVAL, b.e.Register(x, &Kprobe{Addr: at}), "%s+%d", c.name, at-site)
					}
					k := &Kprobe{Addr: f.at, Pre: nothing}
					require.NoError(t, b.e.Register(x, k))
					b.e.Optimizer.WaitOptimizer(x)
					if row32.BreakpointFirst { // where an instruction is a region, no jump goes over another
						require.Zero(t, b.e.FlagsOf(k)&FlagOptimized, c.name)
					}
					require.Zero(t, callArg(x, f.at, 1))
					require.NoError(t, b.e.Unregister(x, k))
				})
				c.make(b.k)
				t.pass(b)
			}
		},
	},
}
