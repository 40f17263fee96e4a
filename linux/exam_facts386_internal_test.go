package linux

import (
	"bytes"
	"slices"
	"strings"

	"kpsim/engine/ftrace"
	"kpsim/engine/jumplabel"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// facts386 are those of the i386 kernel's test functions, as package rules has them. Its
// static calls are calls of a trampoline, which nothing rewrites.
var facts386 = []struct {
	function string
	kind     kapi.SiteKind
	at, size int // size 0: an exception-table entry
}{
	{"x_c_static_false", jumplabel.Site, 5, 5},
	{"x_c_static_true", jumplabel.Site, 5, 5},
	{"x_c_static_nt", jumplabel.Site, 0, 5},
	{"x_c_static_mid", jumplabel.Site, 17, 5},
	{"x_c_static_mid", jumplabel.Site, 29, 5},
	{"x_c_warn", kapi.SiteBug, 24, 2},
	{"x_c_warn_nt", kapi.SiteBug, 16, 2},
	{"x_c_bug", kapi.SiteBug, 24, 2},
	{"n_bug_asm", kapi.SiteBug, 5, 2},
	{"n_c_atomic", kapi.SiteAlternative, 8, 1},
	{"n_c_atomic", kapi.SiteAlternative, 16, 1},
	{"n_smplock", kapi.SiteAlternative, 4, 1},
	{"n_ext_first", 0, 0, 0},
	{"n_ext_late", 0, 9, 0},
	{"n_c_unsafe", 0, 38, 0},
}

// bans386 are those marked NOKPROBE_SYMBOL, __kprobes, noinstr.
var bans386 = []string{"n_nokprobe", "n_noinstr", "n_kprobes_text", "n_c_nokprobe", "n_c_kprobes_attr"}

// declareFacts386 is declareFacts.
func declareFacts386(n *kernel.Kernel, tracer *ftrace.Ftrace, nop arch.Code, codes []code) {
	symbols := &n.Symbols
	for _, c := range codes {
		for _, f := range facts386 {
			switch {
			case f.function != c.name:
			case f.size == 0:
				symbols.Add(kapi.Function{}, []int{int(c.at) + f.at})
			default:
				symbols.AddSite(kapi.Site{Addr: c.at + arch.Addr(f.at), Size: f.size, Kind: f.kind})
			}
		}
		if slices.Contains(bans386, c.name) {
			symbols.Ban(kapi.Function{Name: c.name, Addr: c.at, Size: len(c.bytes)}, kapi.BanSymbol)
		}
		inC := strings.HasPrefix(c.name, "x_c_") || strings.HasPrefix(c.name, "n_c_") || c.name == "callee"
		if inC && bytes.HasPrefix(c.bytes, nop.Bytes()) && !strings.HasSuffix(c.name, "_nt") {
			tracer.AddSite(c.at)
		}
	}
}
