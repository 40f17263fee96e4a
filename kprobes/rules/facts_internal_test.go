package rules

import (
	"bytes"
	"slices"
	"strings"

	"kpsim/smp/arch/x86"
)

// Facts that the bytes of the recorded functions don't show, from their source: our own
// test functions, in assembly (x_, n_) and C (x_c_, n_c_, kt_).

// A fact is a site or an exception-table entry of one function, at its offset in each
// kernel.
type fact struct {
	function  string
	kind      string // a SiteKind's name, or "extable"
	k61, k612 int
	size      int
}

var facts = []fact{
	{"x_c_static_false", "jump label", 5, 9, 2}, // static_branch_unlikely, jmp8 or a nop
	{"x_c_static_true", "jump label", 5, 9, 2},
	{"x_c_static_false_nt", "jump label", 4, 8, 2},
	{"x_c_static_mid", "jump label", 8, 12, 2},
	{"x_c_static_mid", "jump label", 17, 21, 2},
	{"x_c_static_call", "static call", 5, 9, 5},
	{"x_c_sleep", "static call", 9, 13, 5}, // might_sleep
	{"x_c_warn", "BUG", 23, 27, 2},         // WARN_ON
	{"x_c_warn_nt", "BUG", 18, 22, 2},
	{"x_c_bug", "BUG", 23, 27, 2},
	{"n_ext_first", "extable", 0, 0, 0}, // .pushsection __ex_table
	{"n_ext_late", "extable", 9, 9, 0},
	{"n_ext_split_from", "extable", 7, 7, 0},
	{"n_c_unsafe", "extable", 43, 36, 0}, // unsafe_get_user
	{"x_c_nofault", "extable", 8, 11, 0}, // get_kernel_nofault
}

// behind are bytes after a function in memory that were not recorded. They are known
// from the copy of its last instruction, which extends over them.
var behind = []struct {
	function, kernel string
	code             []byte
}{
	{"kt_exit", "k61", x86.Nop5[:]},
	{"n_c_void_notrace", "k61", []byte{0xe9}},
	{"kt_exit", "k612", bytes.Repeat([]byte{0x90}, 16)}, // room in front of the next function (CALL_PADDING)
	{"n_c_void_notrace", "k612", []byte{0xe9}},
}

// refusing are functions marked NOKPROBE_SYMBOL, __kprobes, noinstr.
var refusing = []string{"n_nokprobe", "n_noinstr", "n_kprobes_text", "n_c_nokprobe", "n_c_noinstr", "n_c_kprobes_attr"}

// thunks61 is 6.1's section of thunks: __x86_indirect_thunk_rax, the 15 that
// follow it 32 bytes apart, and __x86_return_thunk, as far as functions jump there.
var thunks61 = Span{0xffffffff81e01580, 0xffffffff81e01d31}

// declare adds the facts of f.
func declare(f *Function, kernel string) {
	if kernel == "k61i386" {
		declare386(f)
		return
	}
	for _, x := range facts {
		if x.function != f.Name {
			continue
		}
		at := x.k612
		if kernel == "k61" {
			at = x.k61
		}
		if x.kind == "extable" {
			f.Extable = append(f.Extable, at)
			continue
		}
		kind := SiteKind(slices.Index(siteNames[:], x.kind))
		f.Sites = append(f.Sites, Site{Offset: at, Len: x.size, Kind: kind})
	}
	for _, x := range behind {
		if x.function != f.Name || x.kernel != kernel || len(f.Code) > f.Size {
			continue
		}
		f.Code = append(f.Code, x.code...)
	}
	if f.Name == "kt_exit" && bytes.HasPrefix(f.Code[f.Size:], x86.Nop5[:]) { // the next function's fentry site
		f.Sites = append(f.Sites, Site{Offset: f.Size, Len: len(x86.Nop5), Kind: SiteFentry})
	}
	f.Blacklisted = slices.Contains(refusing, f.Name)
	if kernel == "k61" {
		f.Thunks = []Span{thunks61}
	}
	// C functions begin with the call of __fentry__, a nop by now, unless they
	// are marked notrace.
	entry := 0
	if kernel == "k612" {
		entry = 4
	}
	inC := strings.HasPrefix(f.Name, "x_c_") || strings.HasPrefix(f.Name, "n_c_") || strings.HasPrefix(f.Name, "kt_")
	if inC && bytes.HasPrefix(f.Code[entry:], x86.Nop5[:]) {
		f.Sites = append(f.Sites, Site{Offset: entry, Len: len(x86.Nop5), Kind: SiteFentry})
	}
}
