package kprobes

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// What kprobes/list read as on two kernels, with our own probes in it.
//
//go:embed testdata/files/k61.txt
var listK61 string

//go:embed testdata/files/k612.txt
var listK612 string

// What it read as with probes in two modules, kpasm and kpc; when kpasm was
// unloaded; and when its probes were unregistered and kpc was unloaded.
//
//go:embed testdata/files/gone-k61.txt
var goneK61 string

//go:embed testdata/files/gone-k612.txt
var goneK612 string

// A listing is a recorded list, and what has to be done for it: a function at each
// address, which a jump fits in or which ftrace has a site in if the line says so,
// and a probe.
type listing struct {
	lines []string
	funcs []kapi.Function
	codes [][]byte
	sites []arch.Addr
}

// jumpFits can be optimized at its first byte; jumpInto can't, for it jumps there.
var (
	jumpFits = inWords(code{name: "plain", bytes: []byte{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}}).bytes
	jumpInto = []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xfa, 0xc3}
	endbr64  = []byte{0xf3, 0x0f, 0x1e, 0xfa}
)

// parseListing reads a recording.
func parseListing(t testing.TB, text string) (l listing) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		var at, off uint64
		var letter, place string
		_, err := fmt.Sscanf(line, "%x %s %s", &at, &letter, &place)
		require.NoError(t, err)
		name, hex, _ := strings.Cut(place, "+")
		_, err = fmt.Sscanf(hex, "0x%x", &off)
		require.NoError(t, err)
		f := kapi.Function{Name: name, Addr: arch.Addr(at - off)}
		if words := strings.Fields(line); len(words) > 3 && words[3][0] != '[' {
			f.Module = words[3]
		}
		l.lines = append(l.lines, line)
		if n := len(l.funcs); n > 0 && l.funcs[n-1].Addr == f.Addr {
			continue // a second probe at the place
		}
		body := jumpInto
		if strings.Contains(line, "[OPTIMIZED]") {
			body = jumpFits
		}
		if strings.Contains(line, "[FTRACE]") {
			body = jumpFits
			l.sites = append(l.sites, arch.Addr(at))
		}
		code := append([]byte(strings.Repeat("\x90", int(off))), body...)
		if off == 4 {
			copy(code, endbr64)
		}
		f.Size = len(code)
		l.funcs, l.codes = append(l.funcs, f), append(l.codes, code)
	}
	return l
}

// bench is a machine with the listing's functions in their modules.
func (l *listing) bench(t testing.TB, r *recording, program func(b *bench, x *smp.Ctx)) *bench {
	s := settingsOf(r.ed, true)
	s.Kernel.Ftrace, s.Kernel.IBT = true, r.ibt
	return bootBench(t, s, nil, func(b *bench) {
		for _, module := range []string{"", "kpasm", "kpc"} {
			var texts []kernel.ModuleText
			for i, f := range l.funcs {
				switch {
				case f.Module != module:
				case module == "":
					b.m.Memory().Map(f.Addr, l.codes[i], smp.PermRead|smp.PermExec)
					b.m.Names().AddSymbol(f.Name, f.Addr, f.Size)
					b.k.Symbols.Add(f, nil)
				default:
					texts = append(texts, kernel.ModuleText{Name: f.Name, At: f.Addr, Code: l.codes[i]})
				}
			}
			if texts != nil {
				b.k.Modules.NewModule(module, texts, 0, 0, true)
			}
		}
		for _, at := range l.sites {
			_, ok := b.ftrace.AddSite(at)
			require.True(t, ok)
		}
	}, program)
}

// register registers the probes, the last line's first: the newest of an address
// is listed first. It returns what unregisters each.
func (l *listing) register(t testing.TB, b *bench, x *smp.Ctx) []func(x *smp.Ctx) {
	unregister := make([]func(x *smp.Ctx), len(l.lines))
	for i := len(l.lines) - 1; i >= 0; i-- {
		r := &Kretprobe{Kprobe: Kprobe{ID: uint64(i)}}
		k := &r.Kprobe
		_, err := fmt.Sscanf(l.lines[i], "%x", (*uint64)(&k.Addr))
		require.NoError(t, err)
		if strings.Contains(l.lines[i], "[DISABLED]") {
			k.Flags = FlagDisabled
		}
		if strings.Contains(l.lines[i], "  r  ") {
			require.NoError(t, b.e.Kretprobes.Register(x, r), l.lines[i])
			unregister[i] = func(x *smp.Ctx) { require.NoError(t, b.e.Kretprobes.Unregister(x, r)) }
		} else {
			require.NoError(t, b.e.Register(x, k), l.lines[i])
			unregister[i] = func(x *smp.Ctx) { require.NoError(t, b.e.Unregister(x, k)) }
		}
	}
	return unregister
}

// unoptimized is the list without its jumps.
func (l *listing) unoptimized() string {
	return strings.ReplaceAll(l.String(), "[OPTIMIZED]", "")
}

func (l *listing) String() string { return strings.Join(l.lines, "\n") + "\n" }

// A recording is what was recorded of a kernel.
type recording struct {
	name       string
	text, gone string
	ed         rules.Edition
	ibt        bool
}

var recordings = []recording{{"k61", listK61, goneK61, rules.Edition65, false},
	{"k612", listK612, goneK612, rules.Edition69, true}}

// TestListGone: probes whose module is unloaded are [GONE] and have no symbol, and
// stay listed until they are unregistered; [FTRACE] stays with them.
func TestListGone(t *testing.T) {
	for i := range recordings {
		r := &recordings[i]
		t.Run(r.name, func(t *testing.T) {
			states := strings.SplitAfter(r.gone, "\n\n")
			require.Len(t, states, 3)
			l := parseListing(t, strings.TrimSuffix(states[0], "\n"))
			b := l.bench(t, r, func(b *bench, x *smp.Ctx) {
				unregister := l.register(t, b, x)
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, l.String(), string(b.e.Table.List(nil)))
				require.Zero(t, b.k.Modules.Unload(x, b.k.Modules.Named("kpasm")))
				require.Equal(t, strings.TrimSuffix(states[1], "\n"), string(b.e.Table.List(nil)))
				for i, line := range l.lines {
					if strings.Contains(line, "kpasm") {
						unregister[i](x)
					}
				}
				require.Zero(t, b.k.Modules.Unload(x, b.k.Modules.Named("kpc")))
				require.Equal(t, states[2], string(b.e.Table.List(nil)))
				for i, line := range l.lines {
					if !strings.Contains(line, "kpasm") {
						unregister[i](x)
					}
				}
				require.Empty(t, b.e.Table.List(nil))
			})
			b.pass(t)
		})
	}
}

// TestListRecorded: the file reads as recorded, byte for byte, in the order of the
// kernel's hash table; also after the optimizer, with the sysctl at 0, and at 1 again.
func TestListRecorded(t *testing.T) {
	for i := range recordings {
		r := &recordings[i]
		t.Run(r.name, func(t *testing.T) {
			l := parseListing(t, r.text)
			b := l.bench(t, r, func(b *bench, x *smp.Ctx) {
				l.register(t, b, x)
				require.Equal(t, l.String(), string(b.e.Table.List(nil)), "queued is listed as optimized")
				b.e.Optimizer.WaitOptimizer(x)
				require.Equal(t, l.String(), string(b.e.Table.List(nil)))

				require.NoError(t, b.e.Files.WriteOptimization(x, "0\n"))
				require.Equal(t, "0\n", b.e.Files.ReadOptimization())
				require.Equal(t, l.unoptimized(), string(b.e.Table.List(nil)))
				for _, bad := range []string{"2\n", "-1\n", "abc\n", "\n"} {
					require.Equal(t, EINVAL, b.e.Files.WriteOptimization(x, bad), "%q", bad)
					require.Equal(t, "0\n", b.e.Files.ReadOptimization())
				}
				require.NoError(t, b.e.Files.WriteOptimization(x, "1\n"))
				require.Equal(t, "1\n", b.e.Files.ReadOptimization())
				require.Equal(t, l.String(), string(b.e.Table.List(nil)))
			})
			b.pass(t)
		})
	}
}

// TestEnabledRecorded: the writes to enabled that were recorded, in their order: what
// each answers, what the file reads as then, and that the list shows no jump while
// it is 0 and all flags again at 1. Meanwhile the sysctl may be written as well.
func TestEnabledRecorded(t *testing.T) {
	for i := range recordings {
		r := &recordings[i]
		t.Run(r.name, func(t *testing.T) {
			l := parseListing(t, r.text)
			b := l.bench(t, r, func(b *bench, x *smp.Ctx) {
				l.register(t, b, x)
				b.e.Optimizer.WaitOptimizer(x)
				for _, w := range []struct {
					s   string
					bad bool
					now string
				}{
					{"0", false, "0"}, {"1", false, "1"}, {"n", false, "0"}, {"y", false, "1"}, {"N", false, "0"},
					{"Y", false, "1"}, {"on", false, "1"}, {"off", false, "0"},
					{"abc", true, "0"}, {"2", true, "0"}, {"", true, "0"}, {"00", false, "0"}, {"01", false, "0"},
					{"0 1", false, "0"}, {"-1", true, "0"},
				} {
					if err := b.e.Files.WriteEnabled(x, w.s+"\n"); w.bad {
						require.Equal(t, EINVAL, err, "%q", w.s)
					} else {
						require.NoError(t, err, "%q", w.s)
					}
					require.Equal(t, w.now+"\n", b.e.Files.ReadEnabled(), "after %q", w.s)
					want := l.String()
					if w.now == "0" {
						want = l.unoptimized()
					}
					require.Equal(t, want, string(b.e.Table.List(nil)), "after %q", w.s)
				}
				require.NoError(t, b.e.Files.WriteOptimization(x, "0\n"))
				require.NoError(t, b.e.Files.WriteOptimization(x, "1\n"))
				require.Equal(t, l.unoptimized(), string(b.e.Table.List(nil)))
				require.NoError(t, b.e.Files.WriteEnabled(x, "1\n"))
				require.Equal(t, l.String(), string(b.e.Table.List(nil)))
			})
			b.log.Store = true
			b.pass(t)
			var lines []string
			for i := range b.log.Events {
				if e := &b.log.Events[i]; e.Kind == kpev.Printk {
					lines = append(lines, kpev.Text(kpev.Line(e.A), e.B, e.C))
				}
			}
			require.Equal(t, []string{
				"kprobes: Kprobes globally disabled", "kprobes: Kprobes globally enabled",
				"kprobes: Kprobes globally disabled", "kprobes: Kprobes globally enabled",
				"kprobes: Kprobes globally disabled", "kprobes: Kprobes globally enabled",
				"kprobes: Kprobes globally disabled",
				"kprobes: kprobe jump-optimization is disabled. All kprobes are based on software breakpoint.",
				"kprobes: kprobe jump-optimization is enabled. All kprobes are optimized if possible.",
				"kprobes: Kprobes globally enabled",
			}, lines)
		})
	}
}

// TestChainOf: the old hash was written as shifts and sums (until 4.6); of the new one
// the recorded order says enough.
func TestChainOf(t *testing.T) {
	e := bare(era.Settings{Kernel: rules.Kernel{Edition: rules.Edition26}})
	for i := range uint64(1000) {
		at := 0xffffffff81000000 + i*i*37
		sum := at
		for _, s := range []struct {
			by   int
			less bool
		}{{18, true}, {51, true}, {54, false}, {57, true}, {61, false}, {63, false}} {
			if n := at << s.by; s.less {
				sum -= n
			} else {
				sum += n
			}
		}
		require.Equal(t, sum>>58, e.Table.chainOf(arch.Addr(at)), "%#x", at)
	}
}

// TestListOrder: a chain's newest point comes first; an address's newest probe, too.
func TestListOrder(t *testing.T) {
	same := []arch.Addr{textBase}
	e := bare(era.Settings{})
	for a := textBase + 16; len(same) < 3; a += 16 {
		if e.Table.chainOf(a) == e.Table.chainOf(same[0]) {
			same = append(same, a)
		}
	}
	var codes []code
	for i, a := range same {
		codes = append(codes, code{name: string(rune('a' + i)), at: a, bytes: jumpInto})
	}
	b := newBench(t, repaired, codes, func(b *bench, x *smp.Ctx) {
		for _, a := range same {
			require.NoError(t, b.e.Register(x, &Kprobe{Addr: a}))
		}
		require.NoError(t, b.e.Register(x, &Kprobe{Addr: same[1], Flags: FlagDisabled}))
		var order []string
		for line := range strings.Lines(string(b.e.Table.List(nil))) {
			order = append(order, strings.TrimSpace(line[len("ffffffff81000000  k  "):]))
		}
		require.Equal(t, []string{"c+0x0", "b+0x0    [DISABLED]", "b+0x0", "a+0x0"}, order)
	})
	b.pass(t)
}

// TestListFormats: the line of a probe with a symbol and without, in each generation.
func TestListFormats(t *testing.T) {
	at := arch.Addr(0xffffffffc02c7040)
	for files, want := range map[era.Files][3]string{
		era.FilesBool: {"ffffffffc02c7040  k  f+0x0    \n", "ffffffffc02c7040  k  f+0x0  m [DISABLED]\n",
			"ffffffffc02c7040  k  0xffffffffc02c7040 [GONE]\n"},
		era.FilesChar: {"ffffffffc02c7040  k  f+0x0    \n", "ffffffffc02c7040  k  f+0x0  m [DISABLED]\n",
			"ffffffffc02c7040  k  0xffffffffc02c7040 [GONE]\n"},
		era.FilesPlain: {"ffffffffc02c7040  k  f+0x0    \n", "ffffffffc02c7040  k  f+0x0  m [DISABLED]\n",
			"ffffffffc02c7040  k  ffffffffc02c7040 [GONE]\n"},
		era.FilesFirst: {"ffffffffc02c7040  k  f+0x0   \n", "ffffffffc02c7040  k  f+0x0  m\n",
			"ffffffffc02c7040  k  ffffffffc02c7040\n"},
	} {
		for i, f := range []kapi.Function{{Name: "f", Addr: at, Size: 8}, {Name: "f", Addr: at, Size: 8, Module: "m"},
			{Name: "g", Addr: at + 8, Size: 8}} {
			s := repaired
			s.Files = files
			b := newBench(t, s, nil, func(b *bench, x *smp.Ctx) {
				p := &Aggr{addr: at}
				k := &Kprobe{aggr: p, gone: i == 2}
				k.disabled.Set(i > 0)
				require.Equal(t, want[i], string(b.e.Files.ReportProbe(nil, p, k)), "generation %d", files)
				k.ret = new(Kretprobe)
				require.Contains(t, string(b.e.Files.ReportProbe(nil, p, k)), "  r  ")
				k.ret, k.jp = nil, new(Jprobe)
				require.Contains(t, string(b.e.Files.ReportProbe(nil, p, k)), "  j  ")
			})
			b.k.Symbols.Add(f, nil)
			b.pass(t)
		}
	}
}

// TestBlacklistFormat: a tab before the name, and the module in brackets.
func TestBlacklistFormat(t *testing.T) {
	b := newBench(t, repaired, nil, func(b *bench, x *smp.Ctx) {
		require.Equal(t, "0xffffffff81c00990-0xffffffff81c009b0\tasm_exc_divide_error\n"+
			"0xffffffffc02c7ef0-0xffffffffc02c7f00\tn_nokprobe [kpasm]\n", string(b.e.Files.Blacklist(nil)))
	})
	b.wire = func(k *kernel.Kernel, _ *Deps) {}
	for _, f := range []kapi.Function{{Name: "asm_exc_divide_error", Addr: 0xffffffff81c00990, Size: 0x20},
		{Name: "n_nokprobe", Addr: 0xffffffffc02c7ef0, Size: 0x10, Module: "kpasm"}} {
		b.k.Symbols.Add(f, nil)
		b.k.Symbols.Ban(f, kapi.BanSymbol)
	}
	b.pass(t)
}

// TestSysctlNumber: what proc_dointvec takes.
func TestSysctlNumber(t *testing.T) {
	for s, want := range map[string]int{
		"0\n": 0, "1\n": 1, "1": 1, " 1\n": 1, "\t0": 0, "01\n": 1, "00": 0, "0x1\n": 1, "0X0": 0, "1 abc\n": 1, "7": 7,
		"010": 8, "0x10": 16,
		"": -1, "\n": -1, "n\n": -1, "-1\n": -1, "+1\n": -1, "1x": -1, "0x": -1, "08": -1, "0xg": -1,
		"99999999999999999999": -1,
	} {
		n, ok := sysctlNumber(s)
		if !ok {
			n = ^uint64(0)
		}
		require.Equal(t, want, int(n), "%q", s)
	}
}

// TestTruth: what a write to enabled means, by generation: as recorded for kernels
// since 5.16, by the first character before.
func TestTruth(t *testing.T) {
	for _, w := range []struct {
		s        string
		now, was string // 0, 1, or - for nothing
	}{
		{"0\n", "0", "0"}, {"1\n", "1", "1"}, {"n\n", "0", "0"}, {"y\n", "1", "1"}, {"N\n", "0", "0"},
		{"Y\n", "1", "1"},
		{"on\n", "1", "-"}, {"off\n", "0", "-"}, {"On\n", "1", "-"}, {"OFF\n", "0", "-"}, {"o\n", "-", "-"},
		{"t\n", "1", "-"}, {"False\n", "0", "-"},
		{"abc\n", "-", "-"}, {"2\n", "-", "-"}, {"\n", "-", "-"}, {"", "-", "-"}, {"00\n", "0", "0"},
		{"01\n", "0", "0"}, {"0 1\n", "0", "0"}, {"-1\n", "-", "-"}, {"yes\n", "1", "1"}, {"no\n", "0", "0"},
	} {
		for files, want := range map[era.Files]string{era.FilesBool: w.now, era.FilesChar: w.was, era.FilesPlain: w.was,
			era.FilesFirst: w.was} {
			e := bare(era.Settings{Files: files})
			got := "-"
			if on, ok := e.Files.ParseEnabled(w.s); ok {
				got = strings.TrimSpace(digit(on))
			}
			require.Equal(t, want, got, "%q in generation %d", w.s, files)
		}
	}
}

// bare is an engine without a machine, for what asks its settings alone.
func bare(s era.Settings) *Engine {
	e := wired()
	e.do, e.s = &linux, Settings{Settings: s}
	return e
}
