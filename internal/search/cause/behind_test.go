package cause

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
	"kpsim/traces"
)

// twoFaults shows flags-wide in its first call, and later unregisters a probe with a breakpoint.
const twoFaults = `
machine(cpus = 2, preempt = "full", quiesce = "tasks", patch = "breakpoint")
saves = text("saves", "55 4889e5 669c 4889e8 4829e0 c9 c3")
other = text("other", "55 4889e5 5d c3")
push = kprobe("push", at = saves + 4, post = [count()])
plain = kprobe("plain", at = other, post = [count()])
task("prober", cpu = 0, ops = [register(push), call(saves, returns = 2), unregister(push), register(plain),
    unregister(plain), call(other)])
task("caller", cpu = 1, ops = [schedule()], repeat = 2)
never()
`

// lostPoke is a fault of the kernel's code that the scenario breaks text-restored with.
const lostPoke = "skip-call:arch_disarm_kprobe:text_poke:1"

// TestBehind: a kernel with a known fault and another one. The known one comes first in each run and hides nothing;
// what the unchanged kernel shows behind it is known, too.
func TestBehind(t *testing.T) {
	thorough.Only(t, "15 s of a kernel; TestFurther separates causes, too")
	k, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	linux.Give(k)
	sc, err := lang.Load("two.star", []byte(twoFaults), library.Open)
	require.NoError(t, err)
	require.NoError(t, onlinux.Set(sc, k))
	for _, mutant := range []string{"", lostPoke} {
		spec := explore.Spec{Scenario: sc, Mutant: mutant, Runs: 40, Seed: 1}
		var base *scenario.Scenario
		if mutant != "" {
			base = sc
		}
		first, err := explore.Run(spec)
		require.NoError(t, err)
		require.Equal(t, map[string]uint64{"right-result": first.Runs}, first.Broken, mutant)
		res, known, err := Behind(spec, base, first)
		require.NoError(t, err)
		require.NotEmpty(t, known)
		require.Equal(t, "right-result", known[0].Property)
		require.Equal(t, []string{"flags-wide"}, known[0].Like)
		require.Equal(t, first.Runs, known[0].Runs)
		if mutant == "" {
			require.Empty(t, res.Broken)
			continue
		}
		require.Equal(t, map[string]uint64{"text-restored": res.Runs}, res.Broken)
		w := res.Witness
		require.NotEmpty(t, w.File.Remark(traces.OriginMutant))
		require.Empty(t, w.Known, "the shrunk witness doesn't need the known fault")
	}
}

// TestKnown: with a mutant that breaks two properties, runs go on after the first if it is known, at its place. The
// trace says so, and leads there again.
func TestKnown(t *testing.T) {
	sc, err := library.Load("flags-word")
	require.NoError(t, err)
	spec := explore.Spec{Scenario: sc, Mutant: "flags-wide", Runs: 20, Seed: 1}
	first, err := explore.Run(spec)
	require.NoError(t, err)
	require.Len(t, first.Broken, 1)
	ways := first.Readings("right-result")
	require.Len(t, ways, 1)
	as := rig.Known{Property: "right-result", Words: rig.Uncompiled(ways[0].Words),
		Place: rig.SiteName(sc, ways[0].Found[0].Place)}

	elsewhere, otherwise := as, as
	elsewhere.Place, otherwise.Words = "saves+0x0", as.Words+" twice"
	spec.Known = []rig.Known{elsewhere, otherwise}
	res, err := explore.Run(spec)
	require.NoError(t, err)
	require.Equal(t, first.Broken, res.Broken)

	for _, one := range []rig.Known{as, rig.AnyPlace(as.Property, as.Words)} {
		spec.Known = []rig.Known{one}
		res, err = explore.Run(spec)
		require.NoError(t, err)
		require.Equal(t, map[string]uint64{"transparent": res.Runs}, res.Broken)
		w := res.Witness
		require.Equal(t, spec.Known, w.Known)
		f, err := traces.Parse("w.kps", w.File.Marshal())
		require.NoError(t, err)
		list, err := rig.ParseKnown(f.Remark(traces.OriginKnown))
		require.NoError(t, err)
		require.Equal(t, spec.Known, list)
		r, err := replay.Play("w.kps", f, false)
		require.NoError(t, err)
		require.True(t, r.Same, r.Why)
		r.Rig.Close()
	}
	for _, text := range []string{"x", "no-such @: a", "right-result: a", "right-result @"} {
		_, err := rig.ParseKnown(text)
		require.ErrorContains(t, err, "PROPERTY @PLACE: WORDS", text)
	}
}
