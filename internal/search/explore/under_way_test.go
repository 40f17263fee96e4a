package explore_test

import (
	"testing"

	"kpsim/internal/search/explore"
	"kpsim/internal/testkit/searchtest"

	"github.com/stretchr/testify/require"
)

// TestUnderWay: a CPU is in a tracer's call when the first probe of the site
// registers, and runs its handler. That is right, whichever way it came and
// whatever the probe is.
func TestUnderWay(t *testing.T) {
	for _, probe := range []string{
		`kprobe("k", at = f)`, `kprobe("k", at = f, post = [count()])`, `kretprobe("k", at = f)`,
		`kretprobe("k", at = f, entry = [count()])`,
	} {
		sc := searchtest.LoadTinier(t, `ftrace = True, quiesce = "sched", patch = "breakpoint"`, `
f = text("f", "0f1f440000 8d4701 c3")
fentry(f)
k = `+probe+`
task("tracer", cpu = 0, ops = [tracer(True), register(k), unregister(k), tracer(False)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 2)], repeat = 3)
`)
		r, err := explore.Run(explore.Spec{Scenario: sc, Runs: 3000, Seed: 1, Blind: true})
		require.NoError(t, err)
		require.Empty(t, r.Broken, probe)
	}
}

// TestToldAddress: the handlers of return probes without an entry_handler are told
// where their calls return to, whatever keeps track of calls; and R1 notices where
// they aren't.
func TestToldAddress(t *testing.T) {
	for _, returns := range []string{"objpool", "rethook", "freelist", "hashed", "global"} {
		for _, c := range []struct {
			mutant, probes string
			broken         bool
		}{
			{"", `kretprobe("a", at = v), kretprobe("b", at = v)`, false},
			{"ret-addr-kept", `kretprobe("a", at = v), kretprobe("b", at = v)`, true},
			{"ret-addr-kept", `kretprobe("a", at = v), kretprobe("b", at = v, maxactive = 1)`, true},
			{"ret-addr-lost", `kretprobe("a", at = v)`, true},
			{"ret-addr-lost", `kretprobe("a", at = v, maxactive = 1)`, true},
		} {
			sc := searchtest.LoadTinier(t, `returns = "`+returns+`"`, `
v = text("v", hex = "8d443701 c3")
ks = [`+c.probes+`]
task("a", cpu = 0, ops = [register(k) for k in ks] + [call(v)] + [unregister(k) for k in ks])
`)
			r, err := explore.Run(explore.Spec{Scenario: sc, Mutant: c.mutant, Runs: 20, Seed: 1, Blind: true})
			require.NoError(t, err)
			want := map[string]uint64{}
			if c.broken {
				want["return-pairs"] = r.Runs
			}
			require.Equal(t, want, r.Broken, "%s %s: %s", returns, c.mutant, c.probes)
		}
	}
}

// TestFrameLeft: a call that is never returned from leaves its frame to the next
// call of the function, which returns elsewhere: its handler gets that address.
func TestFrameLeft(t *testing.T) {
	sc := searchtest.LoadTinier(t, `returns = "rethook"`, `
f = text("f", "85ff 7501 c3 4883c408 c3", at = 0xffffffff81000100)       # test %edi,%edi; jnz 1f; ret; 1: add $8,%rsp; ret
g = text("g", "e8ebffffff 0f0b", at = 0xffffffff81000110)                # call f; ud2
h = text("h", "31ff e8d9ffffff c3", at = 0xffffffff81000120)             # xor %edi,%edi; call f; ret
i = text("i", "e8dbffffff e8e6ffffff c3", at = 0xffffffff81000130)       # call g; call h; ret
k = kretprobe("k", at = f, maxactive = 8, entry = [count()])
task("a", cpu = 0, ops = [register(k), call(i, 1, changed = True)])
`)
	r, err := explore.Run(explore.Spec{Scenario: sc, Runs: 20, Seed: 1, Blind: true})
	require.NoError(t, err)
	require.NotContains(t, r.Broken, "return-pairs")
}
