package kprobes

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// plainAt and moduleAt are where the functions of these rules lie; a jump fits in
// both.
var (
	plainAt  arch.Addr = textBase
	moduleAt arch.Addr = textBase + 0x10000
)

// fileBench is a machine with a function of the kernel and one of a module.
func (t *specT) fileBench(program func(b *bench, x *smp.Ctx)) *bench {
	b := bootBench(t, t.Settings, nil, func(b *bench) {
		for _, f := range []kapi.Function{{Name: "plain", Addr: plainAt},
			{Name: "inside", Addr: moduleAt, Module: "mod"}} {
			f.Size = len(jumpFits)
			b.m.Memory().Map(f.Addr, jumpFits, smp.PermRead|smp.PermExec)
			b.m.Names().AddSymbol(f.Name, f.Addr, f.Size)
			b.k.Symbols.Add(f, nil)
		}
	}, program)
	b.wire = t.wire
	return b
}

// lines are those of a file.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// What stands at the beginning of a function.
const (
	asLinked = "text"
	isInt3   = "int3"
	isJump   = "jump"
)

// first says what stands at the beginning of one of the functions.
func first(b *bench, x *smp.Ctx, a arch.Addr) string {
	var c [4]byte
	b.e.d.Text.Read(x, a, c[:])
	return stands(c[:], jumpFits)
}

// stands says what stands where code was.
func stands(now, code []byte) string {
	switch w := arch.Word(now); {
	case row32.IsJump.Match(w):
		return isJump
	case row32.IsBreakpoint(w):
		return isInt3
	case now[0] == code[0]:
		return asLinked
	}
	return fmt.Sprintf("% x", now)
}

// spec7 is section 7 of the specification: the interface files.
var spec7 = []specRule{
	{
		rule: "7.1", says: "address, type, symbol and offset, module; the newest probe of an address first",
		mutants: []specMutant{
			{name: "list-kprobes", row: "list-kprobes"},
			{name: "list-oldest", row: "list-oldest"},
			{name: "list-bare", row: "list-bare"},
		},
		holds: func(t *specT) {
			behind := byWords[arch.Addr](5, 4)
			b := t.fileBench(func(b *bench, x *smp.Ctx) {
				require.NoError(t,
					b.e.Register(x,
						&Kprobe{ID: 1, Addr: plainAt, Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}}))
				require.NoError(t,
					b.e.Register(x,
						&Kprobe{ID: 2, Addr: moduleAt + behind,
							Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}}))
				require.NoError(t, b.e.Kretprobes.Register(x, &Kretprobe{Kprobe: Kprobe{ID: 3, Addr: plainAt}}))
				want := listed("81000000  r  plain+0x0    ", "81000000  k  plain+0x0    ",
					fmt.Sprintf("8101000%d  k  inside+%#[1]x  mod ", behind))
				if t.Settings.Files == era.FilesFirst {
					want = listed("81000000  r  plain+0x0   ", "81000000  k  plain+0x0   ",
						fmt.Sprintf("8101000%d  k  inside+%#[1]x  mod", behind))
				}
				if b.e.Table.chainOf(moduleAt+behind) < b.e.Table.chainOf(plainAt) {
					want = []string{want[2], want[0], want[1]}
				}
				var got []string // less the engine's own on its trampoline
				for line := range strings.Lines(string(b.e.Table.List(nil))) {
					if strings.Contains(line, "plain") || strings.Contains(line, "inside") {
						got = append(got, strings.TrimSuffix(line, "\n"))
					}
				}
				require.Equal(t, want, got)
			})
			t.pass(b)
		},
	},
	{
		rule: "7.1", says: "[DISABLED], and [OPTIMIZED] from the moment it is queued", in: since(rules.Edition415),
		needs: withJumps,
		mutants: []specMutant{
			{name: "list-jumps", row: "list-jumps"},
			{name: "list-bare", row: "list-bare"},
		},
		holds: func(t *specT) {
			b := t.fileBench(func(b *bench, x *smp.Ctx) {
				k := &Kprobe{Addr: plainAt}
				shows := func(tags string) {
					t.Helper()
					require.Equal(t, listed("81000000  k  plain+0x0    " + tags + "\n")[0], string(b.e.Table.List(nil)))
				}
				require.NoError(t, b.e.Register(x, k))
				shows("[OPTIMIZED]")
				b.e.Optimizer.WaitOptimizer(x)
				shows("[OPTIMIZED]")
				require.NoError(t, b.e.Disable(x, k))
				b.e.Optimizer.WaitOptimizer(x)
				shows("[DISABLED]")
				require.NoError(t, b.e.Enable(x, k))
				shows("[OPTIMIZED]")
				require.NoError(t, b.e.Unregister(x, k))
				require.Empty(t, b.e.Table.List(nil))
			})
			t.pass(b)
		},
	},
	{
		rule: "7.1", says: "[GONE], without a symbol: its module unloaded, or its init section freed",
		x86: ofModules,
		in:  since(rules.Edition415),
		mutants: []specMutant{
			{name: "no-kill", row: "module-kept"},
			{name: "list-bare", row: "list-bare"},
		},
		holds: func(t *specT) {
			b := t.withModule(false, func(b *bench, x *smp.Ctx, m *kernel.Module) {
				nowhere := "0x%[1]x"
				if t.Settings.Files == era.FilesPlain {
					nowhere = "%0[2]*[1]x"
				}
				var probes []*Kprobe
				b.k.Modules.OnChange(func(x kapi.Context, _ *kapi.Module, s kapi.ModuleState) {
					for i := 0; s == kapi.ModuleComing && i < 2; i++ {
						k := &Kprobe{ID: uint64(i), Addr: [...]arch.Addr{modInit + 2, modCore + 0x20}[i],
							Flags: FlagDisabled}
						require.NoError(t, b.e.Register(x, k))
						probes = append(probes, k)
					}
				})
				shows := func(want ...string) {
					t.Helper()
					list := string(b.e.Table.List(nil))
					require.Len(t, lines(list), len(want), list)
					for i, k := range probes {
						require.Contains(t, list, fmt.Sprintf("%0[2]*[1]x  k  "+want[i]+"\n", uint64(k.Addr),
							2*row32.Word))
					}
				}
				require.Zero(t, b.k.Modules.Load(x, m))
				shows(nowhere+" [GONE]", "plain+0x0  mod [DISABLED]")
				require.Zero(t, b.k.Modules.Unload(x, m))
				shows(nowhere+" [GONE]", nowhere+" [GONE]")
				for _, k := range probes {
					require.NoError(t, b.e.Unregister(x, k))
				}
				probes = nil
				shows()
			})
			t.pass(b)
		},
	},
	{
		rule: "7.1", says: "[FTRACE]", in: since(rules.Edition415),
		x86:     ofModules,
		mutants: []specMutant{{name: "list-bare", row: "list-bare"}},
		holds: func(t *specT) {
			t.Settings.Kernel.Ftrace = true
			b := t.withModule(true, func(b *bench, x *smp.Ctx, _ *kernel.Module) {
				k := &Kprobe{Addr: modCore + 0x40}
				require.NoError(t, b.e.Register(x, k))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, fmt.Sprintf("%0*x  k  traced+0x0  mod [FTRACE]\n", 2*row32.Word, uint64(k.Addr)),
					string(b.e.Table.List(nil)))
				require.NoError(t, b.e.Disable(x, k))
				require.Equal(t, fmt.Sprintf("%0*x  k  traced+0x0  mod [DISABLED][FTRACE]\n", 2*row32.Word,
					uint64(k.Addr)), string(b.e.Table.List(nil)))
			})
			t.pass(b)
		},
	},
	{
		rule: "7.2", says: "0 disarms all at once, 1 arms all that are not disabled",
		mutants: []specMutant{
			{name: "enabled-ignored", row: "enabled-ignored"},
			{name: "enabled-all", row: "enabled-all", in: since(rules.Edition415)},
		},
		holds: func(t *specT) {
			b := t.fileBench(func(b *bench, x *smp.Ctx) {
				post := func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}
				on, off := &Kprobe{ID: 1, Addr: plainAt, Post: post}, &Kprobe{ID: 2, Addr: moduleAt, Post: post}
				require.NoError(t, b.e.Register(x, on))
				require.NoError(t, b.e.Register(x, off))
				silent := isInt3 // in 2.6 nothing can be disabled
				if t.Settings.Batches {
					require.NoError(t, b.e.Disable(x, off))
					silent = asLinked
				}
				require.NoError(t, b.e.Files.WriteEnabled(x, "0\n"))
				require.Equal(t, "0\n", b.e.Files.ReadEnabled())
				require.Equal(t, [2]string{asLinked, asLinked},
					[2]string{first(b, x, plainAt), first(b, x, moduleAt)})
				require.NoError(t, b.e.Files.WriteEnabled(x, "1\n"))
				require.Equal(t, "1\n", b.e.Files.ReadEnabled())
				require.Equal(t, [2]string{isInt3, silent}, [2]string{first(b, x, plainAt), first(b, x, moduleAt)})
				require.Equal(t, t.Settings.Batches, b.e.FlagsOf(off)&FlagDisabled != 0)
			})
			t.pass(b)
		},
	},
	{
		rule: "7.2", says: "a call in flight returns while all is disarmed",
		mutants: []specMutant{{name: "disarm-trampoline", row: "disarm-trampoline", on: onX8664,
			in: []rules.Edition{rules.Edition26}}},
		holds: func(t *specT) {
			caller := inWords(code{name: "caller", at: plainAt,
				bytes: []byte{0x90, 0xff, 0xd7, 0xc3}}) // nop; call *%rdi; ret
			var writer arch.Addr
			returned := 0
			b := t.bench([]code{caller}, func(b *bench, x *smp.Ctx) {
				require.NoError(t,
					b.e.Kretprobes.Register(x, &Kretprobe{Kprobe: Kprobe{Addr: plainAt},
						Handler: func(kapi.Context, *Instance, *arch.Regs) int {
							returned++
							return 0
						}}))
				for range 2 { // the second one isn't followed
					x.Regs().R[arg0] = uint64(writer)
					x.Call(plainAt)
				}
				require.Equal(t, 1, returned)
			})
			wire := b.wire
			b.wire = func(k *kernel.Kernel, d *Deps) {
				if wire != nil {
					wire(k, d)
				}
				writer = d.Bind.Bind("writer", func(x kapi.Context, _ *arch.Regs) {
					require.NoError(t, b.e.Files.WriteEnabled(x, "0\n"))
				})
			}
			t.pass(b)
		},
	},
	{
		rule: "7.2", says: "while 0, register and enable succeed without arming",
		mutants: []specMutant{{name: "arm-disarmed", row: "arm-disarmed"}},
		holds: func(t *specT) {
			b := t.fileBench(func(b *bench, x *smp.Ctx) {
				require.NoError(t, b.e.Files.WriteEnabled(x, "0\n"))
				k := &Kprobe{Addr: plainAt}
				require.NoError(t, b.e.Register(x, k))
				require.Equal(t, asLinked, first(b, x, plainAt))
				if t.Settings.Batches {
					require.NoError(t, b.e.Disable(x, k))
					require.NoError(t, b.e.Enable(x, k))
					require.Equal(t, asLinked, first(b, x, plainAt))
				}
				require.NoError(t, b.e.Files.WriteEnabled(x, "1\n"))
				require.Equal(t, isInt3, first(b, x, plainAt))
			})
			t.pass(b)
		},
	},
	{
		rule: "7.2", says: "what enabled takes, and its answer to what it doesn't",
		mutants: []specMutant{{name: "enabled-digits", row: "enabled-digits"}},
		holds: func(t *specT) {
			b := t.fileBench(func(b *bench, x *smp.Ctx) {
				wants := "0 1 n y N Y 00 01"
				if t.Settings.Files == era.FilesBool {
					wants += " off on"
				}
				for i, w := range strings.Fields(wants) {
					require.NoError(t, b.e.Files.WriteEnabled(x, w+"\n"), "%q", w)
					now := digit(i%2 == 1)
					if w[0] == '0' {
						now = "0\n" // the first character counts
					}
					require.Equal(t, now, b.e.Files.ReadEnabled(), "%q", w)
				}
				was := b.e.Files.ReadEnabled()
				for _, bad := range []string{"abc", "2", "", "-1"} {
					err := b.e.Files.WriteEnabled(x, bad+"\n")
					require.Equal(t, t.Settings.Files == era.FilesFirst, err == nil, "%q: %v", bad, err)
					require.Equal(t, was, b.e.Files.ReadEnabled(), "%q", bad)
				}
			})
			t.pass(b)
		},
	},
	{
		rule: "7.3", says: "0 unoptimizes all, and new ones are not optimized; 1 optimizes again",
		needs:   withJumps,
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "ignore-sysctl", row: "ignore-sysctl"}},
		holds: func(t *specT) {
			b := t.fileBench(func(b *bench, x *smp.Ctx) {
				both := func() [2]string { return [2]string{first(b, x, plainAt), first(b, x, moduleAt)} }
				require.NoError(t, b.e.Register(x, &Kprobe{ID: 1, Addr: plainAt}))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, [2]string{isJump, asLinked}, both())
				require.NoError(t, b.e.Files.WriteOptimization(x, "0\n"))
				require.Equal(t, [2]string{isInt3, asLinked}, both())
				require.NoError(t, b.e.Register(x, &Kprobe{ID: 2, Addr: moduleAt}))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, [2]string{isInt3, isInt3}, both())
				require.NoError(t, b.e.Files.WriteOptimization(x, "1\n"))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, [2]string{isJump, isJump}, both())
			})
			t.pass(b)
		},
	},
	{
		rule: "7.3", says: "it takes 0 or 1, and is there with CONFIG_OPTPROBES", in: since(rules.Edition415),
		needs:   withJumps,
		mutants: []specMutant{{name: "sysctl-range", row: "sysctl-range"}},
		holds: func(t *specT) {
			b := t.fileBench(func(b *bench, x *smp.Ctx) {
				require.True(t, b.e.Files.HasOptimization())
				for _, w := range []string{"0", "1"} {
					require.NoError(t, b.e.Files.WriteOptimization(x, w+"\n"))
					require.Equal(t, w+"\n", b.e.Files.ReadOptimization())
				}
				for _, bad := range []string{"2", "-1", "abc", "", "n"} {
					require.Equal(t, EINVAL, b.e.Files.WriteOptimization(x, bad+"\n"), "%q", bad)
					require.Equal(t, "1\n", b.e.Files.ReadOptimization(), "%q", bad)
				}
			})
			t.pass(b)
			t.Settings.Kernel.Optprobes = false
			b = t.fileBench(func(b *bench, x *smp.Ctx) { require.False(t, b.e.Files.HasOptimization()) })
			t.pass(b)
		},
	},
	{
		rule: "7.4", says: "enabled is 1",
		mutants: []specMutant{{name: "start-off", row: "start-off"}},
		holds: func(t *specT) {
			b := t.fileBench(func(b *bench, x *smp.Ctx) {
				require.Equal(t, "1\n", b.e.Files.ReadEnabled())
				require.NoError(t, b.e.Register(x, &Kprobe{Addr: plainAt}))
				require.Equal(t, isInt3, first(b, x, plainAt))
			})
			t.pass(b)
		},
	},
	{
		rule: "7.4", says: "kprobes-optimization is 1", in: since(rules.Edition415),
		needs:   withJumps,
		mutants: []specMutant{{name: "start-off", row: "start-off"}},
		holds: func(t *specT) {
			b := t.fileBench(func(b *bench, x *smp.Ctx) {
				require.Equal(t, "1\n", b.e.Files.ReadOptimization())
				require.NoError(t, b.e.Register(x, &Kprobe{Addr: plainAt}))
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, isJump, first(b, x, plainAt))
			})
			t.pass(b)
		},
	},
}
