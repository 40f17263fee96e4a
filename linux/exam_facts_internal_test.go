package linux

import (
	"bytes"
	"slices"
	"strings"

	"kpsim/engine/ftrace"
	"kpsim/engine/jumplabel"
	"kpsim/engine/staticcall"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// What the bytes of the recorded functions don't tell (as in rules and kprobes, which
// have the same table for their own tests).

// An oracleFact is a site or an exception-table entry of a function, at the
// offset that it has in each kernel.
type oracleFact struct {
	function  string
	kind      kapi.SiteKind
	k61, k612 int
	size      int // 0: an exception-table entry
}

var oracleFacts = []oracleFact{
	{"x_c_static_false", jumplabel.Site, 5, 9, 2},
	{"x_c_static_true", jumplabel.Site, 5, 9, 2},
	{"x_c_static_false_nt", jumplabel.Site, 4, 8, 2},
	{"x_c_static_mid", jumplabel.Site, 8, 12, 2},
	{"x_c_static_mid", jumplabel.Site, 17, 21, 2},
	{"x_c_static_call", staticcall.Site, 5, 9, 5},
	{"x_c_sleep", staticcall.Site, 9, 13, 5},
	{"x_c_warn", kapi.SiteBug, 23, 27, 2},
	{"x_c_warn_nt", kapi.SiteBug, 18, 22, 2},
	{"x_c_bug", kapi.SiteBug, 23, 27, 2},
	{"n_ext_first", 0, 0, 0, 0},
	{"n_ext_late", 0, 9, 9, 0},
	{"n_ext_split_from", 0, 7, 7, 0},
	{"n_c_unsafe", 0, 43, 36, 0},
	{"x_c_nofault", 0, 8, 11, 0},
}

// oracleBans are functions marked NOKPROBE_SYMBOL, __kprobes, noinstr.
var oracleBans = []string{"n_nokprobe", "n_noinstr", "n_kprobes_text", "n_c_nokprobe", "n_c_noinstr",
	"n_c_kprobes_attr"}

// declareFacts tells a kernel what is known of the functions.
func declareFacts(m *smp.Machine, n *kernel.Kernel, tracer *ftrace.Ftrace, name string, codes []code) {
	entry := arch.Addr(0)
	if name == "k612" {
		entry = 4
	}
	symbols := &n.Symbols
	for _, c := range codes {
		for _, f := range oracleFacts {
			off := f.k612
			if name == "k61" {
				off = f.k61
			}
			switch {
			case f.function != c.name:
			case f.size == 0:
				symbols.Add(kapi.Function{}, []int{int(c.at) + off})
			default:
				symbols.AddSite(kapi.Site{Addr: c.at + arch.Addr(off), Size: f.size, Kind: f.kind})
			}
		}
		if slices.Contains(oracleBans, c.name) {
			symbols.Ban(kapi.Function{Name: c.name, Addr: c.at, Size: len(c.bytes)}, kapi.BanSymbol)
		}
		inC := strings.HasPrefix(c.name, "x_c_") || strings.HasPrefix(c.name, "n_c_") ||
			strings.HasPrefix(c.name, "kt_")
		if inC && bytes.HasPrefix(c.bytes[entry:], x86.Nop5[:]) {
			tracer.AddSite(c.at + entry)
		}
	}
	// Code that follows what was recorded, which shows in the copy of a last instruction.
	for _, c := range codes {
		end := c.at + arch.Addr(len(c.bytes))
		switch {
		case c.name == "kt_exit" && name == "k61":
			m.Memory().Map(end, x86.Nop5[:], smp.PermRead|smp.PermExec)
			symbols.AddSite(kapi.Site{Addr: end, Size: len(x86.Nop5), Kind: ftrace.Site})
		case c.name == "kt_exit":
			m.Memory().Map(end, bytes.Repeat([]byte{0x90}, 16), smp.PermRead|smp.PermExec)
		case c.name == "n_c_void_notrace":
			m.Memory().Map(end, []byte{0xe9}, smp.PermRead|smp.PermExec)
		}
	}
}
