package lang_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
)

// TestAnswers: what a probe must be answered, as far as its place alone decides it (spec 2.9, 3.2, 5, 6.1).
func TestAnswers(t *testing.T) {
	const einval, enoent, eilseq = 22, 2, 84
	only := func(errno int) scenario.Answer { return scenario.Answer{Known: true, Errno: errno} }
	jump := scenario.Answer{Known: true, Jump: true}
	for _, c := range []struct {
		edition, probe string
		want           scenario.Answer
	}{
		{"6.9", `kprobe("k", at = f + 1)`, jump},
		{"6.9", `kprobe("k", at = f + 2)`, only(eilseq)},
		{"2.6", `kprobe("k", at = f + 2)`, scenario.Answer{}}, // boundaries aren't checked: it is in the way
		{"6.9", `kprobe("k", at = f, symbol = "f")`, only(einval)},
		{"2.6", `kprobe("k", symbol = "nowhere")`, only(einval)},
		{"4.15", `kprobe("k", symbol = "nowhere")`, only(enoent)},
		{"4.15", `kprobe("k", symbol = "f", offset = 6)`, only(einval)},
		{"6.9", `kprobe("k", symbol = "f", offset = 6)`, only(enoent)},
		{"6.9", `kprobe("k", symbol = "f", offset = 1)`, jump},
		{"6.9", `kretprobe("k", at = f)`, jump},
		{"6.9", `kretprobe("k", at = f + 5)`, only(einval)},
		{"6.9", `kretprobe("k", at = f, data_size = 4100)`, scenario.Answer{}},
		{"2.6", `jprobe("k", at = f, entry = e)`, only(0)},
		{"2.6", `jprobe("k", at = f, entry = e); jprobe("other", at = f, entry = e)`,
			scenario.Answer{Known: true, Or: 17}},
		{"6.9", `kprobe("k", at = sw)`, only(einval)},
		{"6.9", `kprobe("k", symbol = "__switch_to", offset = 1)`, only(einval)},
		{"6.9", `kretprobe("k", at = sw)`, only(einval)},
		{"6.5", `kretprobe("k", at = sw, entry = [nonzero()])`, only(einval)},
		{"2.6", `kprobe("k", at = sw)`, only(einval)},
		{"2.6", `kretprobe("k", at = sw)`, only(einval)},
		{"2.6", `jprobe("k", at = sw, entry = e)`, only(einval)},
		{"6.5", `kprobe("k", at = th)`, jump},             // built without thunks it is a jump like others
		{"6.9", `kprobe("k", at = w)`, scenario.Answer{}}, // there, or not: its module comes
		{"6.9", `kprobe("k", at = cut)`, only(0)},         // its last instruction ends in the next function
	} {
		s, err := lang.Load("answers", []byte(fmt.Sprintf(`
scenario(says = "Answers.")
machine(cpus = 1, edition = "%s")
f = text("f", "554889e55dc3")
e = text("e", "e800000000c3", at = 0xffffffff81008000)
sw = text("__switch_to", "4889f8c3", at = 0xffffffff81010000)
th = text("th", "4889f84883c011e9f40f0000", at = 0xffffffff81011000)
text("__x86_indirect_thunk_rax", "ffe0", at = 0xffffffff81012000)
cut = text("cut", "9048b801020304", at = 0xffffffff81013000)
text("after", "05060708c3", at = 0xffffffff81013007)
w = text("w", "90c3", at = 0xffffffff81004000)
m = module("m", funcs = [w])
%s
task("t", cpu = 0, ops = [call(f)])
never()
`, c.edition, c.probe)), library.Open)
		require.NoError(t, err, c.probe)
		if c.want.Errno == enoent || c.want.Errno == einval && c.edition != "6.9" {
			s.Modules = nil // a name may be of one that comes
		}
		require.Equal(t, c.want, s.Answers()[0], "%s: %s", c.edition, c.probe)
	}
}

// TestAnswersThunks: a function with a jump to a thunk isn't claimed to be optimized, where the
// edition's kernel looks for such jumps (spec 4.2).
func TestAnswersThunks(t *testing.T) {
	for edition, jump := range map[string]bool{"4.15": false, "5.14": false, "6.5": false, "6.9": true} {
		for _, built := range []bool{false, true} {
			s, err := lang.Load("answers", []byte(fmt.Sprintf(`
scenario(says = "A jump to a thunk.")
machine(cpus = 1, edition = "%s", preempt = "none", retpoline = %s)
text("__x86_indirect_thunk_rax", "ffe0", at = 0xffffffff81001000)
f = text("f", "4889f84883c011e9f40f0000", at = 0xffffffff81000000)
k = kprobe("k", at = f)
task("t", cpu = 0, ops = [register(k)])
never()
`, edition, map[bool]string{false: "False", true: "True"}[built])), library.Open)
			require.NoError(t, err)
			require.Equal(t, scenario.Answer{Known: true, Jump: jump || !built}, s.Answers()[0], "%s, retpoline %v",
				edition, built)
		}
	}
}

// TestNoFprobes: an edition that has no fprobes says so.
func TestNoFprobes(t *testing.T) {
	const src = `
machine(cpus = 1, ftrace = True%s)
e = text("entry", "c3")
f = text("target", "0f1f4400004889f8c3")
fentry(f)
p = fprobe("p", [f], entry = e)
task("t", cpu = 0, ops = [register_fprobe(p)])
`
	_, err := lang.Load("fprobes", []byte(fmt.Sprintf(src, "")), library.Open)
	require.NoError(t, err)
	_, err = lang.Load("fprobes", []byte(fmt.Sprintf(src, `, edition = "5.14"`)), library.Open)
	require.ErrorContains(t, err,
		"edition 5.14 has no fprobes, which came with 5.18; leave it out, or take a later edition")
}
