package linux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
)

func openARM(t testing.TB, series string) *linux.Kernel {
	k, err := linux.Open(kerneltest.PathOn(t, "arm64", series))
	require.NoError(t, err)
	linux.Give(k)
	return k
}

// scenariosARM are programs that a kernel for arm64 runs. Instructions that are copied and each form that is simulated
// have probes, alone and several at a place; functions have return probes.
var scenariosARM = append([]guest{
	{"copied", `
f = text("f", "91000400 91000400 d65f03c0")            # add x0,x0,#1; twice; ret
p = kprobe("p", at = f, pre = [count()], post = [count()])
q = kprobe("q", at = f + 4)
task("prober", cpu = 0, ops = [register(p, errno = 0), call(f, 1, returns = 3), register(q, errno = 0),
    call(f, 1, returns = 3), disable(p), enable(p), unregister(q), unregister(p), call(f, 1, returns = 3)])
task("caller", cpu = 1, ops = [call(f, 4, returns = 6), call(f, 5, returns = 7)], repeat = 2)
timer(cpu = 1)
`},
	{"simulated", `
# cbz x0,+16; adr x1,.; tbz w0,#0,+8; add; add; ret
f = text("f", "b4000080 10000001 36000040 91000400 91000400 d65f03c0")
p = kprobe("p", at = f)
q = kprobe("q", at = f + 4)
r = kprobe("r", at = f + 8)
e = kprobe("e", at = f + 20)
task("prober", cpu = 0, ops = [register(p, errno = 0), register(q, errno = 0), register(r, errno = 0),
    register(e, errno = 0), call(f, 0, returns = 1), call(f, 1, returns = 3), call(f, 2, returns = 3), unregister(r),
    unregister(q), unregister(p)])
task("caller", cpu = 1, ops = [call(f, 0, returns = 1), call(f, 7, returns = 9)], repeat = 2)
timer(cpu = 1)
`},
	{"literal", `
f = text("f", "58000080 98000081 8b010000 d65f03c0 00000005 fffffffe")  # ldr x0,+16; ldrsw x1,+16; add x0,x0,x1; ret
p = kprobe("p", at = f)
q = kprobe("q", at = f + 4)
task("prober", cpu = 0, ops = [register(p, errno = 0), register(q, errno = 0),
    call(f, 0, returns = 0xfffffffe00000003), unregister(q), unregister(p)])
task("caller", cpu = 1, ops = [call(f, 0, returns = 0xfffffffe00000003)], repeat = 2)
timer(cpu = 1)
`},
	{"outer", `
f = text("f", "a9bf7bfd 94000007 91000400 a8c17bfd d65f03c0", at = 0xffffffff81001000)  # saves x30, calls g, adds 1
g = text("g", "91000400 d65f03c0", at = 0xffffffff81001020)
outer = kretprobe("outer", f, entry = [count()], handler = [count()])
inner = kretprobe("inner", g, maxactive = 1)
task("prober", cpu = 0, ops = [register(outer), register(inner), call(f, 1, returns = 3), unregister(inner),
    unregister(outer)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 3), call(g, 4, returns = 5)], repeat = 2)
timer(cpu = 1)
`},
	{"missed", `
f = text("f", "a9bf7bfd 91000400 a8c17bfd d65f03c0")
r = kretprobe("r", at = f, handler = [count()], maxactive = 1)
task("prober", cpu = 0, ops = [register(r, errno = 0), call(f, 1, returns = 2), call(f, 1, returns = 2)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 2), call(f, 2, returns = 3)], repeat = 2)
timer(cpu = 1, run = f)
`},
}, inWords("91000400 91000400 d65f03c0", "91000800 d65f03c0", "91000400 d65f03c0")...)

// TestARM: kernels for arm64, without preemption (6.12) and with it (7.2), break nothing.
func TestARM(t *testing.T) {
	for _, c := range []struct{ series, preempt string }{{"6.12", ""}, {"7.2", ", preempt = \"full\""}} {
		t.Run(c.series, func(t *testing.T) {
			openARM(t, c.series)
			for _, p := range scenariosARM {
				t.Run(p.name, func(t *testing.T) {
					clean(t, rigOn(t, "arm64", p.text, "", c.preempt), p.name, "", thorough.Of[uint64](20, 2000))
				})
			}
		})
	}
}

// TestARMCanaries: faults in the machine code of what a port to arm64 has of its own are noticed.
func TestARMCanaries(t *testing.T) {
	k := openARM(t, "6.12")
	text := textsOf(scenariosARM)
	for _, c := range []canary{
		{"skip-call:aarch64_insn_patch_text:stop_machine_cpuslocked:1", "copied", "", "T4"},
		{"skip-call:arch_arm_kprobe:aarch64_insn_patch_text:1", "copied", "", "T4"},
		{"skip-call:arch_disarm_kprobe:aarch64_insn_patch_text:1", "copied", "", "T4"},
		{"skip-call:aarch64_insn_patch_text_cb:__aarch64_insn_write:1", "copied", "", "T4"},
		{"skip-call:patch_map.constprop.0:__set_fixmap:1", "copied", "", "T4"},
		{"skip-call:aarch64_insn_patch_text_cb:caches_clean_inval_pou:1", "copied", ", fetch = \"stale\"", "T3 O1 W1"},
		{"drop-fence:aarch64_insn_patch_text_cb+", "copied", ", fetch = \"stale\"", "T3 O1 W1"},
		{"skip-call:arch_prepare_kprobe:aarch64_insn_patch_text_nosync:2", "copied", "", "O1"},
		{"skip-call:unregister_kprobe:synchronize_rcu:1", "joined", "", "A2 H1"},
		{"skip-call:__kretprobe_trampoline_handler:recycle_rp_inst:1", "returns", "", "R2"},
		{"drop-store:arch_prepare_kretprobe+", "returns", "", "A1"},
		{"skip-call:kretprobe_brk_handler:kprobe_busy_end:1", "returns", "", "C2"},
	} {
		t.Run(c.mutant, func(t *testing.T) { c.noticed(t, k, text[c.scenario], "") })
	}
}

// TestARMLabel: the kernel's own code switches a jump label, beside a probe. Without the IPI at the end, or without the
// store, that is noticed.
func TestARMLabel(t *testing.T) {
	k := openARM(t, "6.12")
	const program = `
f = text("f", "d503201f 91000400 d65f03c0")            # nop; add x0,x0,#1; ret
on = text("on", "91000800 d65f03c0")                   # add x0,x0,#2; ret
l = jump_label("l", at = f, target = on)
p = kprobe("p", at = f + 4)
task("flipper", cpu = 0, ops = [label_on(l), call(f, 1, returns = 3), register(p, errno = 0), label_off(l),
    call(f, 1, returns = 2)])
task("caller", cpu = 1, ops = [call(f, 1, changed = True), call(f, 1, changed = True)], repeat = 3)
timer(cpu = 1)
`
	passes(t, rigOn(t, "arm64", program, "", ""))
	for _, c := range []canary{
		{"skip-call:arch_jump_label_transform_apply:kick_all_cpus_sync:1", "", ", fetch = \"stale\"", "J1"},
		{"skip-call:arch_jump_label_transform_queue:aarch64_insn_patch_text_nosync:1", "", "", "J2"},
	} {
		t.Run(c.mutant, func(t *testing.T) { c.noticed(t, k, program, "") })
	}
}

// BenchmarkARM is register, hit and unregister on two CPUs of a kernel for arm64, all monitors.
func BenchmarkARM(b *testing.B) {
	openARM(b, "6.12")
	benchmarkRig(b, rigOn(b, "arm64", scenariosARM[0].text, "", ""), "sticky")
}

// TestARMSites: the kernel's own code writes the sites of ftrace, beside a probe; a probe at a site is refused. What it
// leaves out is noticed, and under stale fetches that it makes no other CPU synchronise.
func TestARMSites(t *testing.T) {
	k := openARM(t, "6.12")
	const program = `
f = text("f", "d503201f d503201f 91000400 91000400 d65f03c0")  # nop; nop; add x0,x0,#1; twice; ret
fentry(f)
p = kprobe("p", at = f + 8, post = [count()])
q = kprobe("q", at = f + 4)
task("tracer", cpu = 0, ops = [tracer(True), register(p, errno = 0), register(q, errno = "EINVAL"),
    call(f, 1, returns = 3), tracer(False), call(f, 1, returns = 3), unregister(p)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 3), call(f, 5, returns = 7), schedule()], repeat = 3)
timer(cpu = 1)
`
	passes(t, rigOn(t, "arm64", program, "", ""))
	for _, c := range []canary{
		{"skip-call:ftrace_modify_all_code:ftrace_replace_code:2", "", "", "N1"},
		{"skip-call:ftrace_make_call:aarch64_insn_patch_text_nosync:1", "", "", "W1"},
		{"", "", ", fetch = \"stale\"", "N1"},
	} {
		t.Run(c.mutant+c.setting, func(t *testing.T) { c.noticed(t, k, program, "") })
	}
}
