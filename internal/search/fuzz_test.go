package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/smp"
)

// TestFuzzSettings: what settings do that no edition has together, which drawn
// scenarios have shown. A probe that may be anywhere is of rules that say nothing of
// its instruction: a jump is emulated all the same, where the step is by int3. And a
// jprobe has an entry, which no detour goes to: its function gets no jump.
func TestFuzzSettings(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"a jump is emulated", `
machine(cpus = 2, edition = "6.5", boundaries = "any")
f = text("f", "31c0 eb02 ffc0 83c002 c3") # xor %eax,%eax; jmp over inc %eax; add $2,%eax; ret
k = kprobe("k", at = f, offset = 2)
task("prober", cpu = 0, ops = [register(k, errno = 0), call(f, returns = 2), unregister(k)])
`},
		{"so is an indirect one", `
machine(cpus = 2, edition = "6.5", boundaries = "any")
f = text("f", "488d1502000000 ffe2 31c0 c3") # lea to the xor,%rdx; jmp *%rdx; xor %eax,%eax; ret
k = kprobe("k", at = f, offset = 7)
task("prober", cpu = 0, ops = [register(k, errno = 0), call(f, returns = 0), unregister(k)])
`},
		{"a jprobe is no jump", `
machine(cpus = 2, quiesce = "sched", patch = "breakpoint", jprobes = True)
f = text("f", "90 90 90 90 4889f8 c3") # mov %rdi,%rax; ret
j = jprobe("j", at = f, entry = [count(), set_reg("rdi", 7)])
task("prober", cpu = 0, ops = [register(j, errno = 0), wait_optimized(), call(f, 3, returns = 3), unregister(j)])
`},
		{"nor does one join a jump", `
machine(cpus = 2, quiesce = "sched", patch = "breakpoint", jprobes = True)
f = text("f", "90 90 90 90 4889f8 c3")
k = kprobe("k", at = f)
j = jprobe("j", at = f, entry = [count(), set_reg("rdi", 7)])
task("prober", cpu = 0, ops = [register(k, errno = 0), wait_optimized(), register(j, errno = 0), wait_optimized(), call(f, 3, returns = 3), unregister(j), wait_optimized(), call(f, 4, returns = 4), unregister(k)])
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc, err := lang.Load("settings", []byte(c.text), library.Open)
			require.NoError(t, err)
			rig, err := rig.New(sc, "")
			require.NoError(t, err)
			defer rig.Close()
			run := rig.Run(new(sched.Default))
			require.Nil(t, run.Property, "%v", run.Finding.Message)
			require.Equal(t, smp.Passed, run.Outcome)
		})
	}
}

// TestFuzzOrders: what drawn scenarios have shown that takes an order of its own, under
// every schedule of a deviation or two.
func TestFuzzOrders(t *testing.T) {
	for _, c := range []struct {
		name, text string
		most       int
	}{
		{"a jprobe joins while a CPU is in the detour, which doesn't go to its entry", `
machine(cpus = 2, quiesce = "sched", patch = "breakpoint", jprobes = True)
f = text("f", "90 90 90 90 4889f8 c3") # mov %rdi,%rax; ret
k = kprobe("k", at = f)
j = jprobe("j", at = f, entry = [count(), set_reg("rdi", 7)])
task("prober", cpu = 0, ops = [register(k), wait_optimized(), schedule(), register(j)])
task("caller", cpu = 1, ops = [schedule(), call(f, 3, returns = 3)])
`, 2},
		{"interrupts are off in ftrace's handlers, too, where they are behind a detour", `
machine(cpus = 1, edition = "4.15", detour_irqs_off = True)
f = text("f", "0f1f440000 4889f8 c3") # the site; mov %rdi,%rax; ret
fentry(f)
k = kprobe("k", at = f, post = [count()])
task("prober", cpu = 0, ops = [register(k, errno = 0), call(f, 3, returns = 3), unregister(k)])
timer(cpu = 0)
`, 1},
		{"an interrupt's handler calls text as a task exits", `
machine(cpus = 1)
f = text("f", "4889f8 c3", at = 0xffffffff81000000)
last = stub("last", calls = "do_exit")
task("leaver", cpu = 0, ops = [call(last)])
task("other", cpu = 0, ops = [call(f, 3, returns = 3)])
timer(cpu = 0, run = f)
`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc, err := lang.Load("orders", []byte(c.text), library.Open)
			require.NoError(t, err)
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			shape, _ := r.Survey(0)
			runs := 0
			err = r.Runs(sched.NewDeviations(sched.Params{Shape: shape, Most: c.most}), 200_000,
				func(_ uint64, run rig.Run) bool {
					runs++
					require.Nil(t, run.Property, "%v", run.Finding.Message)
					require.Equal(t, smp.Passed, run.Outcome)
					return true
				})
			require.NoError(t, err)
			t.Logf("%d runs", runs)
		})
	}
}
