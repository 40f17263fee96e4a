package shrink

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/edit"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
	"kpsim/sched"
)

// slips returns the first of a right engine's runs of a scenario that finds something else than
// is said.
func slips(t *testing.T, sc *scenario.Scenario, runs uint64) (message string) {
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	for _, name := range []string{"portfolio", "deviations"} {
		s, err := sched.New(name, sched.Params{Seed: 3, Length: r.Run(new(sched.Default)).Counts.Points})
		require.NoError(t, err)
		for i := uint64(0); i < runs && s.Begin(i); i++ {
			run := r.Run(s)
			s.End(run.Counts.Points)
			if run.Property == &properties.RightResult || run.Property == &properties.Transparent {
				return r.Message(&run)
			}
		}
	}
	return ""
}

// What is said of a shrunk scenario holds with the right engine, whatever the fault was, and whether
// the shrinker knows it or finds it in the engine that it has.
func TestExpectationsHoldWithTheRightEngine(t *testing.T) {
	n := 0
	for i := range mutants.All {
		m := &mutants.All[i]
		if m.Property != properties.RightResult.Name && m.Property != properties.Transparent.Name {
			continue
		}
		if n++; n%thorough.Of(6, 1) != 0 {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			sc, err := library.Load(m.Scenario)
			require.NoError(t, err)
			o := Origin{Scenario: sc, Mutant: m.Name, Seed: 1}
			f := violating(t, o, "portfolio", 20_000)
			if f == nil {
				t.Skip("20,000 runs don't find it")
			}
			for _, right := range []bool{true, false} {
				s, err := newShrinker(o, f, &effort{runs: shrinkRuns, questions: shrinkQuestions})
				require.NoError(t, err)
				s.right = right
				s.finish()
				t.Logf("right %v: %s, %d runs of shrinking", right, s.rig.Scenario.Size(), s.effort.spent)
				require.Empty(t, slips(t, s.rig.Scenario, 3000), "right %v:\n%s", right, lang.Print(s.rig.Scenario))
				s.close()
			}
		})
	}
}

// An edit that takes away what an expectation rests on is refused, also where the engine at hand is
// the only one; one that takes away something else isn't.
func TestWhatAnExpectationRestsOnStays(t *testing.T) {
	const calls = `
one = text("one", at = 0xffffffff81000000, hex = "b801000000 c3")
f = text("f", at = 0xffffffff81000040, hex = "31c0 0f1f440000 c3")
s = static_call("s", sites = [f + 2])
`
	const probes = `
machine(cpus = 2, edition = "6.5")
f = text("f", "0f1f440000 c3")
enters = text("enters", "ff042500000083 c3")
n = data("n", at = 0xffffffff83000000, hex = "00000000")
fentry(f)
p = fprobe("p", [f], entry = enters)
`
	for _, c := range []struct {
		program, edit string
		meets         bool
	}{
		{calls + `
task("a", cpu = 0, ops = [set_call(s, one)])
task("b", cpu = 1, ops = [set_call(s, one), call(f, returns = 1, changed = True)])`, "task b: operation 0 left out", false},
		{calls + `
task("a", cpu = 0, ops = [set_call(s, one)])
task("b", cpu = 1, ops = [set_call(s, one), call(one), call(f, returns = 1, changed = True)])`, "task b: operation 1 left out", true},
		{calls + `
task("a", cpu = 0, ops = [set_call(s, one), signal()])
task("b", cpu = 1, ops = [wait_signal(), call(f, returns = 1, changed = True)])`, "task b: operation 0 left out", false},
		{calls + `
task("a", cpu = 0, ops = [call(f, returns = 0, changed = True), signal(), set_call(s, one)])
task("b", cpu = 1, ops = [wait_signal(), set_call(s, one)])`, "task b: operation 0 left out", false},
		{probes + `
task("prober", cpu = 0, ops = [register_fprobe(p), release(), wait_signal(), unregister_fprobe(p), register_fprobe(p), call(f, changed = True), expect(n, "02000000")])
task("caller", cpu = 1, ops = [spin(), call(f, changed = True), signal()])`, "task caller: operation 0 left out", false},
		{probes + `
task("prober", cpu = 0, ops = [register_fprobe(p), call(f, changed = True), unregister_fprobe(p), call(f, changed = True), expect(n, "01000000")])`, "task prober: operation 2 left out", false},
		{probes + `
task("prober", cpu = 0, ops = [register_fprobe(p), unregister_fprobe(p), call(f, changed = True), expect(n, "00000000")])`, "task prober: operation 1 left out", false},
		{probes + `
task("prober", cpu = 0, ops = [register_fprobe(p), call(f, changed = True), unregister_fprobe(p), register_fprobe(p), call(f, changed = True), expect(n, "02000000")])`, "task prober: operation 2 left out", true},
		{`
machine(cpus = 2)
f = text("f", "b801000000 c3")
k = kprobe("k", at = f)
task("prober", cpu = 0, ops = [register(k), signal(), wait_ended(), hits(k, pre = 1)])
task("caller", cpu = 1, ops = [wait_signal(), call(f)])`, "task caller: operation 1 left out", false},
		{`
f = text("f", "b801000000 c3")
w = alias("w", f, at = 0xffffffff83000000)
patches = text("patches", "c6042501000083 02 c3")
task("a", ops = [call(patches), call(f, returns = 3)])`, "task a: operation 0 left out", false},
		{`
f = text("f", "55 4889e5 5d c3")
k = kprobe("k", at = f)
task("a", ops = [register(k, errno = 0), unregister(k), register(k, errno = 0)])`, "task a: operation 1 left out", false},
	} {
		sc, err := lang.Load("x.star", []byte(c.program), nil)
		require.NoError(t, err, c.program)
		i := slices.IndexFunc(edit.Smaller(sc), func(e edit.Edit) bool { return e.Says == c.edit })
		require.GreaterOrEqual(t, i, 0, c.program)
		e := edit.Smaller(sc)[i]
		r, err := rig.New(sc, "")
		require.NoError(t, err, c.program)
		t.Cleanup(r.Close)
		s := &shrinker{rig: r, ear: listen(r), effort: &effort{runs: shrinkRuns, questions: shrinkQuestions}}
		s.start(new(sched.Default))
		s.cause.property = &properties.RightResult
		smaller, err := rig.New(e.Apply(sc), "")
		if err != nil { // the default schedule without probes shows it
			require.False(t, c.meets, "%v\n%s", err, c.program)
			continue
		}
		t.Cleanup(smaller.Close)
		a := s.play(smaller, listen(smaller), new(sched.Default))
		require.Equal(t, c.meets, s.meets(&e, smaller, &a), "%s\n%s", c.edit, c.program)
	}
}

// A part that nothing uses goes, whatever it is, and though the run takes fewer steps without it.
func TestUnusedPartsGo(t *testing.T) {
	const program = `
machine(cpus = 3, preempt = "full", patch = "naive", fetch = "stale")
f = text("f", "f3 0f 1e fa 0f 1f 44 00 00 31 c0 ff c0 c3")
l = jump_label("l", at = f, offset = 4, target = f, toff = 11)
task("flipper", cpu = 0, ops = [label_on(l), label_off(l)])
for c in (1, 2):
    task("runner%%d" %% c, cpu = c, ops = [call(f, changed = True), schedule()], repeat = 2)
%s
`
	const other = `unused = text("unused", at = 0xffffffff81002000, hex = "0f1f440000 0f1f440000 f0 ff 00 c3")
`
	for _, more := range []string{
		`kretprobe("unused", at = f)`,
		`u = kprobe("unused", at = f); task("prober", cpu = 0, ops = [register(u), schedule(), unregister(u)])`,
		`u = kprobe("unused", at = f, pre = [count()], post = [count()]); task("prober", cpu = 2, ops = [register_all([u]), unregister_all([u])])`,
		`data("unused", "00000000")`,
		other,
		other + `jump_label("unused", at = unused, target = unused + 5)`,
		other + `fentry(unused)`,
		other + `fentry(unused); u = fprobe("unused", [unused], entry = f); task("prober", cpu = 0, ops = [register_fprobe(u), unregister_fprobe(u)])`,
		other + `static_call("unused", sites = [unused])`,
		`unused = text("unused", at = 0xffffffff81002000, hex = "c3cccccccc"); static_call("unused", trampoline = unused)`,
		other + `module("unused_module", funcs = [unused])`,
		other + `lock_prefix(unused + 10)`,
		other + `timer(cpu = 1, run = unused); nmi(cpu = 2, run = unused); preempt(cpu = 1)`,
		other + `reserved(unused, by = "blacklist")`,
		`machine_unused = text("unused", at = 0xffffffff81002000, hex = "c3"); task("idle", cpu = 2, ops = [call(machine_unused)])`,
	} {
		t.Run(more, func(t *testing.T) {
			t.Parallel()
			sc, err := lang.Load("x.star", fmt.Appendf(nil, program, more), nil)
			require.NoError(t, err)
			o := Origin{Scenario: sc, Seed: 1}
			f := violating(t, o, "portfolio", 5000)
			require.NotNil(t, f)
			w, err := shrink(o, f, &effort{runs: shrinkRuns, questions: shrinkQuestions})
			require.NoError(t, err)
			for _, part := range []string{"unused", "timer(", "nmi(", "preempt(", "module(", "lock_prefix(",
				"fentry("} {
				require.NotContains(t, w.File.Scenario, part)
			}
		})
	}
}
