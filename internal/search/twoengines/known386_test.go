package twoengines_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/proof"
	"kpsim/internal/search/twoengines"
)

// Defects that aren't of one processor: the same programs show them on a kernel of i386, and
// kpsim's engine breaks nothing.
func TestKnown386(t *testing.T) {
	k := opened(t, "i386")
	for _, name := range []string{"jump-lost", "blocked-lost", "enable-lost", "ftrace-by-post", "reuse-disabled"} {
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile("testdata/" + name + ".star")
			require.NoError(t, err)
			text := strings.Replace(string(source), "machine(", `machine(arch = "i386", `, 1)
			text = strings.ReplaceAll(text, "48", "90") // REX.W: a nop of as many bytes
			s, err := lang.Load(name+".star", []byte(text), nil)
			require.NoError(t, err)
			one, two, err := twoengines.On(s, k)
			require.NoError(t, err)
			kernels, err := twoengines.Answer(one, "")
			require.NoError(t, err)
			ours, err := twoengines.Answer(two, "")
			require.NoError(t, err)
			require.True(t, ours.Passed, ours.End)
			known := twoengines.KnownAs(s, kernels, ours)
			if known == "" {
				require.NotEmpty(t, twoengines.Differences(kernels, ours), "the kernel's engine: %s", kernels.End)
				known, err = twoengines.KnownLike(two, kernels)
				require.NoError(t, err)
			}
			require.Equal(t, name, known, "the kernel's engine: %s; kpsim's: %s", kernels.End, ours.End)
		})
	}
}

// A kernel of i386 is verified, by classes: all schedules with a deviation at most.
func TestVerify386(t *testing.T) {
	k := opened(t, "i386")
	s, err := lang.Load("verify386.star", []byte(`
machine(cpus = 2, arch = "i386", preempt = "none")
f = text("f", "55 89e5 8d0402 5d c3") # push %ebp; mov %esp,%ebp; lea (%edx,%eax),%eax; pop %ebp; ret
k = kprobe("k", at = f + 1, pre = [count()])
task("a", cpu = 0, ops = [register(k), call(f, 1, 2, returns = 3), unregister(k)])
task("b", cpu = 1, ops = [call(f, 1, 2, returns = 3)])
`), nil)
	require.NoError(t, err)
	require.NoError(t, onlinux.Set(s, k))
	v, err := proof.Verify(proof.Proof{Spec: explore.Spec{Scenario: s}, Deviations: 1, Classes: true})
	require.NoError(t, err)
	require.True(t, v.Complete)
	require.Empty(t, v.Broken)
	require.Greater(t, v.Runs, uint64(100))
}
