package linux_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
	"kpsim/linux/mutate"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
)

func openRISCV(t testing.TB, series string) *linux.Kernel {
	k, err := linux.Open(kerneltest.PathOn(t, "riscv64", series))
	require.NoError(t, err)
	linux.Give(k)
	return k
}

// scenariosRISCV are programs that a kernel for riscv64 runs. Instructions of two and of four bytes, copied and
// simulated, have probes, alone and several at a place; functions have return probes.
var scenariosRISCV = append([]guest{
	{"copied", `
f = text("f", "0505 0505 8082")                        # addi a0,a0,1; twice; ret
p = kprobe("p", at = f, pre = [count()], post = [count()])
q = kprobe("q", at = f + 2)
task("prober", cpu = 0, ops = [register(p, errno = 0), call(f, 1, returns = 3), register(q, errno = 0),
    call(f, 1, returns = 3), disable(p), enable(p), unregister(q), unregister(p), call(f, 1, returns = 3)])
task("caller", cpu = 1, ops = [call(f, 4, returns = 6), call(f, 5, returns = 7)], repeat = 2)
timer(cpu = 1)
`},
	{"simulated", `
f = text("f", "c119 00150513 00000297 00050363 0505 8082")  # beqz a0,+6; addi; auipc t0,0; beqz a0,+6; addi; ret
p = kprobe("p", at = f)
q = kprobe("q", at = f + 6)
r = kprobe("r", at = f + 10)
task("prober", cpu = 0, ops = [register(p, errno = 0), register(q, errno = 0), register(r, errno = 0),
    call(f, 0, returns = 0), call(f, 1, returns = 3), unregister(r), unregister(q), unregister(p)])
task("caller", cpu = 1, ops = [call(f, 0, returns = 0), call(f, 7, returns = 9)], repeat = 2)
timer(cpu = 1)
`},
	{"offline", `
f = text("f", "00150513 0505 8082")
p = kprobe("p", at = f)
task("prober", cpu = 0, ops = [offline(1), register(p, errno = 0), call(f, 1, returns = 3), unregister(p), online(1)])
`},
	{"switched", `
task("one", cpu = 0, ops = [enabled(True)])
task("two", cpu = 1, ops = [enabled(True)])
`},
	{"outer", `
f = text("f", "1141 e406 00c000ef 0505 60a2 0141 8082", at = 0xffffffff81001000)  # saves ra, calls g, adds 1
g = text("g", "0505 8082", at = 0xffffffff81001010)
outer = kretprobe("outer", f, entry = [count()], handler = [count()])
inner = kretprobe("inner", g, maxactive = 1)
task("prober", cpu = 0, ops = [register(outer), register(inner), call(f, 1, returns = 3), unregister(inner),
    unregister(outer)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 3), call(g, 4, returns = 5)], repeat = 2)
timer(cpu = 1)
`},
}, inWords("00150513 0505 8082", "0509 8082", "0505 8082")...)

// rigRISCV makes a rig of a program on two CPUs, for a kernel with a fault in its machine code. The first CPU has a
// timer.
func rigRISCV(t testing.TB, text, mutant, fetch string) *rig.Rig {
	return rigOn(t, "riscv64", text, mutant, fetch)
}

// rigOn is rigRISCV for a processor.
func rigOn(t testing.TB, processor, text, mutant, settings string) *rig.Rig {
	sc, err := lang.Parse(processor, []byte("machine(cpus = 2, arch = \""+processor+"\", engine = \"linux\""+settings+
		")\n"+text+"timer(cpu = 0)\n"))
	require.NoError(t, err)
	r, err := rig.New(sc, mutant)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// keptSlot is how the find slot-kept reads: arch_remove_kprobe does nothing (arch/riscv/kernel/probes/kprobes.c).
const keptSlot = "hasn't been freed: of kprobe_insn_slots"

// TestRISCV: kernels for riscv64, without preemption (6.12) and with it (7.2), break nothing, but that they free no
// slot.
func TestRISCV(t *testing.T) {
	for _, c := range []struct{ series, preempt string }{{"6.12", ""}, {"7.2", ", preempt = \"full\""}} {
		t.Run(c.series, func(t *testing.T) {
			openRISCV(t, c.series)
			for _, p := range scenariosRISCV {
				t.Run(p.name, func(t *testing.T) { cleanRISCV(t, rigRISCV(t, p.text, "", c.preempt), p.name) })
			}
		})
	}
}

// cleanRISCV runs a program of scenariosRISCV on a kernel as it is.
func cleanRISCV(t *testing.T, r *rig.Rig, name string) {
	kept := clean(t, r, name, keptSlot, thorough.Of[uint64](100, 2000))
	require.Equal(t, slices.Contains([]string{"copied", "shared", "joined", "offline", "outer", "returns"},
		name), kept > 0)
}

// clean runs a program n times by each of two strategies. It returns how many runs broke what reads as known, a find of
// the kernel as it is; "": there is none.
func clean(t *testing.T, r *rig.Rig, name, known string, n uint64) (found int) {
	shape, _ := r.Survey(0)
	for _, strategy := range []string{"random", "sticky"} {
		s, err := sched.New(strategy, sched.Params{Seed: 1, Shape: shape})
		require.NoError(t, err)
		for i := range n {
			s.Begin(i)
			run := r.Run(s)
			s.End(run.Counts.Points)
			if known != "" && run.Property != nil && strings.Contains(run.Finding.Message, known) {
				found++
				continue
			}
			if name == "joined" && run.Property == &properties.PostCalled {
				continue // a probe is unregistered while its copy runs, as on x86 where there is preemption
			}
			require.Equal(t, smp.Passed, run.Outcome, "%s %v", run.Finding.Message, run.Err)
		}
	}
	return found
}

// TestRISCVCanaries: faults in the machine code of what a port to riscv64 has of its own are noticed.
func TestRISCVCanaries(t *testing.T) {
	k := openRISCV(t, "6.12")
	text := textsOf(scenariosRISCV)
	for _, c := range []canary{
		{"skip-call:patch_text:stop_machine_cpuslocked:1", "copied", "", "T4"},
		{"skip-call:arch_arm_kprobe:patch_text:1", "copied", "", "T4"},
		{"skip-call:patch_text_cb:__patch_insn_write:1", "copied", "", "T4"},
		{"skip-call:__patch_insn_write:__set_fixmap:2", "copied", "", "T4"},
		{"drop-fence:patch_text_cb+", "copied", ", fetch = \"stale\"", "T3 O1"},
		{"skip-call:unregister_kprobe:synchronize_rcu:1", "joined", "", "A2 H1"},
		{"skip-call:rethook_free:call_rcu:1", "returns", "", "R2"},
	} {
		t.Run(c.mutant, func(t *testing.T) { c.noticed(t, k, text[c.scenario], keptSlot) })
	}
}

// A canary is a fault in the machine code of a kernel: the beginning of its name, "" for none; the program, and a
// setting of its machine, with which one of some properties notices it.
type canary struct{ mutant, scenario, setting, property string }

// noticed runs a program until a property is broken. What reads as known is a find of the kernel as it is.
func (c *canary) noticed(t *testing.T, k *linux.Kernel, text, known string) {
	name := ""
	for _, m := range mutate.All(k.Closure) {
		if c.mutant != "" && strings.HasPrefix(m.Name, c.mutant) {
			name = m.Name
		}
	}
	require.Equal(t, c.mutant == "", name == "")
	r := rigOn(t, k.Processor.String(), text, name, c.setting)
	found, runs := search(t, r, known, 5000)
	require.NotNil(t, found, "it isn't noticed")
	require.Contains(t, c.property, found.Property.ID, found.Finding.Message)
	t.Logf("run %d: %s", runs, found.Finding.Message)
	if name != "" { // without the fault as long a search finds nothing, or the fault isn't what was found
		found, _ = search(t, rigOn(t, k.Processor.String(), text, "", c.setting), known, max(2*runs, 50))
		require.Nil(t, found, "%v", found)
	}
}

// search runs a program until a property is broken, for so many runs at most, by several strategies. What reads as
// known is passed over. It returns nil if none is broken, and how many runs there were.
func search(t *testing.T, r *rig.Rig, known string, most uint64) (found *rig.Run, runs uint64) {
	shape, _ := r.Survey(0)
	for _, strategy := range []string{"random", "sticky", "arriving", "pct", "overtake"} {
		s, err := sched.New(strategy, sched.Params{Seed: 1, Shape: shape})
		require.NoError(t, err)
		for i := range uint64(1000) {
			if runs++; runs > most {
				return nil, runs
			}
			s.Begin(i)
			run := r.Run(s)
			s.End(run.Counts.Points)
			if run.Property != nil && (known == "" || !strings.Contains(run.Finding.Message, known)) {
				return &run, runs
			}
		}
	}
	return nil, runs
}

// What isn't run is refused in a line that says what to do.
func TestRISCVRefused(t *testing.T) {
	k := openRISCV(t, "6.12")
	_, err := linux.Open(k.Image.Path, "overlay/testdata/small.o")
	require.EqualError(t, err,
		"overlay/testdata/small.o: is for another processor than the kernel: compile it for riscv64")
}

// TestRISCVNotAtHand: a trace of a kernel that isn't at hand says how to fetch it.
func TestRISCVNotAtHand(t *testing.T) {
	_, err := linux.Given("6.12.1+deb13-riscv64 00 11")
	if !strings.Contains(err.Error(), "--kernel gives") { // a kernel was given
		require.ErrorContains(t, err, "scripts/fetch-kernel -a riscv64 linux-image-6.12.1+deb13-riscv64")
	}
}

// TestRISCVLabel: the kernel's own code switches a jump label, beside a probe. What it leaves out is noticed.
func TestRISCVLabel(t *testing.T) {
	k := openRISCV(t, "6.12")
	const program = `
f = text("f", "00000013 00150513 8082")                # nop; addi a0,a0,1; ret
on = text("on", "0509 8082")                           # addi a0,a0,2; ret
l = jump_label("l", at = f, target = on)
p = kprobe("p", at = f + 4)
task("flipper", cpu = 0, ops = [label_on(l), call(f, 1, returns = 3), register(p, errno = 0), label_off(l),
    call(f, 1, returns = 2)])
task("caller", cpu = 1, ops = [call(f, 1, changed = True)], repeat = 3)
timer(cpu = 1)
`
	passes(t, rigRISCV(t, program, "", ""))
	for _, c := range []canary{
		{"skip-call:arch_jump_label_transform_apply:flush_icache_all:1", "", ", fetch = \"stale\"", "J1"},
		{"skip-call:arch_jump_label_transform_queue:patch_insn_write:1", "", "", "J2"},
	} {
		t.Run(c.mutant, func(t *testing.T) { c.noticed(t, k, program, "") })
	}
}

// passes runs a program, which passes each time.
func passes(t *testing.T, r *rig.Rig) {
	shape, _ := r.Survey(0)
	s := sched.NewRandom(sched.Params{Shape: shape})
	for i := range thorough.Of[uint64](100, 2000) {
		s.Begin(i)
		run := r.Run(s)
		s.End(run.Counts.Points)
		require.Equal(t, smp.Passed, run.Outcome, "%s %v", run.Finding.Message, run.Err)
	}
}

// TestRISCVSites: the kernel's own code writes the sites of ftrace, beside a probe: both instructions, with the machine
// stopped, as kernels did until 2025. A probe at a site is refused. What it leaves out is noticed.
func TestRISCVSites(t *testing.T) {
	k := openRISCV(t, "6.12")
	require.True(t, k.StopsForSites())
	const program = `
f = text("f", "00000013 00000013 0505 8082")           # nop; nop; addi a0,a0,1; ret
fentry(f)
p = kprobe("p", at = f + 10, post = [count()])         # simulated: a slot is kept for good
q = kprobe("q", at = f, post = [count()])
task("tracer", cpu = 0, ops = [tracer(True), register(p, errno = 0), register(q, errno = "EINVAL"),
    call(f, 1, returns = 2), tracer(False), call(f, 1, returns = 2), unregister(p)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 2), call(f, 5, returns = 6), schedule()], repeat = 3)
timer(cpu = 1)
`
	const stopped = ", patch = \"stop_machine\""
	passes(t, rigOn(t, "riscv64", program, "", stopped))
	for _, c := range []canary{
		{"skip-call:arch_ftrace_update_code:stop_machine:1", "", stopped, "N1"},
		{"skip-call:ftrace_make_call:patch_insn_write:1", "", stopped, "W1"},
	} {
		t.Run(c.mutant, func(t *testing.T) { c.noticed(t, k, program, "") })
	}
}

// BenchmarkRISCV is register, hit and unregister on two CPUs of a kernel for riscv64, all monitors.
func BenchmarkRISCV(b *testing.B) {
	openRISCV(b, "6.12")
	benchmarkRig(b, rigRISCV(b, scenariosRISCV[0].text, "", ""), "sticky")
}
