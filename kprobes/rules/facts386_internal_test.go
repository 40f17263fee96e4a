package rules

import (
	"slices"
	"strings"
)

// facts386 are those of the i386 kernel's test functions. Its jump labels are nops or
// jumps of five bytes or two, its static calls are calls of a trampoline, which nothing
// rewrites, and its fentry sites are its own nop of five bytes, or a call.
var facts386 = []struct {
	function string
	kind     string // a SiteKind's name, or "extable"
	at, size int
}{
	{"x_c_static_false", "jump label", 5, 5},
	{"x_c_static_true", "jump label", 5, 5},
	{"x_c_static_nt", "jump label", 0, 5},
	{"x_c_static_mid", "jump label", 17, 5},
	{"x_c_static_mid", "jump label", 29, 5},
	{"x_c_warn", "BUG", 24, 2},
	{"x_c_warn_nt", "BUG", 16, 2},
	{"x_c_bug", "BUG", 24, 2},
	{"n_bug_asm", "BUG", 5, 2},
	{"n_c_atomic", "alternative", 8, 1}, // lock prefixes that are nops while one processor is online
	{"n_c_atomic", "alternative", 16, 1},
	{"n_smplock", "alternative", 4, 1},
	{"n_ext_first", "extable", 0, 0},
	{"n_ext_late", "extable", 9, 0},
	{"n_c_unsafe", "extable", 38, 0},
}

// refusing386 are those marked NOKPROBE_SYMBOL, __kprobes, noinstr.
var refusing386 = []string{"n_nokprobe", "n_noinstr", "n_kprobes_text", "n_c_nokprobe", "n_c_kprobes_attr"}

// thunks386 are __x86_indirect_thunk_eax to _edi, and what is before them in their section.
var thunks386 = Span{0xc191bb70, 0xc191bc80}

// nop386 is what a call of __fentry__ becomes.
const nop386 = "\x3e\x8d\x74\x26\x00"

func declare386(f *Function) {
	for _, x := range facts386 {
		switch {
		case x.function != f.Name:
		case x.kind == "extable":
			f.Extable = append(f.Extable, x.at)
		default:
			f.Sites = append(f.Sites,
				Site{Offset: x.at, Len: x.size, Kind: SiteKind(slices.Index(siteNames[:], x.kind))})
		}
	}
	f.Blacklisted = slices.Contains(refusing386, f.Name)
	f.Thunks = []Span{thunks386}
	inC := strings.HasPrefix(f.Name, "x_c_") || strings.HasPrefix(f.Name, "n_c_") || f.Name == "callee"
	if inC && strings.HasPrefix(string(f.Code), nop386) && !strings.HasSuffix(f.Name, "_nt") {
		f.Sites = append(f.Sites, Site{Len: len(nop386), Kind: SiteFentry})
	}
}
