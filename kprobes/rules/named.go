package rules

import "strings"

// Functions that the kernel recognises by name.

// KretprobeBlacklisted reports whether a function begins on one stack and ends on another; return
// probes in it are refused (spec 2.9; kretprobe_blacklist, arch/x86/kernel/kprobes/core.c).
func KretprobeBlacklisted(name string) bool { return name == "__switch_to" }

// The symbols around a kernel's thunks for indirect jumps.
const (
	ThunksFrom = "__indirect_thunk_start"
	ThunksTo   = "__indirect_thunk_end"
)

// MostThunks is the maximum number of spans that Thunks returns: one for each register, and one
// for returns.
const MostThunks = 17

// thunkNames holds the names of the thunks.
var thunkNames = func() (names [MostThunks]string) {
	for i, r := range strings.Fields("rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15") {
		names[i] = "__x86_indirect_thunk_" + r
	}
	names[16] = "__x86_return_thunk"
	return names
}()

// Thunks appends the spans of the thunks, if the kernel was built with them; a jump to a thunk is
// an indirect one. They lie together, with a symbol at each end, or are found by name.
func (k *Kernel) Thunks(to []Span, find func(name string) (Span, bool)) []Span {
	if !k.Retpoline {
		return to
	}
	from, begins := find(ThunksFrom)
	end, ends := find(ThunksTo)
	if begins && ends {
		return append(to, Span{Start: from.Start, End: end.Start})
	}
	for _, name := range thunkNames {
		if s, ok := find(name); ok {
			to = append(to, s)
		}
	}
	return to
}
