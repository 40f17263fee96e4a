package rules

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

const testAddr = 0xffffffffc0001000

// function makes a Function of bytes.
func function(code ...byte) *Function {
	return &Function{Name: "f", Addr: testAddr, Size: len(code), Code: code}
}

// at is the verdict of a kernel on one byte.
func at(k Kernel, f *Function, offset int) Verdict {
	var j Judge
	j.Load(&k, f)
	return j.At(offset)
}

var editions = []Edition{Edition26, Edition415, Edition514, Edition65, Edition69}

// TestErrnoByEdition: what register_kprobe answers, edition by edition. A
// boundary is asked for since 4.15 (spec 6.2), the decoder gives errors since
// 5.12, mov to ss is refused since 4.18 (ee6a7354a362), steps are by int3 behind
// the copy since 5.13 (6256e668b7af), int3 as padding is tolerated since 6.2 and
// the last 6.1 (63dc6325ff41), int and ud are refused since 6.9. That 4.19 took
// instructions under a forced-emulation prefix (until 5.4, 004e8dce9c52) was a
// fault (R35), and editions are without those of their era.
func TestErrnoByEdition(t *testing.T) {
	for _, test := range []struct {
		says   string
		code   []byte
		offset int
		want   [5]int // by edition
	}{
		{"an instruction", []byte{0x90, 0xc3}, 1, [5]int{}},
		{"inside one", []byte{0x48, 0x89, 0xf8, 0xc3}, 1, [5]int{0, ilseq, ilseq, ilseq, ilseq}},
		{"int3", []byte{0x90, 0xcc, 0xc3}, 1, [5]int{0, inval, inval, inval, ilseq}},
		{"behind an int3", []byte{0x90, 0xcc, 0xc3}, 2, [5]int{0, ilseq, ilseq, 0, 0}},
		{"ud2", []byte{0x0f, 0x0b, 0xc3}, 0, [5]int{0, 0, 0, 0, ilseq}},
		{"int 0x80", []byte{0xcd, 0x80, 0xc3}, 0, [5]int{0, 0, 0, 0, ilseq}},
		{"undecodable", []byte{0xc5, 0xf8, 0x06, 0xc3}, 0, [5]int{0, 0, inval, inval, ilseq}},
		{"behind it", []byte{0xc5, 0xf8, 0x06, 0xc3}, 3, [5]int{0, 0, ilseq, ilseq, ilseq}},
		{"mov %eax,%ss", []byte{0x8e, 0xd0, 0xc3}, 0, [5]int{0, inval, inval, inval, inval}},
		{"cpuid under Xen's prefix", []byte{0x0f, 0x0b, 'x', 'e', 'n', 0x0f, 0xa2, 0xc3}, 0,
			[5]int{0, inval, inval, inval, inval}},
		{"nop under KVM's prefix", []byte{0x0f, 0x0b, 'k', 'v', 'm', 0x90, 0xc3}, 0,
			[5]int{0, inval, inval, inval, inval}},
		{"int3 under it", []byte{0x0f, 0x0b, 'k', 'v', 'm', 0xcc, 0xc3}, 0, [5]int{0, inval, inval, inval, ilseq}},
		{"ud2 under it", []byte{0x0f, 0x0b, 'k', 'v', 'm', 0x0f, 0x0b, 0xc3}, 0, [5]int{0, inval, inval, inval, ilseq}},
		{"the prefix cut short is a ud2", []byte{0x0f, 0x0b, 'x', 'e', 0x90, 0xc3}, 0, [5]int{0, 0, 0, 0, ilseq}},
		{"and a jump behind it", []byte{0x0f, 0x0b, 'x', 'e', 0x90, 0xc3}, 2, [5]int{}},
		{"the prefix behind 66 is a ud2", []byte{0x66, 0x0f, 0x0b, 'x', 'e', 'n', 0x90, 0xc3}, 0,
			[5]int{0, 0, 0, 0, ilseq}},
		{"pop %ds of 32-bit mode", []byte{0x1f, 0xc3}, 0, [5]int{0, inval, inval, inval, inval}},
		{"pop %ss", []byte{0x17, 0xc3}, 0, [5]int{}},
		{"mov %eax,%ds", []byte{0x8e, 0xd8, 0xc3}, 0, [5]int{}},
		{"ud0", []byte{0x0f, 0xff, 0xc3}, 0, [5]int{0, 0, 0, 0, ilseq}},
		{"ud1", []byte{0x0f, 0xb9, 0xc3, 0xc3}, 0, [5]int{0, 0, 0, 0, ilseq}},
		{"into", []byte{0xce, 0xc3}, 0, [5]int{0, 0, 0, 0, ilseq}},
		{"int1", []byte{0xf1, 0xc3}, 0, [5]int{0, 0, 0, 0, ilseq}},
		{"far call", []byte{0x9a, 0, 0, 0, 0, 0, 0, 0xc3}, 0, [5]int{0, 0, notsup, notsup, notsup}},
		{"far jump", []byte{0xea, 0, 0, 0, 0, 0, 0, 0xc3}, 0, [5]int{0, 0, notsup, notsup, notsup}},
		{"far jump to 64 bits, which isn't one", []byte{0x48, 0xea, 0, 0, 0, 0, 0xc3}, 0,
			[5]int{0, 0, inval, inval, ilseq}},
		{"behind it, to a decoder without errors", []byte{0x48, 0xea, 0, 0, 0, 0, 0xc3}, 2,
			[5]int{0, 0, ilseq, ilseq, ilseq}},
		{"far call through memory", []byte{0xff, 0x18, 0xc3}, 0, [5]int{0, 0, notsup, notsup, notsup}},
		{"far jump through memory", []byte{0xff, 0x28, 0xc3}, 0, [5]int{0, 0, notsup, notsup, notsup}},
		{"call through memory", []byte{0xff, 0x10, 0xc3}, 0, [5]int{0, 0, notsup, notsup, notsup}},
		{"call through a register", []byte{0xff, 0xd0, 0xc3}, 0, [5]int{}},
		{"the same with 67", []byte{0x67, 0xff, 0xd0, 0xc3}, 0, [5]int{0, 0, notsup, notsup, notsup}},
		{"vmcall", []byte{0x0f, 0x01, 0xc1, 0xc3}, 0, [5]int{0, 0, notsup, notsup, notsup}},
		{"sgdt", []byte{0x0f, 0x01, 0x00, 0xc3}, 0, [5]int{}},
		{"14 bytes", append(make15()[1:], 0xc3), 0, [5]int{}},
		{"16 bytes", append([]byte{0x66}, append(make15(), 0xc3)...), 0, [5]int{0, 0, inval, inval, ilseq}},
		{"a VEX group's hole goes on behind its operand", []byte{0xc5, 0xf9, 0x72, 0x68, 0x10, 0x90, 0xc3}, 5,
			[5]int{0, 0, ilseq, ilseq, ilseq}},
		{"iret", []byte{0x48, 0xcf}, 0, [5]int{0, 0, notsup, notsup, notsup}},
		{"jump through memory", []byte{0xff, 0x20, 0xc3}, 0, [5]int{0, 0, notsup, notsup, notsup}},
		{"15 bytes", append(make15(), 0xc3), 0, [5]int{0, 0, nospc, nospc, nospc}},
	} {
		for i, e := range editions {
			k := K612
			k.Edition = e
			v := at(k, function(test.code...), test.offset)
			require.Equal(t, test.want[i], v.Errno, "%s, %v: %s", test.says, e, v.Why.In("f"))
			require.Equal(t, v.Errno != 0, v.Errno != 0 && v.Why.Kind != None, "%s, %v", test.says, e)
		}
	}
}

// make15 is a nop of 15 bytes.
func make15() []byte {
	b := make([]byte, maxLen)
	for i := range b {
		b[i] = 0x66
	}
	b[maxLen-1] = 0x90
	return b
}

// TestFactsByEdition: what the facts about the text rule out, edition by edition.
func TestFactsByEdition(t *testing.T) {
	nops := []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3}
	site := func(kind SiteKind) func(f *Function) {
		return func(f *Function) { f.Sites = []Site{{Offset: 1, Len: 5, Kind: kind}} }
	}
	for _, test := range []struct {
		says   string
		change func(f *Function)
		offset int
		want   [5]int
	}{
		{"blacklisted", func(f *Function) { f.Blacklisted = true }, 0, [5]int{inval, inval, inval, inval, inval}},
		{"no symbol: until 5.17 there was no start to decode from", func(f *Function) { f.NoSymbol = true }, 0,
			[5]int{0, ilseq, noent, noent, noent}},
		{"nothing", func(f *Function) {
			f.NoSymbol, f.NotText = true, true
		}, 0, [5]int{inval, inval, noent, noent, noent}},
		{"data", func(f *Function) { f.NotText = true }, 0, [5]int{inval, inval, inval, inval, inval}},
		{"freed", func(f *Function) { f.InitFreed = true }, 0, [5]int{inval, noent, noent, noent, noent}},
		{"freed, and was blacklisted", func(f *Function) {
			f.InitFreed, f.Blacklisted = true, true
		}, 0, [5]int{inval, noent, noent, noent, noent}},
		{"preamble", func(f *Function) { f.Name = "__pfx_f" }, 0, [5]int{0, 0, 0, 0, inval}},
		{"preamble, its last byte", func(f *Function) { f.Name = "__pfx_f" }, 7, [5]int{0, 0, 0, 0, inval}},
		{"preamble for CFI, inside an instruction", func(f *Function) {
			f.Name, f.Code = "__cfi_f", []byte{0xb8, 1, 2, 3, 4, 0x90, 0x90, 0x90}
		}, 2, [5]int{0, ilseq, ilseq, ilseq, inval}},
		{"a name that says nothing", func(f *Function) { f.Name = "f__pfx_" }, 0, [5]int{}},
		{"jump label", site(SiteJumpLabel), 3, [5]int{0, inval, inval, inval, inval}},
		{"alternative: refuses no probe, not even on it", site(SiteAlternative), 1, [5]int{}},
		{"static call", site(SiteStaticCall), 3, [5]int{0, 0, inval, inval, inval}},
		{"BUG, its first byte", site(SiteBug), 1, [5]int{0, 0, inval, inval, inval}},
		{"BUG, another", site(SiteBug), 2, [5]int{}},
		{"BUG, and a jump label on its first byte", func(f *Function) {
			f.Sites = []Site{{1, 2, SiteBug}, {1, 2, SiteJumpLabel}}
		}, 1, [5]int{0, inval, inval, inval, inval}},
		{"BUG, and a jump label on its second byte", func(f *Function) {
			f.Sites = []Site{{1, 2, SiteBug}, {2, 2, SiteJumpLabel}}
		}, 2, [5]int{0, inval, inval, inval, inval}},
		// nops of one byte each, for once
		{"fentry site, its second byte", site(SiteFentry), 2, [5]int{0, ilseq, 0, 0, 0}},
		{"the same of what is blacklisted", func(f *Function) {
			f.Sites, f.Blacklisted = []Site{{1, 5, SiteFentry}}, true
		}, 2, [5]int{inval, ilseq, inval, inval, inval}},
		{"beside the site", site(SiteJumpLabel), 6, [5]int{}},
		{"behind undecodable bytes that have an exception-table entry", func(f *Function) {
			f.Code, f.Size, f.Extable = []byte{0xc5, 0xf8, 0x06, 0x90}, 4, []int{0}
		}, 3, [5]int{0, 0, ilseq, ilseq, ilseq}},
	} {
		for i, e := range editions {
			k := K612
			k.Edition = e
			f := function(nops...)
			test.change(f)
			v := at(k, f, test.offset)
			require.Equal(t, test.want[i], v.Errno, "%s, %v", test.says, e)
		}
	}
}

// TestStep: how the instruction is stepped. Emulation came with 5.13; nothing is
// boosted where CONFIG_PREEMPTION is set (spec 8.5), nor on x86_64 in 2.6.
func TestStep(t *testing.T) {
	for _, test := range []struct {
		says     string
		code     []byte
		emulated [5]bool
		boosted  [5]bool
	}{
		{"mov", []byte{0x48, 0x89, 0xf8}, [5]bool{}, [5]bool{false, true, true, true, true}},
		{"call", []byte{0xe8, 0, 0, 0, 0}, [5]bool{false, false, true, true, true}, [5]bool{}},
		{"ret: boosted, and then not emulated", []byte{0xc3}, [5]bool{false, false, true, true, true},
			[5]bool{false, true, true, true, true}},
		{"pushf", []byte{0x9c}, [5]bool{false, false, true, true, true}, [5]bool{false, true, true, true, true}},
		{"shl", []byte{0xc1, 0xe0, 3}, [5]bool{}, [5]bool{false, false, false, false, true}},
		{"incl", []byte{0xff, 0xc0}, [5]bool{}, [5]bool{false, false, false, false, true}},
		{"divl", []byte{0xf7, 0xf1}, [5]bool{}, [5]bool{false, false, false, false, true}},
		// From 4.12 to 5.12 a fault let prefixes pass (6dd3b8c9f588).
		{"addr32 mov", []byte{0x67, 0x89, 0x07}, [5]bool{}, [5]bool{}},
		{"cs nop", []byte{0x2e, 0x90}, [5]bool{}, [5]bool{}},
		{"sti", []byte{0xfb}, [5]bool{false, false, true, true, true}, [5]bool{false, true, true, true, true}},
		{"jrcxz", []byte{0xe3, 0}, [5]bool{false, false, true, true, true}, [5]bool{}},
		{"jcc, near", []byte{0x0f, 0x84, 0, 0, 0, 0}, [5]bool{false, false, true, true, true}, [5]bool{}},
		{"jcc, short", []byte{0x7f, 0}, [5]bool{false, false, true, true, true}, [5]bool{}},
		{"call through a register", []byte{0xff, 0xd0}, [5]bool{false, false, true, true, true}, [5]bool{}},
		{"jump through a register", []byte{0xff, 0xe0}, [5]bool{false, false, true, true, true},
			[5]bool{false, false, true, true, true}},
		{"push through a register", []byte{0xff, 0xf0}, [5]bool{}, [5]bool{}},
		{"decb", []byte{0xfe, 0xc8}, [5]bool{}, [5]bool{false, false, false, false, true}},
		{"shl's reserved form", []byte{0xd1, 0xf0}, [5]bool{}, [5]bool{}},
		{"test's reserved form", []byte{0xf6, 0xc8, 1}, [5]bool{}, [5]bool{}},
		{"x87", []byte{0xd9, 0xc0}, [5]bool{}, [5]bool{}},
		{"cmov", []byte{0x0f, 0x44, 0xc1}, [5]bool{}, [5]bool{false, true, true, true, true}},
		{"bt, immediate", []byte{0x0f, 0xba, 0xe0, 1}, [5]bool{}, [5]bool{}},
		{"pshufb", []byte{0x0f, 0x38, 0x00, 0xc1}, [5]bool{}, [5]bool{}},
		{"syscall", []byte{0x0f, 0x05}, [5]bool{}, [5]bool{}},
		{"11 bytes and a jump don't fit", []byte{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90},
			[5]bool{}, [5]bool{}},
		{"10 bytes and a jump do", []byte{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90}, [5]bool{},
			[5]bool{false, true, true, true, true}},
	} {
		for i, e := range editions {
			k := K612
			k.Edition, k.Preemption = e, false
			f := function(append(test.code, 0x90, 0x90, 0x90, 0x90, 0x90)...)
			v := at(k, f, 0)
			require.Equal(t, test.emulated[i], v.Emulated, "%s, %v", test.says, e)
			require.Equal(t, test.boosted[i], v.Boosted, "%s, %v: %s", test.says, e, v.NoBoost.In("f"))
			k.Preemption = true
			require.False(t, at(k, f, 0).Boosted)
			f.Extable = []int{0}
			k.Preemption = false
			require.False(t, at(k, f, 0).Boosted, "it may fault")
		}
	}
}

// TestSlotUnboosted: a copy that can't be followed by a jump is followed by an int3, in
// editions that step by one.
func TestSlotUnboosted(t *testing.T) {
	not := []byte{0xf4, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3} // hlt
	for _, e := range editions {
		var j Judge
		k := Kernel{Edition: e, Optprobes: true}
		j.Load(&k, function(not...))
		v := j.At(0)
		want := not[:1:1]
		if e >= Edition514 {
			want = append(want, x86.Int3)
		}
		got, ok := j.Slot(nil, &v, testAddr+0x10000)
		require.True(t, ok)
		require.Equal(t, want, got, "%v", e)
	}
}

// TestSlot: the bytes after the copy, and the target of a RIP-relative operand.
func TestSlot(t *testing.T) {
	const slot = testAddr + 0x10000
	code := []byte{0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0xc3, 0x90, 0x90, 0x90, 0x90} // mov 0x10(%rip),%rax
	moved := []byte{0x48, 0x8b, 0x05, 0x10, 0, 0xff, 0xff}
	back, _ := x86.JumpRel32(slot+7, testAddr+7)
	for _, test := range []struct {
		edition    Edition
		preemption bool
		want       []byte
	}{
		{Edition26, false, moved},
		{Edition415, false, append(moved[:7:7], back[:]...)},
		{Edition415, true, append(moved[:7:7], back[:]...)}, // written, not used
		{Edition514, false, append(moved[:7:7], back[:]...)},
		{Edition514, true, append(moved[:7:7], 0xcc)},
		{Edition69, true, append(moved[:7:7], 0xcc)},
	} {
		var j Judge
		k := Kernel{Edition: test.edition, Preemption: test.preemption, Optprobes: true}
		j.Load(&k, function(code...))
		v := j.At(0)
		got, ok := j.Slot(nil, &v, slot)
		require.True(t, ok)
		require.Equal(t, test.want, got, "%v", test)
		_, ok = j.Slot(nil, &v, testAddr-1<<33)
		require.False(t, ok)
		for distance, reached := range map[int64]bool{-1 << 33: false, -1<<31 + 0x10: false, -1<<31 + 0x11: true,
			1<<31 + 0x10: true, 1<<31 + 0x11: false} {
			_, ok = j.Copy(nil, &v, arch.Addr(testAddr)+arch.Addr(distance))
			require.Equal(t, reached, ok, "%#x", distance)
		}
	}
}

// TestDetour: the region's instructions, moved; not ok where one is out of reach.
func TestDetour(t *testing.T) {
	var j Judge
	j.Load(&K612, function(0x53, 0x48, 0x8d, 0x05, 0, 0, 0, 0, 0xc3))
	v := j.At(0)
	require.Equal(t, 8, v.Region)
	got, ok := j.Detour(nil, &v, testAddr-0x100)
	require.True(t, ok)
	require.Equal(t, []byte{0x53, 0x48, 0x8d, 0x05, 0, 1, 0, 0}, got)
	_, ok = j.Detour(nil, &v, testAddr-1<<33)
	require.False(t, ok)
}

// TestOptimize: the reasons, in the document's terms (spec 4.2), where kernels differ.
func TestOptimize(t *testing.T) {
	nops := func(n int, tail ...byte) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = 0x90
		}
		return append(b, tail...)
	}
	plain := Kernel{Edition: Edition69, Optprobes: true}
	with := func(change func(k *Kernel)) Kernel {
		k := K612
		change(&k)
		return k
	}
	thunk := func(f *Function) { f.Thunks = []Span{{testAddr + 6 + 5, testAddr + 6 + 6}} } // where jmp +0 at 6 leads
	for _, test := range []struct {
		says   string
		kernel Kernel
		code   []byte
		change func(f *Function)
		offset int
		region int
		why    string
	}{
		{"a region", K612, nops(6, 0xc3), nil, 0, 5, ""},
		{"longer instructions", K612, []byte{0x90, 0x48, 0x81, 0xc0, 0, 0, 0, 0, 0xc3}, nil, 0, 8, ""},
		{"no room", K612, nops(6, 0xc3), nil, 3, 0, "DCR straddles the function's end"},
		{"just room", K612, nops(6, 0xc3), nil, 2, 5, ""},
		{"a jump to its second byte", K612, nops(8, 0xeb, 0xf7, 0xc3), nil, 0, 0, "JTPR targeted by f+0x8"},
		{"a jump to byte +5, behind it", K612, nops(8, 0xeb, 0xfb, 0xc3), nil, 0, 0, "JTPR targeted by f+0x8"},
		{"a jump to byte +5, where the function ends", K612, append([]byte{0xeb, 5}, nops(5)...), nil, 2, 0,
			"JTPR targeted by f+0x0"},
		{"a jump behind the function", K612, append([]byte{0xeb, 6}, nops(5)...), nil, 2, 5, ""},
		{"a jump in front of it", K612, append([]byte{0xeb, 0x80}, nops(5)...), nil, 2, 5, ""},
		{"a jump to byte +6", K612, nops(8, 0xeb, 0xfc, 0xc3), nil, 0, 5, ""},
		{"a jump to its first byte", K612, nops(8, 0xeb, 0xf6, 0xc3), nil, 0, 5, ""},
		{"the first of two jumps is named", K612, nops(8, 0x74, 0xfa, 0xeb, 0xf5, 0xc3), nil, 0, 0,
			"JTPR targeted by f+0x8"},
		{"the first of two to one byte is named", K612, nops(8, 0x74, 0xf9, 0xeb, 0xf7, 0xc3), nil, 0, 0,
			"JTPR targeted by f+0x8"},
		{"a call into it doesn't matter", K612, nops(8, 0xe8, 0xf5, 0xff, 0xff, 0xff, 0xc3), nil, 0, 5, ""},
		{"vmovdqa seems to jump behind itself", K612, nops(1, 0xc5, 0xf9, 0x7f, 0x07, 0x90, 0x90, 0xc3), nil, 0, 0,
			"JTPR targeted by f+0x1"},
		{"a call", K612, nops(3, 0xe8, 0, 0, 0, 0, 0xc3), nil, 0, 0, "call in DCR at f+0x3"},
		{"a jump", K612, nops(3, 0xeb, 0x20, 0x90, 0x90, 0xc3), nil, 0, 0, "jump in DCR at f+0x3"},
		{"a far jump", K612, nops(3, 0xff, 0x28, 0x90, 0xc3), nil, 0, 0, "jump in DCR at f+0x3"},
		{"a far call, direct", K612, nops(3, 0x9a, 0, 0, 0, 0, 0, 0, 0xc3), nil, 0, 0, "call in DCR at f+0x3"},
		{"a far call", K612, nops(3, 0xff, 0x18, 0x90, 0xc3), nil, 0, 0, "call in DCR at f+0x3"},
		{"mov to %ss", K612, nops(3, 0x8e, 0xd0, 0x90, 0xc3), nil, 0, 0, "not relocatable in DCR at f+0x3"},
		{"cpuid under Xen's prefix", K612, nops(3, 0x0f, 0x0b, 'x', 'e', 'n', 0x40, 0x90, 0xc3), nil, 0, 0,
			"not relocatable in DCR at f+0x3"},
		{"hlt", K612, nops(3, 0xf4, 0x90, 0x90, 0xc3), nil, 0, 0, "not relocatable in DCR at f+0x3"},
		{"int3 in it", K612, nops(3, 0xcc, 0x90, 0x90, 0xc3), nil, 0, 0, "int3 at f+0x3"},
		{"int3 behind it", K612, nops(6, 0xcc), nil, 0, 5, ""},
		{"int3 behind it, a debugger's until 6.1", Kernel{Edition: Edition514, Optprobes: true}, nops(6, 0xcc), nil, 0,
			0, "int3 at f+0x6"},
		{"undecodable behind it", K612, nops(6, 0xc5, 0xf8, 0x06), nil, 0, 0, "undecodable byte at f+0x6"},
		{"undecodable behind it, to a decoder without errors", Kernel{Edition: Edition415, Optprobes: true},
			nops(6, 0xc5, 0xf8, 0x06), nil, 0, 5, ""},
		{"an exception-table entry anywhere", K612, nops(8, 0xc3), func(f *Function) { f.Extable = []int{7} }, 0, 0,
			"exception-table entry at f+0x7"},
		{"one on bytes that are no instruction", K612, nops(6, 0xc5, 0xf8, 0x06), func(f *Function) {
			f.Extable = []int{6}
		}, 0, 0, "exception-table entry at f+0x6"},
		{"one between instructions", K612, nops(6, 0x31, 0xc0, 0xc3), func(f *Function) { f.Extable = []int{7} }, 0, 5,
			""},
		{"an indirect jump, with jump tables", plain, nops(6, 0xff, 0xe0), nil, 0, 0, "indirect jump at f+0x6"},
		{"an indirect jump, no jump tables for retpolines", K612, nops(6, 0xff, 0xe0), nil, 0, 5, ""},
		{"nor with retpolines alone", with(func(k *Kernel) { k.IBT = false }), nops(6, 0xff, 0xe0), nil, 0, 5, ""},
		{"nor with IBT", with(func(k *Kernel) { k.Retpoline = false }), nops(6, 0xff, 0xe0), nil, 0, 5, ""},
		{"an indirect jump until 6.5", K61, nops(6, 0xff, 0xe0), nil, 0, 0, "indirect jump at f+0x6"},
		{"a far jump", K61, nops(6, 0xff, 0x28), nil, 0, 0, "indirect jump at f+0x6"},
		{"an indirect call", K61, nops(6, 0xff, 0xd0), nil, 0, 5, ""},
		{"a jump to a thunk until 6.5", K61, nops(6, 0xe9, 0, 0, 0, 0), thunk, 0, 0, "jump to a thunk at f+0x6"},
		{"a jump to a thunk", K612, nops(6, 0xe9, 0, 0, 0, 0), thunk, 0, 5, ""},
		{"a jump label in it", K612, nops(8, 0xc3), func(f *Function) { f.Sites = []Site{{4, 2, SiteJumpLabel}} }, 0, 0,
			"jump label at f+0x4 in DCR"},
		{"a jump label behind it", K612, nops(8, 0xc3), func(f *Function) { f.Sites = []Site{{5, 2, SiteJumpLabel}} },
			0, 5, ""},
		{"a static call in it", K612, nops(8, 0xc3), func(f *Function) { f.Sites = []Site{{2, 5, SiteStaticCall}} }, 0,
			0, "static call at f+0x2 in DCR"},
		{"4.15 knew no static calls", Kernel{Edition: Edition415, Optprobes: true}, nops(8, 0xc3), func(f *Function) {
			f.Sites = []Site{{2, 5, SiteStaticCall}}
		}, 0, 5, ""},
		{"BUG hides no jump label", K61, nops(8, 0xc3), func(f *Function) {
			f.Sites = []Site{{4, 2, SiteBug}, {4, 2, SiteJumpLabel}}
		}, 0, 0, "jump label at f+0x4 in DCR"},
		{"BUG in it", K61, nops(3, 0x0f, 0x0b, 0x90, 0xc3), func(f *Function) { f.Sites = []Site{{3, 2, SiteBug}} }, 0,
			0, "not relocatable in DCR at f+0x3"},
		{"a jump to a thunk in 4.19", Kernel{Edition: Edition415, Retpoline: true, Optprobes: true},
			nops(6, 0xe9, 0, 0, 0, 0), thunk, 0, 0, "jump to a thunk at f+0x6"},
		{"a jump behind a thunk", K61, nops(6, 0xe9, 0, 0, 0, 0), func(f *Function) {
			f.Thunks = []Span{{testAddr + 6, testAddr + 6 + 5}}
		}, 0, 5, ""},
		{"and one that isn't asked for", Kernel{Edition: Edition415, Optprobes: true}, nops(6, 0xe9, 0, 0, 0, 0), thunk,
			0, 5, ""},
		{"preemption forbids no jump since 4.15", Kernel{Edition: Edition415, Preemption: true, Optprobes: true},
			nops(6), nil, 0, 5, ""},
		{"straddling comes before the walk", K612, nops(6, 0xc3), func(f *Function) { f.Extable = []int{0} }, 3, 0,
			"DCR straddles the function's end"},
		{"the walk comes before the copying", K612, nops(3, 0xe8, 0, 0, 0, 0, 0xc3), func(f *Function) {
			f.Extable = []int{8}
		}, 0, 0, "exception-table entry at f+0x8"},
		{"a jump in front of the entry comes first", K612, nops(6, 0xeb, 0xfa, 0xc3), func(f *Function) {
			f.Extable = []int{8}
		}, 0, 0, "JTPR targeted by f+0x6"},
		{"the entry, in front of the jump", K612, nops(6, 0xeb, 0xfa, 0xc3), func(f *Function) { f.Extable = []int{0} },
			0, 0, "exception-table entry at f+0x0"},
		{"the entry on the jump itself", K612, nops(6, 0xeb, 0xfa, 0xc3), func(f *Function) { f.Extable = []int{6} }, 0,
			0, "exception-table entry at f+0x6"},
		{"the copying comes before the sites", K612, nops(3, 0xe8, 0, 0, 0, 0, 0xc3), func(f *Function) {
			f.Sites = []Site{{0, 2, SiteAlternative}, {1, 2, SiteFentry}}
		}, 2, 0, "call in DCR at f+0x3"},
		{"a lock prefix", K612, nops(8), func(f *Function) { f.Sites = []Site{{3, 1, SiteAlternative}} }, 0, 0,
			"alternative at f+0x3 in DCR"},
		{"a lock prefix on the region's last byte", K612, nops(8), func(f *Function) {
			f.Sites = []Site{{4, 1, SiteAlternative}}
		}, 0, 5, ""},
		{"a lock prefix counts where it begins", K612, nops(10), func(f *Function) {
			f.Sites = []Site{{2, 4, SiteAlternative}}
		}, 3, 5, ""},
		{"an entry of the BUG table, on what can be copied", K61, nops(8), func(f *Function) {
			f.Sites = []Site{{3, 2, SiteBug}}
		}, 0, 5, ""},
		{"a fentry site behind the function", K612, []byte{0x90, 0x90, 0x90, 0x48, 0x89, 0xf8}, func(f *Function) {
			f.Size, f.Sites = 5, []Site{{5, 5, SiteFentry}}
		}, 0, 0, "fentry site at f+0x5 in DCR"},
		{"through ftrace", K612, append(nops(0, x86.Nop5[:]...), nops(6)...), func(f *Function) {
			f.Sites = []Site{{0, 5, SiteFentry}}
		}, 0, 0, "through ftrace"},
		{"nothing of ftrace's", with(func(k *Kernel) { k.Ftrace = false }), append(nops(0, x86.Nop5[:]...), nops(6)...),
			func(f *Function) { f.Sites = []Site{{0, 5, SiteFentry}} }, 0, 5, ""},
		{"no optprobes", with(func(k *Kernel) { k.Optprobes = false }), nops(6), nil, 0, 0, "no optprobes"},
		{"2.6 has none", with(func(k *Kernel) { k.Edition = Edition26 }), nops(6), nil, 0, 0, "no optprobes"},
	} {
		f := function(test.code...)
		if test.change != nil {
			test.change(f)
		}
		v := at(test.kernel, f, test.offset)
		require.Zero(t, v.Errno, test.says)
		require.Equal(t, test.why, v.Why.In("f"), test.says)
		require.Equal(t, test.region, v.Region, test.says)
		require.Equal(t, test.region > 0, v.Optimizable(), test.says)
	}
}

// TestEndbr: with IBT a probe at the start goes after endbr64, endbr32, or the nop that
// is written over one (6.12); not elsewhere, and not without IBT.
func TestEndbr(t *testing.T) {
	for _, head := range []string{"\xf3\x0f\x1e\xfa", "\xf3\x0f\x1e\xfb", "\x66\x0f\x1f\x00"} {
		f := function(append([]byte(head), 0x55, 0x90, 0xc3)...)
		v := at(K612, f, 0)
		require.Equal(t, 4, v.Delta)
		require.Equal(t, 1, v.Len)
		require.Equal(t, ilseq, at(K612, f, 2).Errno)
		require.Equal(t, 0, at(K612, f, 4).Delta)
		v = at(K61, f, 0)
		require.Equal(t, 0, v.Delta)
		require.Equal(t, 4, v.Len)
	}
	require.Equal(t, 0, at(K612, function(0x0f, 0x1f, 0x40, 0x00, 0xc3), 0).Delta)
	require.Equal(t, noent, at(K612, function(0xf3, 0x0f, 0x1e, 0xfa), 0).Errno, "nothing is behind it")
}

// TestLength: the walk uses the kernel's decoder, refused or not: endbr64, ud0 without
// a ModRM byte, int3.
func TestLength(t *testing.T) {
	f := function(0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0xff, 0xcc, 0x48, 0x89, 0xf8, 0xc5, 0xf8, 0x06, 0x90)
	f.Blacklisted = true
	want := []int{4, 0, 0, 0, 2, 0, 1, 3, 0, 0, 0, 0, 0, 0}
	var j Judge
	j.Load(&K612, f)
	for offset, n := range want {
		require.Equal(t, n, j.Length(offset), "+%d", offset)
	}
	// Until 5.11 the decoder gave no errors; 2.6 decoded nothing, and takes any
	// byte for an instruction's first.
	code := []byte{0xc5, 0xf8, 0x06, 0x48, 0x89, 0xf8}
	for e, want := range map[Edition][]int{
		Edition26:  {3, 1, 1, 3, 2, 1},
		Edition415: {3, 0, 0, 3, 0, 0},
		Edition514: {0, 0, 0, 0, 0, 0},
	} {
		j.Load(&Kernel{Edition: e}, function(code...))
		for offset, n := range want {
			require.Equal(t, n, j.Length(offset), "%v +%d", e, offset)
		}
	}
}

// TestEditionNames: the names are those of the specification.
func TestEditionNames(t *testing.T) {
	for _, e := range AllEditions() {
		got, ok := ParseEdition(e.String())
		require.True(t, ok)
		require.Equal(t, e, got)
	}
	require.Equal(t, Edition65, EditionDocumented.Rules())
	for _, unknown := range []string{"6.4", ""} {
		_, ok := ParseEdition(unknown)
		require.False(t, ok)
	}
}
