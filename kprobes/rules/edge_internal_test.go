package rules

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// everywhere calls f for every edition, with and without preemption.
func everywhere(ask func(k Kernel)) {
	for _, e := range editions {
		for _, preemption := range []bool{false, true} {
			k := K612
			k.Edition, k.Preemption = e, preemption
			ask(k)
		}
	}
}

// TestOutside: an offset outside the function, which may have no bytes, has no symbol.
func TestOutside(t *testing.T) {
	everywhere(func(k Kernel) {
		for _, size := range []int{0, 1, 4, 40} {
			f := function(bytes.Repeat([]byte{0x90}, size)...)
			for _, offset := range []int{-1 << 40, -1, size, size + 1, size + maxLen, 1 << 40} {
				v := at(k, f, offset)
				require.Equal(t, noent, v.Errno)
				require.Equal(t, NoSymbol, v.Why.Kind)
				require.Equal(t, offset, v.Offset)
			}
		}
	})
}

// TestSmall: functions of less than five bytes take probes, and no jump; a last
// instruction may end behind the function.
func TestSmall(t *testing.T) {
	everywhere(func(k Kernel) {
		want := Straddles
		if k.Edition == Edition26 {
			want = NoOptprobes
		}
		for size := 1; size < jumpSize; size++ {
			f := function(0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90)
			f.Size = size
			for offset := range size {
				v := at(k, f, offset)
				require.Zero(t, v.Errno)
				require.Equal(t, 1, v.Len)
				require.Equal(t, want, v.Why.Kind)
			}
		}
		f := function(0x90, 0x48, 0x89, 0xf8) // mov %rdi,%rax behind a nop
		f.Size = 2
		v := at(k, f, 1)
		require.Zero(t, v.Errno)
		require.Equal(t, 3, v.Len)
	})
}

// TestEntryAlone: a function that is only an endbr64, or less.
func TestEntryAlone(t *testing.T) {
	endbr := []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0x90, 0x90}
	for size, want := range []int{noent, noent, noent, noent, noent, 0} {
		f := function(endbr...)
		f.Size = size
		v := at(K612, f, 0)
		require.Equal(t, want, v.Errno, "size %d", size)
	}
	require.Zero(t, Entry(&K612, endbr[:3]), "cut short")
	for _, e := range editions {
		k := K612
		k.Edition = e
		require.Equal(t, e >= Edition514, Entry(&k, endbr) == 4, "%v", e) // 5.18 brought IBT
	}
}

// TestMissingCode: missing bytes are read as 0, add %al,(%rax).
func TestMissingCode(t *testing.T) {
	everywhere(func(k Kernel) {
		for _, given := range []int{0, 1, 2, 3} {
			f := function([]byte{0x90, 0x90, 0x90, 0x90}[:given]...)
			f.Size = given + 6
			var j Judge
			j.Load(&k, f)
			v := j.At(given + 2)
			require.Zero(t, v.Errno)
			require.Equal(t, 2, v.Len)
			got, ok := j.Copy(nil, &v, testAddr)
			require.True(t, ok)
			require.Equal(t, []byte{0, 0}, got)
		}
	})
}

// TestEveryFactEverywhere: without text everything is refused, at every byte and in
// every edition, and nothing panics.
func TestEveryFactEverywhere(t *testing.T) {
	for name, change := range map[string]func(f *Function){
		"not text": func(f *Function) { f.NotText = true }, "freed": func(f *Function) { f.InitFreed = true },
		"blacklisted": func(f *Function) { f.Blacklisted = true },
	} {
		everywhere(func(k Kernel) {
			f := function(0x48, 0x89, 0xf8, 0xcc, 0xc5, 0xf8, 0x06, 0x90)
			change(f)
			for offset := range f.Size {
				v := at(k, f, offset)
				require.NotZero(t, v.Errno, "%s, %v, +%d", name, k, offset)
				require.NotEqual(t, Boundary, v.Why.Kind, "%s, %v, +%d: the bytes are looked at later", name, k, offset)
			}
		})
	}
}

// TestOverlappingSites: a place is refused if any of its sites forbids it, in any
// order.
func TestOverlappingSites(t *testing.T) {
	sites := []Site{{2, 2, SiteBug}, {1, 3, SiteStaticCall}, {3, 4, SiteJumpLabel}, {-2, 4, SiteJumpLabel},
		{6, 100, SiteStaticCall}, {2, 1, SiteAlternative}}
	for shift := range sites {
		f := function(bytes.Repeat([]byte{0x90}, 20)...)
		f.Sites = append(append([]Site(nil), sites[shift:]...), sites[:shift]...)
		for offset := range f.Size {
			require.Equal(t, inval, at(K61, f, offset).Errno, "+%d", offset)
		}
	}
	f := function(bytes.Repeat([]byte{0x90}, 12)...)
	f.Sites, f.Extable = []Site{{-5, 5, SiteJumpLabel}, {12, 9, SiteJumpLabel}, {3, 0, SiteJumpLabel},
		{400, 2, SiteBug}, {-1, 2, SiteBug}}, []int{-1, 12, 13}
	for offset := range f.Size - jumpSize + 1 {
		v := at(K61, f, offset)
		require.True(t, v.Optimizable(), "+%d: all of them lie outside", offset)
	}
}

// TestLengths: the window has 15 bytes. 14 leave room for the int3 after the copy.
func TestLengths(t *testing.T) {
	for n := 1; n <= 17; n++ {
		code := append(bytes.Repeat([]byte{0x66}, n-1), 0x90, 0xc3)
		v := at(K612, function(code...), 0)
		switch {
		case n < maxLen:
			require.Zero(t, v.Errno)
			require.Equal(t, n, v.Len)
		case n == maxLen:
			require.Equal(t, nospc, v.Errno)
		default:
			require.Equal(t, ilseq, v.Errno)
			require.Equal(t, Undecodable, v.Why.Kind)
		}
		k := K612
		k.Edition = Edition415
		v = at(k, function(code...), 0)
		require.Zero(t, v.Errno, "no int3 follows the copy, and the decoder gives no errors")
		require.Equal(t, min(n, maxLen), v.Len)
	}
}

// TestEVEXWidth: for the kernel's decoder the highest bit of EVEX's last byte is W. It
// is really z, and shows only where a preceding 66 would shorten an immediate.
func TestEVEXWidth(t *testing.T) {
	for last, want := range map[byte]int{0x18: 9, 0x98: 11} {
		v := at(K612, function(0x66, 0x62, 0xf4, 0x7c, last, 0x81, 0xc0, 1, 0, 0, 0, 0x90), 0) // add $imm,%eax,%eax
		require.Zero(t, v.Errno)
		require.Equal(t, want, v.Len, "%#x", last)
	}
}

// TestDecoderWithoutErrors: how far the decoder continued before 5.12. For a hole in a
// VEX group it takes the operand, for an opcode that doesn't exist nothing.
func TestDecoderWithoutErrors(t *testing.T) {
	k := Kernel{Edition: Edition415}
	for _, test := range []struct {
		code []byte
		want int
	}{
		{[]byte{0xc5, 0xf9, 0x72, 0x68, 0x10, 0x01}, 5},
		{[]byte{0xc5, 0xf9, 0x72, 0xac, 0x24, 0, 0, 0, 0, 0x01}, 9},
		{[]byte{0xc5, 0xf9, 0x72, 0xe8, 0x01}, 4},
		{[]byte{0xc4, 0xe0, 0x78, 0xf6, 0x00, 0x01}, 4}, // there is no map 0
		{[]byte{0x48, 0xea, 1, 2, 3, 4, 5, 6}, 2},
		{[]byte{0xea, 1, 2, 3, 4, 5, 6, 7}, 7},
		{[]byte{0x66, 0xea, 1, 2, 3, 4, 5, 6}, 6},
	} {
		v := at(k, function(append(test.code, 0x90, 0x90)...), 0)
		require.Zero(t, v.Errno)
		require.Equal(t, test.want, v.Len, "% x", test.code)
	}
}

// TestReasons: every kind has a text of its own, with the place if it has one.
func TestReasons(t *testing.T) {
	seen := map[string]bool{}
	for k := None + 1; int(k) < len(reasonTexts); k++ {
		words := Reason{Kind: k, Site: SiteBug, At: 0x12}.In("f")
		require.NotEmpty(t, words)
		require.Equal(t, k.hasAt(), bytes.Contains([]byte(words), []byte("f+0x12")), words)
		require.NotContains(t, words, "%")
		require.NotContains(t, k.String(), "%")
		if k != Int3At { // as the probed int3: one is counted among the refused, the other among the rest
			require.NotContains(t, seen, k.String())
		}
		seen[k.String()] = true
	}
	require.Equal(t, int(NotByRegisters)+1, len(reasonTexts))
	require.Empty(t, Reason{}.In("f"))
}

// TestWhyRefused: a refusal names the kernel's first reason, and where.
func TestWhyRefused(t *testing.T) {
	old := Kernel{Edition: Edition514}
	for _, test := range []struct {
		kernel Kernel
		code   []byte
		change func(f *Function)
		offset int
		want   string
	}{
		{K612, []byte{0x90, 0x48, 0x89, 0xf8}, nil, 3, "not an instruction boundary, inside f+0x1"},
		{K612, []byte{0x90, 0xc5, 0xf8, 0x06, 0x90}, nil, 1, "undecodable"},
		{K612, []byte{0x90, 0xc5, 0xf8, 0x06, 0x90}, nil, 2, "behind the undecodable bytes at f+0x1"},
		{K612, []byte{0x90, 0xc5, 0xf8, 0x06, 0x90}, nil, 4, "behind the undecodable bytes at f+0x1"},
		{old, []byte{0x90, 0xcc, 0x90, 0x90}, nil, 1, "int3"},
		{old, []byte{0x90, 0xcc, 0x90, 0x90}, nil, 2, "behind the int3 at f+0x1"},
		{old, []byte{0x90, 0xcc, 0x90, 0x90}, nil, 3, "behind the int3 at f+0x1"},
		{old, []byte{0x66, 0xcc, 0x90, 0x90}, nil, 1, "behind the int3 at f+0x0"},
		{K612, []byte{0x90, 0x90}, func(f *Function) {
			f.Sites = []Site{{1, 1, SiteStaticCall}}
		}, 1, "static call at f+0x1"},
		{K612, []byte{0x90, 0x90}, func(f *Function) { f.Blacklisted, f.Sites = true, []Site{{1, 1, SiteStaticCall}} },
			1, "blacklisted"},
		{K612, []byte{0x90, 0x90}, func(f *Function) { f.Name, f.Sites = "__pfx_f", []Site{{1, 1, SiteStaticCall}} }, 1,
			"static call at f+0x1"},
		{K612, []byte{0x90, 0xcc}, func(f *Function) { f.Name = "__pfx_f" }, 1, "preamble of a function"},
		{K612, []byte{0x0f, 0x0b, 0x90}, func(f *Function) { f.Sites = []Site{{0, 2, SiteBug}} }, 0, "BUG at f+0x0"},
		{K61, []byte{0x0f, 0x0b, 'x', 'e', 'n', 0xcc}, nil, 0, "forced-emulation prefix"},
		{K612, []byte{0x0f, 0x0b, 'x', 'e', 'n', 0xcc}, nil, 0, "int3"},
		{K612, []byte{0x66, 0xcf, 0x90}, nil, 0, "neither stepped nor emulated"},
	} {
		f := function(test.code...)
		if test.change != nil {
			test.change(f)
		}
		v := at(test.kernel, f, test.offset)
		require.NotZero(t, v.Errno)
		require.Equal(t, test.want, v.Why.In("f"), "% x +%d", test.code, test.offset)
	}
}
