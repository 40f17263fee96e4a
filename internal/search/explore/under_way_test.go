package explore_test

import (
	"testing"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
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

// TestNotAccused: programs that the right engine was once accused for.
func TestNotAccused(t *testing.T) {
	for name, program := range map[string]string{
		"two tasks register and unregister one fprobe, and it follows calls as often as it says": `
machine(cpus = 3, edition = "6.9")
f = text("f", "0f1f440000 8d4701 c3")
g = text("g", "0f1f440000 8d4701 c3")
h = text("h", "31c0 c3")
fentry(f)
fentry(g)
p = fprobe("p", [f], entry = h, exit = h)
[task("t%d" % i, cpu = i, ops = [register_fprobe(p), call(f), unregister_fprobe(p)]) for i in range(2)]
task("undoes", cpu = 2, ops = [unregister_fprobe(p)])
task("caller", cpu = 2, ops = [call(f), call(g)], repeat = 4)
`,
		"a live patch of a function without a site is refused": `
machine(cpus = 1, edition = "5.14")
f = text("f", "8d4701 c3")
g = text("g", "0f1f440000 8d4702 c3")
fentry(g)
task("t", ops = [patch_func(f, g)])
`,
		"a fault in a handler counts as a miss of each probe of the place": `
machine(cpus = 1, edition = "2.6")
f = text("f", "90 90 8d4701 c3")
faults = text("faults", "90 8b0425f00f0000 31c0 c3", extable = [1])
k = kprobe("k", f, pre = [count(), call(faults)])
j = kprobe("j", f, post = [count()], fault = [count()])
task("t", ops = [register(k), register(j), call(f, 1, 2), read_missed(j)])
`,
		"jumps cover instructions that alternatives have replaced, and the beginning of one": `
machine(cpus = 1, edition = "6.9", fetch = "mixing")
f = text("f", "89f8 89f8 0f1f00 c3")
alternative(f + 2, "8bc7")
alternative(f + 4, "83c001")
k = kprobe("k", at = f)
task("boot", ops = [call(f, 2), apply_alternatives(), register(k), wait_optimized(), call(f, 2, changed = True), unregister(k), wait_optimized(), call(f, 2, changed = True), register(k), wait_optimized()])
timer(cpu = 0, run = f, at_most = 2)
`,
		"a jump is taken back from where an alternative has replaced an instruction": `
machine(cpus = 1, edition = "6.9", preempt = "full")
f = text("f", "89f8 89f8 0f1f00 c3")
alternative(f, "8bc7")
k = kprobe("k", at = f)
task("boot", ops = [apply_alternatives(), register(k), wait_optimized(), optimization(False), call(f, 2)])
`,
		"a jump behind an endbr64, at which is a probe with a post_handler, is read in the list": `
machine(cpus = 2, edition = "4.15")
f = text("f", "f30f1efa 89f8 83c001 01f0 c3")
a = kprobe("a", at = f, post = [count()])
b = kprobe("b", at = f + 4)
task("reader", cpu = 1, ops = [wait_optimized(), read_list()])
task("joiner", cpu = 0, ops = [register(a), register(b), read_list()])
`,
		"a client that changes the path is registered twice": `
machine(cpus = 1, edition = "6.9")
f = text("f", "0f1f440000 8d4701 c3")
fentry(f)
task("t", ops = [livepatch(True), livepatch(True), call(f, 1, changed = True), livepatch(False), call(f, 1, returns = 2)])
`,
	} {
		sc, err := lang.Load("once", []byte(program+"never()\n"), library.Open)
		require.NoError(t, err, name)
		r, err := explore.Run(explore.Spec{Scenario: sc, Runs: 3000, Seed: 1, Blind: true})
		require.NoError(t, err, name)
		require.Empty(t, r.Broken, name)
	}
}
