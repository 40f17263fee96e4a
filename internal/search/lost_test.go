package search_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/proof"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	"kpsim/smp"
)

// TestLostOrders: without its order each of the scenarios breaks a property, by a schedule of
// so many deviations; with it no schedule of so many does. The page names them. The traces
// in traces/corpus show each, too.
func TestLostOrders(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(searchtest.Root(t), "docs/memory.md"))
	require.NoError(t, err)
	for _, l := range mutants.LostOrders {
		t.Run(l.Mutant, func(t *testing.T) {
			said := false
			for line := range strings.Lines(string(page)) {
				said = said || strings.Contains(line, "`"+l.Mutant+"`") && strings.Contains(line, l.Scenario) &&
					strings.Contains(line, "| "+l.Model)
			}
			require.True(t, said, "docs/memory.md has no row with %s, %s and %s", l.Mutant, l.Scenario, l.Model)

			if l.Long {
				thorough.Only(t, "takes up to a minute; the trace shows it")
			}
			lost := verifyOrder(t, &l, l.Mutant, l.Deviations)
			require.Equal(t, []string{l.Property}, slices.Collect(maps.Keys(lost.Broken)))
			kept := verifyOrder(t, &l, "", l.Deviations)
			require.True(t, kept.Complete)
			require.Zero(t, kept.Violations, "%v", kept.Broken)
			t.Logf("%s: %d of %d schedules, %d with the order", l.Scenario, lost.Violations, lost.Runs, kept.Runs)
		})
	}
}

// TestHeldInstances: where memory is weak a call may miss an instance that another CPU has
// given back, for it can't see it yet. That is no fault; not to take its own is one.
func TestHeldInstances(t *testing.T) {
	for _, model := range []smp.Ordering{smp.TSO, smp.LKMM} {
		for _, mutant := range []string{"", "missed-free"} {
			sc, err := library.Load("return-rings")
			require.NoError(t, err)
			sc.Machine.Memory = model
			res, err := explore.Run(explore.Spec{Scenario: sc, Mutant: mutant, Runs: 1000, Seed: 1, Workers: 1,
				Blind: true})
			require.NoError(t, err)
			require.Equal(t, mutant != "", res.Violations > 0, "%v %s: %v", model, mutant, res.Broken)
		}
	}
}

// verifyOrder runs the schedules of at most so many deviations.
func verifyOrder(t *testing.T, l *mutants.Lost, mutant string, deviations int) *proof.Verified {
	sc, err := library.Load(l.Scenario)
	require.NoError(t, err)
	for _, o := range []smp.Ordering{smp.TSO, smp.LKMM} {
		if o.String() == l.Model {
			sc.Machine.Memory = o
		}
	}
	require.Equal(t, l.Model, sc.Machine.Memory.String())
	v, err := proof.Verify(proof.Proof{Spec: explore.Spec{Scenario: sc, Mutant: mutant, Workers: 1},
		Deviations: deviations})
	require.NoError(t, err)
	return v
}

// TestRunqueueOrders: the CPU that runs a task next sees what was done to it with its runqueue
// held. Without that the schedules of this seed break one-universe in run 162 already.
func TestRunqueueOrders(t *testing.T) {
	sc, err := library.Load("livepatch-reversed")
	require.NoError(t, err)
	sc.Machine.Memory = smp.LKMM
	res, err := explore.Run(explore.Spec{Scenario: sc, Runs: 1000, Seed: 5, Blind: true})
	require.NoError(t, err)
	require.Empty(t, res.Broken)
}

// TestNoCPUComesAmid: no CPU comes while a static call or a jump label is rewritten with the
// machine stopped: it wouldn't be stopped, and would run half of an instruction.
func TestNoCPUComesAmid(t *testing.T) {
	sc, err := lang.Parse("amid", []byte(`machine(cpus = 3, patch = "stop_machine", preempt = "none", offline = [2])
one = text("one", "b801000000 c3")
f = text("f", "0f1f440000 4889f8 c3")
g = text("g", "4889f8 0f1f440000 4883c001 c3 4883c002 c3")
s = static_call("s", sites = [f])
l = jump_label("l", at = g + 3, target = g + 13)
task("setter", cpu = 1, ops = [set_call(s, one), label_on(l)])
task("onliner", cpu = 0, ops = [online(2)])
task("caller", cpu = 2, ops = [call(f, changed = True), call(g, changed = True)], repeat = 3)
`))
	require.NoError(t, err)
	res, err := explore.Run(explore.Spec{Scenario: sc, Runs: 2000, Seed: 1, Blind: true})
	require.NoError(t, err)
	require.Empty(t, res.Broken)
}

// TestInFtrace: a call that an NMI finds before its site, or in ftrace_caller, has no version yet. Calls that the NMI
// makes may get either.
func TestInFtrace(t *testing.T) {
	sc, err := lang.Parse("in-ftrace", []byte(`machine(cpus = 1, preempt = "voluntary", edition = "5.14")
f = text("f", "f30f1efa 0f1f440000 8d4701 c3")
g = text("g", "8d4710 c3")
fentry(f + 4)
task("patcher", cpu = 0, ops = [patch_func(f, g), call(f, 1, 2, changed = True)])
nmi(cpu = 0, run = f)
`))
	require.NoError(t, err)
	res, err := explore.Run(explore.Spec{Scenario: sc, Runs: 500, Seed: 1, Blind: true})
	require.NoError(t, err)
	require.Empty(t, res.Broken)
}
