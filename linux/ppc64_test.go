package linux_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
)

func openPPC(t testing.TB, series string) *linux.Kernel {
	k, err := linux.Open(kerneltest.PathOn(t, "ppc64le", series))
	require.NoError(t, err)
	linux.Give(k)
	return k
}

// Finds of kernels for ppc64le as they are: a post_handler finds the address in the slot; a detour whose hit is missed
// doesn't store the address from which a branch is emulated.
const (
	findPost = "runs the post_handler of probe 0 with the instruction pointer at"
	findNIP  = "dies of #PF at 0x4"

	findStack = "without probes it ends with" // the stack pointer stays where it was
)

// scenariosPPC are programs that a kernel for ppc64le runs. Instructions that are emulated and that are stepped have
// probes, alone and several at a place; functions have return probes; probes become branches.
var scenariosPPC = append([]guest{
	{"emulated", `
f = text("f", "38630001 41820008 38630001 4e800020")   # addi r3,r3,1; beq +8; addi r3,r3,1; blr
p = kprobe("p", at = f, pre = [count()], post = [count()])
q = kprobe("q", at = f + 4)
r = kprobe("r", at = f + 12)
task("prober", cpu = 0, ops = [register(p, errno = 0), call(f, 1, returns = 3), register(q, errno = 0),
    register(r, errno = 0), call(f, 1, returns = 3), disable(p), enable(p), unregister(q), unregister(p),
    call(f, 1, returns = 3), unregister(r)])
task("caller", cpu = 1, ops = [call(f, 4, returns = 6), call(f, 5, returns = 7)], repeat = 2)
timer(cpu = 1)
`},
	{"stepped", `
f = text("f", "7c631e14 7c631e14 4e800020")            # addo r3,r3,r3; twice; blr
p = kprobe("p", at = f, pre = [count()])
q = kprobe("q", at = f + 4)
task("prober", cpu = 0, ops = [register(p, errno = 0), call(f, 1, returns = 4), register(q, errno = 0),
    call(f, 1, returns = 4), disable(p), enable(p), unregister(q), unregister(p), call(f, 1, returns = 4)])
task("caller", cpu = 1, ops = [call(f, 4, returns = 16), call(f, 5, returns = 20)], repeat = 2)
`},
	{"frame", `
f = text("f", "f821ffe1 38210020 4e800020")            # stdu r1,-32(r1); addi r1,r1,32; blr
p = kprobe("p", at = f, pre = [count()], post = [count()])
task("prober", cpu = 0, ops = [register(p, errno = 0), call(f, 1, returns = 1), unregister(p)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 1)], repeat = 3)
timer(cpu = 1)
`},
	{"own", `
f = text("f", "38630001 4e800020")                     # addi r3,r3,1; blr, which no jump replaces
p = kprobe("p", at = f + 4)
task("prober", cpu = 0, ops = [call(f, 1, returns = 2), register(p, errno = 0), call(f, 1, returns = 2), unregister(p)])
`},
	{"optimized", `
f = text("f", "38630001 38630002 4e800020")            # addi r3,r3,1; addi r3,r3,2; blr
a = kprobe("a", at = f + 4, pre = [count()])
task("prober", cpu = 0, ops = [register(a, errno = 0), wait_optimized(), call(f, 1, returns = 4), optimization(False),
    call(f, 1, returns = 4), optimization(True), wait_optimized(), unregister(a), wait_optimized()])
task("caller", cpu = 1, ops = [call(f, 1, returns = 4)], repeat = 4)
timer(cpu = 1)
`},
}, inWords("38630001 38630001 4e800020", "38630002 4e800020", "38630001 4e800020")...)

// TestPPC: kernels for ppc64le, without preemption (6.12) and with it (7.2), break nothing.
func TestPPC(t *testing.T) {
	for _, c := range []struct{ series, preempt string }{{"6.12", ""}, {"7.2", ", preempt = \"full\""}} {
		t.Run(c.series, func(t *testing.T) {
			openPPC(t, c.series)
			for _, p := range scenariosPPC {
				t.Run(p.name, func(t *testing.T) {
					clean(t, rigOn(t, "ppc64le", p.text, "", c.preempt), p.name, "", thorough.Of[uint64](10, 2000))
				})
			}
		})
	}
}

// TestPPCFinds: what is wrong in the kernel as it is is found.
func TestPPCFinds(t *testing.T) {
	openPPC(t, "6.12")
	for _, c := range []struct{ name, text, reads string }{
		{"post", `
f = text("f", "7c631e14 4e800020")
p = kprobe("p", at = f, post = [count()])
task("prober", cpu = 0, ops = [register(p, errno = 0), call(f, 1, returns = 2)])
`, findPost},
		{"nip", `
f = text("f", "7c0802a6 f8010010 48000011 e8010010 7c0803a6 4e800020 38000000 38630001 4e800020")
g = text("g", "38630002 4e800020")
bl = kprobe("bl", f + 8)
outer = kprobe("outer", g, pre = [call(f)])
task("prober", cpu = 0, ops = [register(bl), register(outer), wait_optimized(), call(g, 1, returns = 3)])
`, findNIP},
		{"stack", `
f = text("f", "f821ffe1 38630001 38210020 4e800020")   # stdu r1,-32(r1); addi r3,r3,1; addi r1,r1,32; blr
k = kprobe("k", at = f + 8)
task("prober", cpu = 0, ops = [register(k, errno = 0), wait_optimized(), call(f, 1, returns = 2)])
`, findStack},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rigOn(t, "ppc64le", c.text, "", "")
			run := r.Run(new(sched.Default))
			require.Equal(t, smp.Violated, run.Outcome)
			require.True(t, strings.Contains(run.Finding.Message, c.reads), run.Finding.Message)
		})
	}
}

// TestPPCNested: MSR.EE stays on in a step, so an interrupt's handler may be hit within two other hits, and what is
// kept of the first is lost.
func TestPPCNested(t *testing.T) {
	k := openPPC(t, "6.12")
	c := canary{"", "nested", "", "C2"}
	c.noticed(t, k, `
f = text("f", "38630001 4e800020")
g = text("g", "7c631e14 7c631e14 7c631e14 4e800020")   # addo r3,r3,r3, which is stepped; three times; blr
h = text("h", "38630002 4e800020")
outer = kprobe("outer", f, pre = [call(g), call(g)])
one = kprobe("one", g)
two = kprobe("two", g + 4)
three = kprobe("three", g + 8)
third = kprobe("third", h, post = [count()])
task("prober", cpu = 0, ops = [register(outer), register(third), register(one), register(two), register(three),
    wait_optimized(), call(f, 1, returns = 2)])
timer(cpu = 0, run = h)
`, "")
}

// TestPPCEntry: a symbol of which the second instruction has a probe has no local entry point for the next one.
func TestPPCEntry(t *testing.T) {
	openPPC(t, "6.12")
	const at = 0xffffffff81000000
	for _, c := range []struct {
		other string
		want  arch.Addr
		found string
	}{{"f + 8", at + 8, ""}, {"f + 4", at, "no whole image of a registered probe"}} {
		r := rigOn(t, "ppc64le", `
f = text("f", "3c4c0001 38420100 38630001 4e800020", at = 0xffffffff81000000)  # addis r2,r12,1; addi r2,r2,256; …
a = kprobe("a", at = `+c.other+`)
b = kprobe("b", symbol = "f")
task("prober", cpu = 0, ops = [register(a, errno = 0), register(b, errno = 0)])
`, "", "")
		run := r.Run(new(sched.Default))
		require.Equal(t, c.found == "", run.Outcome == smp.Passed, "%s %v", run.Finding.Message, run.Err)
		require.Contains(t, run.Finding.Message, c.found)
		require.Equal(t, c.want, r.Engine().Status(1).Addr)
	}
}

// TestPPCCanaries: faults in the machine code of what a port to ppc64le has of its own are noticed.
func TestPPCCanaries(t *testing.T) {
	k := openPPC(t, "6.12")
	text := textsOf(scenariosPPC)
	for _, c := range []canary{
		{"skip-call:arch_arm_kprobe:patch_instruction:1", "emulated", "", "T4 W1"},
		{"skip-call:arch_disarm_kprobe:patch_instruction:1", "emulated", "", "T4 W1"},
		{"skip-call:patch_mem:__patch_mem:3", "emulated", "", "T4 O1 W1"},
		{"drop-store:__patch_mem+0x8", "emulated", "", "T4 O1"},
		{"drop-fence:__patch_mem+0x1c", "own", ", fetch = \"stale\"", "T3"},
		{"skip-call:arch_optimize_kprobes:patch_instruction:1", "optimized", "", "T4 P1"},
		{"skip-call:unregister_kprobe:synchronize_rcu:1", "joined", "", "A2 H1"},
		{"skip-call:kprobe_optimizer:synchronize_rcu:1", "optimized", "", "S1 H1"},
		{"skip-call:kprobe_handler:try_to_emulate:2", "emulated", "", "C1 X1"},
		{"skip-call:rethook_free:call_rcu:1", "returns", "", "R2"},
		{"drop-store:arch_rethook_prepare+", "returns", "", "A1 O1 R1 R2"},
	} {
		t.Run(c.mutant, func(t *testing.T) { c.noticed(t, k, text[c.scenario], "") })
	}
}

// TestPPCLabel: the kernel's own code switches a jump label, beside a probe. Without the store that is noticed.
func TestPPCLabel(t *testing.T) {
	k := openPPC(t, "6.12")
	const program = `
f = text("f", "60000000 38630001 4e800020")            # nop; addi r3,r3,1; blr
on = text("on", "38630002 4e800020")                   # addi r3,r3,2; blr
l = jump_label("l", at = f, target = on)
p = kprobe("p", at = f + 4)
task("flipper", cpu = 0, ops = [label_on(l), call(f, 1, returns = 3), register(p, errno = 0), label_off(l),
    call(f, 1, returns = 2)])
task("caller", cpu = 1, ops = [call(f, 1, changed = True), call(f, 1, changed = True)], repeat = 3)
timer(cpu = 1)
`
	passes(t, rigOn(t, "ppc64le", program, "", ""))
	for _, c := range []canary{
		{"skip-call:arch_jump_label_transform:patch_branch:1", "", "", "J2"},
		{"skip-call:arch_jump_label_transform:patch_instruction:1", "", "", "J2"},
	} {
		t.Run(c.mutant, func(t *testing.T) { c.noticed(t, k, program, "") })
	}
}

// TestPPCSites: the kernel's own code writes the sites of ftrace, and calls its probes there. What it leaves out is
// noticed. A probe of a symbol is at the site. In 7.2 calls stand out of line.
func TestPPCSites(t *testing.T) {
	for _, series := range []string{"6.12", "7.2"} {
		t.Run(series, func(t *testing.T) { testPPCSites(t, openPPC(t, series)) })
	}
}

func testPPCSites(t *testing.T, k *linux.Kernel) {
	const program = `
f = text("f", "60000000 60000000 38630001 4e800020")   # nop; nop; addi r3,r3,1; blr
fentry(f)
p = kprobe("p", symbol = "f", post = [count()])
r = kretprobe("r", symbol = "f", handler = [count()])
task("tracer", cpu = 0, ops = [tracer(True), register(p, errno = 0), call(f, 1, returns = 2), tracer(False),
    unregister(p), register(r, errno = 0), call(f, 1, returns = 2), unregister(r)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 2), call(f, 5, returns = 6), schedule()], repeat = 3)
timer(cpu = 1)
`
	setting := ""
	if k.Stubs() {
		setting = ", ftrace_stubs = True"
	}
	passes(t, rigOn(t, "ppc64le", program, "", setting))
	for _, c := range []canary{
		{"skip-call:ftrace_modify_all_code:ftrace_replace_code:1", "", setting, "N1 T3"},
		{"skip-call:ftrace_replace_code:patch_instruction:1", "", setting, "N1 T3 W1"},
		{"skip-call:__unregister_kprobe_top:__disable_kprobe:1", "", setting, "A1"},
	} {
		t.Run(c.mutant+c.setting, func(t *testing.T) { c.noticed(t, k, program, "") })
	}
}

// BenchmarkPPC is register, hit and unregister on two CPUs of a kernel for ppc64le, all monitors.
func BenchmarkPPC(b *testing.B) {
	openPPC(b, "6.12")
	benchmarkRig(b, rigOn(b, "ppc64le", scenariosPPC[0].text, "", ""), "sticky")
}
