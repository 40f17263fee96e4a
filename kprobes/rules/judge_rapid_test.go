package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

var allEditions = []rules.Edition{rules.Edition26, rules.Edition415, rules.Edition514, rules.Edition65, rules.Edition69}

func drawKernel(t *rapid.T) rules.Kernel {
	return rules.Kernel{
		Edition:    rapid.SampledFrom(allEditions).Draw(t, "edition"),
		Preemption: rapid.Bool().Draw(t, "preemption"),
		Retpoline:  rapid.Bool().Draw(t, "retpoline"),
		IBT:        rapid.Bool().Draw(t, "ibt"),
		Ftrace:     rapid.Bool().Draw(t, "ftrace"),
		Optprobes:  rapid.Bool().Draw(t, "optprobes"),
	}
}

// drawCode draws bytes of which many are prefixes, escapes and short jumps.
func drawCode(t *rapid.T) []byte {
	common := rapid.SampledFrom([]byte{0x0f, 0x66, 0xf2, 0xf3, 0x48, 0xc4, 0xc5, 0x62, 0xd5, 0x90, 0x74, 0xeb, 0xe9,
		0xcc, 0xff, 0xf7, 0x38, 0x3a, 0x02, 0x05})
	return rapid.SliceOfN(rapid.OneOf(common, rapid.Byte()), 1, 64).Draw(t, "code")
}

func drawFunction(t *rapid.T) *rules.Function {
	code := drawCode(t)
	f := &rules.Function{Name: "f", Addr: 0xffffffffc0000000, Size: len(code), Code: code}
	offset := rapid.IntRange(-2, len(code)+4)
	for range rapid.IntRange(0, 2).Draw(t, "sites") {
		f.Sites = append(f.Sites, rules.Site{
			Offset: offset.Draw(t, "site"), Len: rapid.IntRange(0, 6).Draw(t, "len"),
			Kind: rapid.SampledFrom([]rules.SiteKind{rules.SiteBug, rules.SiteJumpLabel, rules.SiteStaticCall,
				rules.SiteAlternative, rules.SiteFentry}).Draw(t, "kind"),
		})
	}
	if rapid.Bool().Draw(t, "extable") {
		f.Extable = []int{offset.Draw(t, "entry")}
	}
	f.Size = rapid.IntRange(0, len(code)+4).Draw(t, "size") // bytes behind the function, or too few
	switch rapid.IntRange(0, 20).Draw(t, "text") {
	case 1:
		f.Blacklisted = true
	case 2:
		f.InitFreed = true
	case 3:
		f.NoSymbol = true
	case 4:
		f.NotText = true
	}
	return f
}

// TestVerdicts: invariants of every verdict, for any bytes and facts. One judge has
// judged another function before; another one is new.
func TestVerdicts(t *testing.T) {
	var used rules.Judge
	rapid.Check(t, func(t *rapid.T) {
		k, f := drawKernel(t), drawFunction(t)
		var fresh rules.Judge
		used.Load(&k, f)
		fresh.Load(&k, f)
		for offset := range f.Size {
			v := used.At(offset)
			require.Equal(t, fresh.At(offset), v)
			require.Equal(t, offset, v.Offset)
			if v.Errno != 0 {
				require.Negative(t, v.Errno)
				require.NotEmpty(t, v.Why.In("f"), "a refusal has a reason")
				require.False(t, v.Emulated || v.Boosted || v.Ftrace || v.Optimizable())
				continue
			}
			require.Equal(t, v.Optimizable(), v.Why.Kind == rules.None)
			require.Equal(t, v.Boosted, v.NoBoost.Kind == rules.None)
			if v.Ftrace {
				require.False(t, v.Emulated || v.Boosted || v.Optimizable())
				require.Zero(t, v.Len)
				continue
			}
			require.True(t, v.Len >= 1 && v.Len <= x86.MaxLen)
			checkCopies(t, &used, &v, f)
		}
	})
}

// checkCopies compares what is written out of line with the original, but for
// RIP-relative displacements, which move by the distance.
func checkCopies(t *rapid.T, j *rules.Judge, v *rules.Verdict, f *rules.Function) {
	at := v.Offset + v.Delta
	here := f.Addr + arch.Addr(at)
	same, ok := j.Copy(nil, v, here)
	require.True(t, ok)
	original := append(append([]byte(nil), f.Code[min(at, len(f.Code)):]...), make([]byte, 2*x86.MaxLen)...)
	require.Equal(t, original[:v.Len], same, "moved nowhere")
	if !v.Optimizable() {
		return
	}
	require.GreaterOrEqual(t, v.Region, 5)
	require.Less(t, v.Region, 5+x86.MaxLen)
	region, ok := j.Detour(nil, v, here)
	require.True(t, ok)
	require.Equal(t, original[:v.Region], region[:v.Region])
}

// TestPreemption: whether the kernel is preemptible decides boosting and nothing else,
// in any edition. The optimizer's wait also depends on it, but isn't a matter of bytes.
func TestPreemption(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, f := drawKernel(t), drawFunction(t)
		var with, without rules.Judge
		k.Preemption = true
		with.Load(&k, f)
		k.Preemption = false
		without.Load(&k, f)
		for offset := range f.Size {
			v, w := with.At(offset), without.At(offset)
			require.False(t, v.Boosted)
			require.False(t, w.Boosted && k.Edition == rules.Edition26, "x86_64 had no booster yet")
			w.Boosted, w.NoBoost = v.Boosted, v.NoBoost
			require.Equal(t, v, w)
		}
	})
}

// FuzzJudge: no bytes make the decoder or the judge panic.
func FuzzJudge(f *testing.F) {
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xc3}, uint8(4|0xf0))
	f.Add([]byte{0x62, 0xf4, 0x7d, 0x08, 0x81, 0xc0, 1, 0, 0xd5, 0x80, 0xaf, 0xc1}, uint8(4|0xf0))
	f.Add([]byte{0xc4, 0xe7, 0x7b, 0xf8, 0xc0, 1, 2, 3, 4, 0xea}, uint8(3|0xf0))
	f.Fuzz(func(t *testing.T, code []byte, edition uint8) {
		k := rules.K612
		k.Edition = allEditions[int(edition&15)%len(allEditions)]
		k.Preemption, k.Retpoline, k.IBT, k.Ftrace = edition&16 != 0, edition&32 != 0, edition&64 != 0, edition&128 != 0
		var j rules.Judge
		j.Load(&k, &rules.Function{Name: "f", Addr: 1 << 40, Size: len(code), Code: code})
		for offset := range code {
			v := j.At(offset)
			if v.Errno == 0 && v.Offset+v.Delta+max(v.Len, v.Region) > len(code)+x86.MaxLen {
				t.Errorf("+%d: %+v", offset, v)
			}
		}
	})
}
