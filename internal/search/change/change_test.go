package change_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/change"
	"kpsim/internal/search/twoengines"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/properties"
)

func opened(t *testing.T) *linux.Kernel {
	k, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	linux.Give(k)
	return k
}

// A change shows by the answers of a program that the kernel as it is gives by the rules;
// what this does otherwise itself isn't held against the change.
func TestAnswers(t *testing.T) {
	k := opened(t)
	var list []*scenario.Scenario
	for _, name := range []string{"return-probes", "emulated"} {
		sc, err := library.Load(name)
		require.NoError(t, err)
		list = append(list, twoengines.Serials(sc)...)
	}
	var stop atomic.Bool
	all, err := change.Programs(k, list, 0, &stop)
	require.NoError(t, err)
	require.Len(t, all, 4)
	require.Len(t, change.Differing(all), 2, "6.1 emulates loop wrongly")

	same, mended, err := change.Changed(all, k, "", 0, &stop)
	require.NoError(t, err)
	require.Empty(t, same)
	require.Zero(t, mended)

	otherwise, _, err := change.Changed(all, k, "skip-call:pre_handler_kretprobe:rethook_try_get:1", 0, &stop)
	require.NoError(t, err)
	require.NotEmpty(t, otherwise)
	require.Equal(t, "return-probes-serial", otherwise[0].Program.Name)
	require.Empty(t, otherwise[0].Before)
}

// A program is set up on the changed kernel as it was on the unchanged one: with kpsim's trampolines,
// of which a site in a module may be one. The kernel's own ftrace isn't asked, which knows no such site.
func TestAnswersOfModules(t *testing.T) {
	k := opened(t)
	sc, err := lang.Load("trampolines.star", []byte(`
machine(cpus = 1, edition = "6.5", ftrace = True, ftrace_trampolines = "own")
f = text("f", "0f1f440000 4889f8 c3", at = 0xffffffff81100000)
fentry(f)
m = module("m", funcs = [f], loaded = True)
k = kprobe("k", at = f)
task("t", ops = [register(k, errno = 0), tracer(True), call(f, 3, returns = 3), tracer(False), unregister(k)])
`), library.Open)
	require.NoError(t, err)
	var stop atomic.Bool
	all, err := change.Programs(k, []*scenario.Scenario{sc}, 0, &stop)
	require.NoError(t, err)
	require.Len(t, all, 1)
	same, _, err := change.Changed(all, k, "", 0, &stop)
	require.NoError(t, err)
	require.Empty(t, same)
}

// A lock that is kept shows by what runs break, with a witness; what the kernel as it is
// breaks is known, in whatever share of the runs.
func TestSchedules(t *testing.T) {
	k := opened(t)
	search := func(name, mutant string, runs uint64) *change.Search {
		sc, err := library.Load(name)
		require.NoError(t, err)
		return &change.Search{Scenario: sc, Base: k, Kernel: k, Mutant: mutant, Runs: runs, Seed: 1}
	}
	found, err := search("return-probes", "skip-call:register_kretprobe.part.0:mutex_unlock:2", 20).Run()
	require.NoError(t, err)
	require.NotEmpty(t, found.Worse)
	require.Equal(t, properties.Locks.Name, found.Worse[0].Property)
	require.NotNil(t, found.Worse[0].Witness)

	found, err = search("emulated", "", 20).Run()
	require.NoError(t, err)
	require.Empty(t, found.Worse)
	require.Equal(t, properties.RightResult.Name, found.Known[0].Property)
	for _, b := range found.Known[1:] { // what follows from the wrong result
		require.Equal(t, properties.Transparent.Name, b.Property)
		require.Equal(t, b.BaseRuns, b.Base)
	}

	// a fault behind one that both have: flags-wide breaks right-result in each run, before
	two := search("flags-word", "skip-call:arch_disarm_kprobe:text_poke:1", 20)
	two.Scenario, err = lang.Load("two.star", []byte(`
machine(cpus = 2, preempt = "full", quiesce = "tasks", patch = "breakpoint")
saves = text("saves", "55 4889e5 669c 4889e8 4829e0 c9 c3")
push = kprobe("push", at = saves + 4, post = [count()])
plain = kprobe("plain", at = text("other", "55 4889e5 5d c3"), post = [count()])
task("prober", cpu = 0, ops = [register(push), call(saves, returns = 2), unregister(push), register(plain),
    unregister(plain)])
task("caller", cpu = 1, ops = [schedule()], repeat = 2)
never()
`), library.Open)
	require.NoError(t, err)
	found, err = two.Run()
	require.NoError(t, err)
	require.Equal(t, properties.RightResult.Name, found.Known[0].Property)
	require.NotEmpty(t, found.Worse)
	require.Contains(t, []string{properties.TextRestored.Name, properties.TextAgrees.Name}, found.Worse[0].Property)

	s := search("second-instruction", "", 20)
	found, err = s.Run()
	require.NoError(t, err)
	require.Equal(t, change.Breaks{}, found)
}

// What a single run shows is looked for where it is probable, with and without the change: the witness' program. A
// kernel that behaves alike isn't accused by chance, and what a change does rarely is.
func TestRare(t *testing.T) {
	k := opened(t)
	sc, err := library.Load("module-unload")
	require.NoError(t, err)
	s := &change.Search{Scenario: sc, Base: k, Kernel: k, Runs: 60, Seed: 3, Odds: change.Odds{Comparisons: 200}}
	found, err := s.Run()
	require.NoError(t, err)
	require.Empty(t, found.Worse)
	t.Logf("%+v", found)
}
