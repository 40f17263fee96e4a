package explore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
)

// TestWrongWithoutProbes: what a scenario says of results is held against the
// run without probes first. There it is the scenario that is at fault.
func TestWrongWithoutProbes(t *testing.T) {
	const functions = `
f = text("f", "b8ffff0100 c3")                # mov $0x1ffff,%eax
g = text("g", "48b88877665544332211 488907 c3") # stores eight bytes to (%rdi)
d = data("d", "0000000000000000 0000000000000000")
third = stub("third", fill = (3, "00112233445566778899"), returns = -3)
fifth = stub("fifth", fill = (5, "1122334455667788 00"), calls = f)
`
	for _, c := range []struct{ ops, want string }{
		{`call(f, returns = 0x1ffff), call(f, returns = -1, bits = 16), call(g, d + 3), expect(d, "000000 8877665544332211 0000000000")`, ""},
		{`call(third, 1, 2, d + 1, returns = -3), expect(d, "00 00112233445566778899 0000000000")`, ""},
		{`call(fifth, 1, 2, 3, 4, d, returns = 0x1ffff), expect(d, "1122334455667788 0000000000000000")`, ""},
		{`schedule(), call(f, returns = 0xffff)`,
			"t: run without probes: task task0, ops[1]: call(f) gives 0x1ffff, the scenario says 0xffff; correct one of them"},
		{`call(f, returns = 0x1ffff), call(f, returns = -2, bits = 16)`,
			"t: run without probes: task task0, ops[1]: call(f) gives 0xffff, the scenario says 0xfffe; correct one of them"},
		{`call(f, returns = -5)`,
			"t: run without probes: task task0, ops[0]: call(f) gives 0x1ffff, the scenario says 0xfffffffffffffffb; correct one of them"},
		{`call(f, returns = -1)`,
			"t: run without probes: task task0, ops[0]: call(f) gives 0x1ffff, the scenario says 0xffffffffffffffff; if its result has 16 bits, say bits = 16; else correct one of them"},
		{`call(g, d + 3), expect(d, "000000 8877665544332212")`,
			"t: run without probes: task task0, ops[1]: d+0x8 gives 0x112233, the scenario says 0x122233; correct one of them"},
		{`expect(d, "00"), call(g, d), expect(d, "00")`,
			"t: run without probes: task task0, ops[2]: d+0x0 gives 0x88, the scenario says 0x0; correct one of them"},
	} {
		rig, err := rig.New(searchtest.Load(t, functions+"task(ops = ["+c.ops+"], repeat = 2)"), "")
		if c.want != "" {
			require.EqualError(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		run := rig.Run(new(sched.Default))
		require.Equal(t, smp.Passed, run.Outcome, run.Finding.Message)
		rig.Close()
	}
}

// TestHandlersAsserted: what handlers have done is held in each schedule, at the end, too; an expectation of it that
// would hold if nothing were probed is refused.
func TestHandlersAsserted(t *testing.T) {
	asserted := func(pre, until, ends string) (*rig.Rig, error) {
		return rig.New(searchtest.Load(t, `
machine(cpus = 2, quiesce = "sched")
d = data("d", size = 8)
f = text("f", "4889f8 4883c022 c3") # mov rax,rdi; add rax,0x22; ret
k = kprobe("k", at = f, pre = [`+pre+`])
task("prober", cpu = 0, ops = [register(k), signal(), `+until+`, `+ends+`])
for cpu in (0, 1):
    task("caller%d" % cpu, cpu = cpu, ops = [wait_signal(), call(f, 1), call(f, 2)])
`), "")
	}
	for _, c := range []struct{ pre, until, ends, refused, breaks string }{
		{pre: "count(), store(d, 5)", until: "wait_ended()",
			ends: `hits(k, pre = 4, missed = 0), expect(d, "05", probed = True)`},
		{pre: "call(f)", until: "wait_ended()", ends: `hits(k, pre = 4, missed = 4)`},
		{pre: "count()", until: "wait_ended()", ends: `hits(k, pre = 3)`, breaks: "of the probe at f+0x0; right are 3"},
		{pre: "count()", until: "wait_ended()", ends: `hits(k, pre = 4, missed = 1)`, breaks: "right are 1"},
		{pre: "count()", until: "schedule()", ends: `hits(k, pre = 4)`, breaks: "right are 4"}, // before the end
		{pre: "store(d, 6)", until: "wait_ended()", ends: `expect(d, "05", probed = True)`, breaks: "right is 0x5"},
		{pre: "count()", until: "wait_ended()", ends: `expect(d, "05", probed = True)`, breaks: "right is 0x5"},
		{pre: "count()", until: "wait_ended()", ends: `expect(d, "00", probed = True)`,
			refused: "without probes, too, so probed says nothing; leave probed out, or expect what handlers store"},
		{pre: "store(d, 5)", until: "wait_ended()", ends: `expect(d, "05")`,
			refused: "d+0x0 gives 0x0, the scenario says 0x5; if handlers store it, say probed = True; else correct"},
	} {
		rig, err := asserted(c.pre, c.until, c.ends)
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused, "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
		broken := 0
		drawn := sched.NewRandom(sched.Params{Seed: 1})
		for i := range uint64(20) {
			drawn.Begin(i)
			run := rig.Run(drawn)
			if run.Property == nil {
				require.Equal(t, smp.Passed, run.Outcome, "%+v", c)
				continue
			}
			broken++
			require.Equal(t, &properties.RightResult, run.Property, "%+v", c)
			require.Contains(t, rig.Message(&run), c.breaks, "%+v", c)
		}
		require.Equal(t, c.breaks != "", broken > 0, "%+v: %d", c, broken)
		rig.Close()
	}
}

// TestProbedCalls: a call that is to be probed is so in each schedule, or breaks right-result.
func TestProbedCalls(t *testing.T) {
	for _, c := range []struct {
		prober, caller string
		broken         bool // in some schedule
	}{
		{"register(k), signal(), wait_ended(), unregister(k)",
			"wait_signal(), call(f, 1, returns = 1, probed = True)", false},
		{"register(k), signal(), wait_ended(), unregister(k)", "wait_signal(), call(g, 1, probed = True)", true},
		{"register(k), signal(), wait_ended(), unregister(k)",
			"wait_signal(), call(f, 1, probed = True), call(g, 1, probed = True)", true},
		{"register(k), wait_ended(), unregister(k)", "call(f, 1, probed = True)", true},
		{"register(k), disable(k), signal()", "wait_signal(), call(f, 1, probed = True)", true},
		{"register(k), signal(), unregister(k)", "wait_signal(), call(f, 1, probed = True)", true},
		{"call(f), signal()", "wait_signal(), call(f, 1, probed = True)", true}, // nothing is probed
	} {
		rig, err := rig.New(searchtest.Load(t, `
machine(cpus = 2, quiesce = "sched")
f = text("f", "4889f8 90 c3") # mov rax,rdi; nop; ret
g = text("g", "4889f8 90 c3")
k = kprobe("k", at = f)
task("prober", cpu = 0, ops = [`+c.prober+`])
task("caller", cpu = 1, ops = [`+c.caller+`])
`), "")
		require.NoError(t, err, c)
		drawn := sched.NewRandom(sched.Params{Seed: 1})
		broken := 0
		for i := range uint64(100) {
			drawn.Begin(i)
			if run := rig.Run(drawn); run.Property != nil {
				broken++
				require.Equal(t, &properties.RightResult, run.Property, c)
				require.Contains(t, rig.Message(&run), "no handler of a probe runs in the call; right is that one does")
			} else {
				require.Equal(t, smp.Passed, run.Outcome, c)
			}
		}
		require.Equal(t, c.broken, broken > 0, "%v: %d", c, broken)
		rig.Close()
	}
}

// TestWrongWithProbes: a handler that changes the result is found by
// right-result, even where the call isn't compared with one without probes.
func TestWrongWithProbes(t *testing.T) {
	sc := searchtest.Load(t, `
f = text("f", "b807000000 90 c3")  # mov $7,%eax; nop; ret
k = kprobe("k", at = f + 5, pre = [set_reg("rax", 8)])
task(ops = [call(f, changed = True, returns = 7), register(k), call(f, changed = True, returns = 7)])
`)
	rig, err := rig.New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	run := rig.Run(new(sched.Default))
	require.NotNil(t, run.Property)
	require.Equal(t, "right-result", run.Property.Name)
	require.Contains(t, run.Finding.Message, "gets 0x8 from a call; right is 0x7")
}

// TestRegisterAnswers: a refusal is counted, and is a finding only if the
// scenario has said something else.
func TestRegisterAnswers(t *testing.T) {
	const functions = `
f = text("f", "b807000000 90 c3")
k = kprobe("k", at = f + 5)
bad = kprobe("bad", at = f + 1)
task(ops = [schedule()])
`
	for _, c := range []struct{ ops, want string }{
		{`register(k), register(bad), register(k), call(f)`, ""},
		{`register(k, errno = 0), register(bad, errno = "EILSEQ"), register(k, errno = "EINVAL"), call(f)`, ""},
		{`register(bad, errno = 0)`,
			"gets EILSEQ (-84) from register at f+0x1; right is 0; it was refused: not an instruction boundary, inside f+0x0"},
		{`register(bad, errno = "EINVAL")`,
			"gets EILSEQ (-84) from register at f+0x1; right is EINVAL (-22); it was refused: not an instruction boundary, inside f+0x0"},
		// not by the rules
		{`register(k), register(k, errno = 0)`, "gets EINVAL (-22) from register at f+0x5; right is 0"},
		{`register(k, errno = "EILSEQ")`, "gets 0 from register at f+0x5; right is EILSEQ (-84)"},
	} {
		res, err := explore.Run(explore.Spec{Scenario: searchtest.Load(t, functions+"task(cpu = 1, ops = ["+c.ops+"])"),
			Runs: 50})
		require.NoError(t, err)
		if c.want != "" {
			require.EqualValues(t, 50, res.Broken["right-result"])
			require.True(t, strings.HasSuffix(res.Witness.Message, c.want), res.Witness.Message)
			continue
		}
		require.Empty(t, res.Broken)
		// k when it was there already
		require.Equal(t, rig.Census{Probes: 2, Registered: 1, Refused: 2, Errno: 22, Hit: 1}, res.Census)
	}
}

// TestMissing: a module's functions run; an undefined symbol ends the run, with
// its name, when it is called or read, and not before.
func TestMissing(t *testing.T) {
	for _, c := range []struct{ above, op, want string }{
		{"", "call(o.pure, 1, returns = 14, bits = 32)", ""},
		{`stub("weigh", returns = 41)`, "call(o.heavy, 5, returns = 42, bits = 32)", ""},
		{`data("jiffies", "0700000000000000")`, "call(o.when, returns = 7)", ""},
		{`f = text("f", "89f8 c3"); stub("weigh", calls = f)`, "call(o.heavy, 5, returns = 6, bits = 32)", ""},
		{"", "call(o.heavy, 5)",
			`t: run without probes: cpu0 task0: heavy+0x9: has called weigh, which nobody defines; define it above elf(), stub("weigh") or data("weigh", …)`},
		{"", "call(o.leak)", `t: run without probes: cpu0 task0: make+0x0: somebody jumps to make, which nobody defines; define it above elf(), stub("make") or data("make", …)`},
		{"", "call(o.when)", `t: run without probes: cpu0 task0: when+0x0: reads or writes jiffies, which nobody defines; define it above elf(), stub("jiffies") or data("jiffies", …)`},
	} {
		sc := searchtest.Load(t, c.above+"\no = elf(\"module.ko\")\ntask(ops = ["+c.op+"])")
		again, err := lang.Load("again.star", []byte(lang.Print(sc)), nil) // as in a trace
		require.NoError(t, err)
		for _, sc := range []*scenario.Scenario{sc, again} {
			rig, err := rig.New(sc, "")
			if c.want != "" {
				require.EqualError(t, err, c.want)
				continue
			}
			require.NoError(t, err)
			rig.Close()
		}
	}
}
