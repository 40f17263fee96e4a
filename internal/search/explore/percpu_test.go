package explore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
)

// TestPerCPU: code of a module with a stack protector finds its memory through
// gs, each CPU its own, and finds it as at boot in every run.
func TestPerCPU(t *testing.T) {
	sc := searchtest.Load(t, `
machine(cpus = 3, quiesce = "sched")
o = elf("percpu.ko")
for cpu in range(3):
    task(cpu = cpu, ops = [
        call(o.which, returns = cpu),
        call(o.count, returns = 40, bits = 32), call(o.count, returns = 41, bits = 32),
        call(o.peek, returns = 42, bits = 32), call(o.atomic, returns = 0, bits = 32),
        expect(o[".data..percpu"], "2a000000"),
    ])
k = kprobe("k", at = o.count)
task(cpu = 1, ops = [register(k, errno = 0), schedule(), unregister(k)])
`)
	again, err := lang.Load("again.star", []byte(lang.Print(sc)), nil) // as in a trace
	require.NoError(t, err)
	again.Name = sc.Name
	require.Equal(t, sc, again)

	res, err := explore.Run(explore.Spec{Scenario: sc, Runs: 200})
	require.NoError(t, err)
	require.Empty(t, res.Broken)
}

// TestPerCPUDigest: what a caller leaves in its CPU's copy is compared as any
// memory is, if no other task can have written there.
func TestPerCPUDigest(t *testing.T) {
	for pre, want := range map[string]bool{`[count()]`: true, `[set_ip(f + 9)]`: false} {
		res, err := explore.Run(explore.Spec{Runs: 20, Scenario: searchtest.Load(t, fmt.Sprintf(`
machine(cpus = 2, quiesce = "sched")
v = percpu("v", "00000000")
f = text("f", "90 65ff042500000083 31c0 c3")  # nop; incl %%gs:v; xor %%eax,%%eax; ret
k = kprobe("k", at = f + 1, pre = %s)
task(cpu = 1, ops = [register(k), call(f), unregister(k)])
`, pre))})
		require.NoError(t, err)
		require.Equal(t, want, len(res.Broken) == 0, res.Broken)
	}
}

// TestPerCPUAllocatesNothing: memory addressed through gs is written, and put
// back by the next run's reset, without an allocation.
func TestPerCPUAllocatesNothing(t *testing.T) {
	rig, err := rig.New(searchtest.Load(t, `
machine(cpus = 2)
o = elf("percpu.ko")
task(cpu = 1, ops = [call(o.count, returns = 40, bits = 32), call(o.atomic, returns = 0, bits = 32)], repeat = 1)
`), "")
	require.NoError(t, err)
	defer rig.Close()
	run := func() {
		if got := rig.Run(new(sched.Default)); got.Property != nil {
			t.Fatal(got.Finding.Message)
		}
	}
	run()
	require.LessOrEqual(t, testing.AllocsPerRun(50, run), 1.0) // the strategy
}

// TestNotPerCPU: what isn't there is named.
func TestNotPerCPU(t *testing.T) {
	for _, c := range []struct{ above, op, want string }{
		{"", "call(o.current)",
			"t: run without probes: cpu1 task0: current+0x14: reads the task that is current, and there is no task_struct: "},
		{`percpu("current_task", "1122334455667788")`, "call(o.current, returns = 0x8877665544332211)", ""},
		{"", "call(o.unknown)",
			`t: run without probes: cpu1 task0: unknown+0x14: reads or writes this CPU's irq_stat, which nobody defines; define it above elf(), percpu("irq_stat", …)`},
		{`percpu("irq_stat", "0000000007", size = 8)`, "call(o.unknown, returns = 7)", ""},
		{"", "call(o.plainly)",
			"nothing is at .data..percpu+0x0 itself: each CPU has a copy, which is found through gs"},
	} {
		_, err := rig.New(searchtest.Load(t, c.above+"\no = elf(\"percpu.ko\")\ntask(cpu = 1, ops = ["+c.op+"])"), "")
		if c.want != "" {
			require.ErrorContains(t, err, c.want)
		} else {
			require.NoError(t, err)
		}
	}
}
