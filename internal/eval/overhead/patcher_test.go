package overhead

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/smp/cycles"
)

func patched(t *testing.T, name string, cpus int, costs *cycles.Profile) *Patches {
	t.Helper()
	s, err := library.Load(name)
	require.NoError(t, err)
	p, err := PatcherConfig{Scenario: s, CPUs: cpus, Runs: 2, Seed: 1, Costs: costs}.Measure()
	require.NoError(t, err)
	return p
}

// ofEachKind are scenarios of each kind of patcher.
var ofEachKind = []string{"hook-unsynced", "jump-label-flip", "static-call-flip", "ftrace-call", "safe-none",
	"safe-full-stop", "livepatch-leaves", "fprobe-leaves", "direct-leaves", "torn-jump-bp", "alternatives-both",
	"module-labels", "debugger-comes-and-goes", "debugger-386"}

// The parts of a patch are all of its time, with each kind of patcher.
func TestPatchParts(t *testing.T) {
	for _, name := range ofEachKind {
		s, err := library.Load(name)
		require.NoError(t, err)
		p := patched(t, name, max(2, Patchers(s)), nil)
		require.NotEmpty(t, p.List, name)
		stores := 0.0
		for _, of := range p.List {
			sum := 0.0
			for _, v := range of.Parts {
				require.GreaterOrEqual(t, v, 0.0, "%s %s", name, of.What)
				sum += v
			}
			require.InDelta(t, of.Cycles.Value, sum, 0.02*of.Cycles.Value+1, "%s %s: %v", name, of.What, of.Parts)
			stores += of.Stores
		}
		require.Positive(t, stores, "%s stores nothing", name)
	}
}

// A price moves what is derived from it, and nothing else.
func TestPriceMovesPatch(t *testing.T) {
	for _, of := range []struct {
		name string
		cpus int
	}{{"hook-unsynced", 1}, {"jump-label-flip", 1}, {"hook-unsynced", 2}} {
		was := patched(t, of.name, of.cpus, nil)
		moved := 0
		for _, e := range cycles.All() {
			costs := *cycles.Nominal()
			costs[e] *= 2
			is := patched(t, of.name, of.cpus, &costs)
			for i, a := range was.List {
				b := is.List[i]
				more := a.Events[e] * float64(costs[e]) / 2 / cycles.Unit
				if of.cpus == 1 { // nothing waits
					require.InDelta(t, a.Cycles.Value+more, b.Cycles.Value, 1e-6, "%v: %s", e, a.What)
				}
				if more > 0 {
					moved++
				}
				for part := range PatchWaits {
					want := a.Parts[part]
					switch {
					case e == cycles.Point && part == PatchStores:
						want *= 2
					case e == cycles.Point && part == PatchCode:
						want += more - a.Parts[PatchStores]
					case part == codePart(e):
						want += more
					}
					require.InDelta(t, want, b.Parts[part], 1e-6, "%v: %s: %v", e, a.What, part)
				}
			}
			if e == cycles.Line || e == cycles.Point || e == cycles.Instruction {
				continue
			}
			for i := range was.Calls {
				if was.Calls[i].When == Before {
					require.Equal(t, was.Calls[i], is.Calls[i], "%v moves calls that nothing has patched yet", e)
				}
			}
		}
		require.Greater(t, moved, 1, of.name)
	}
}

// A price moves the hits with its event, by as many as they have, and no others.
func TestPriceMovesHits(t *testing.T) {
	for _, q := range Probes(true) {
		was, err := q.Measure(nil)
		require.NoError(t, err)
		for _, e := range cycles.All() {
			costs := *cycles.Nominal()
			costs[e] *= 2
			is, err := q.Measure(&costs)
			require.NoError(t, err)
			more := was.Events[e] * float64(costs[e]) / 2 / cycles.Unit
			require.InDelta(t, was.Cycles+more, is.Cycles, 1e-6, "%s %v", q.Name, e)
		}
	}
}

// What sync_core takes follows the price of an IPI, which is paid before the first one is on its way.
func TestPriceMovesSync(t *testing.T) {
	measure := func(costs *cycles.Profile) *Pauses {
		p, err := PauseConfig{CPUs: 4, Patch: "breakpoint", Preempt: "none", Calls: 4, Schedule: Timed, Runs: 5,
			Seed: 1, Costs: costs}.Measure()
		require.NoError(t, err)
		return p
	}
	was := measure(nil)
	for _, e := range []cycles.Event{cycles.SendIPI, cycles.Trap, cycles.SyncCore} {
		costs := *cycles.Nominal()
		costs[e] *= 10
		is := measure(&costs)
		more := float64(costs[e]-cycles.Nominal()[e]) / cycles.Unit
		require.Greater(t, is.Sync.Mean, was.Sync.Mean+more/2, "%v", e)
	}
}

// A patch without its syncs is cheaper by them, and runs that break a property are counted.
func TestPriceOfSyncs(t *testing.T) {
	load := func(sync string) *scenario.Scenario {
		s, err := lang.Load("x.star", []byte(`scenario("x", says = "A patcher of a jump.")
machine(cpus = 2)
f = text("f", hex = "0f1f440000 31c0 c3")
g = text("g", hex = "b801000000 c3")
task("patcher", cpu = 0, ops = [on_breakpoint(f, goto = g), write(f, "cc"), `+sync+`write(f + 1, displacement(g)), `+
			sync+`write(f, "e9")])
task("thread", cpu = 1, ops = [call(f, changed = True)])
never()
`), nil)
		require.NoError(t, err)
		return s
	}
	measure := func(sync string, cpus int) *Patches {
		p, err := PatcherConfig{Scenario: load(sync), CPUs: cpus, Runs: 2, Seed: 1}.Measure()
		require.NoError(t, err)
		require.Len(t, p.List, 1)
		return p
	}
	for _, cpus := range []int{1, 2, 8, 64} {
		with, without := measure("sync_core(), ", cpus), measure("", cpus)
		require.Equal(t, ByHand, with.List[0].What)
		n := cycles.Nominal()
		require.InDelta(t, 2*float64(n[cycles.SyncCore])/cycles.Unit, with.List[0].Parts[PatchSync], 1e-6)
		ipis := 2.0
		if cpus == 1 {
			ipis = 0
		}
		require.InDelta(t, ipis*float64(n[cycles.SendIPI])/cycles.Unit, with.List[0].Parts[PatchIPI], 1e-6)
		require.Zero(t, without.List[0].Parts[PatchSync]+without.List[0].Parts[PatchIPI]+without.List[0].Others)
		require.Equal(t, cpus > 1, with.List[0].Others > 0)
		require.InDelta(t, 3, with.List[0].Stores, 0)
		require.Equal(t, Patchers(load("")), 1)
	}
	// Calls that meet the patch take longer than those before it and after it.
	calls := measure("sync_core(), ", 8).Calls
	at := func(w When) PatchedCall {
		return calls[slices.IndexFunc(calls, func(c PatchedCall) bool { return c.When == w })]
	}
	trap := float64(cycles.Nominal()[cycles.Trap]) / cycles.Unit
	require.Less(t, at(Before).Most, trap, "it ran into the patch")
	require.Greater(t, at(During).Cycles.Value, 2*at(Before).Cycles.Value)
	require.Less(t, 2*at(After).Cycles.Value, at(During).Cycles.Value)
}

// What can't be priced is refused.
func TestUnpriced(t *testing.T) {
	load := func(name string) *scenario.Scenario {
		s, err := library.Load(name)
		require.NoError(t, err)
		return s
	}
	for _, of := range []struct {
		c    PatcherConfig
		says string
	}{
		{PatcherConfig{Scenario: load("alias-bytes"), CPUs: 2, Runs: 2}, "no task of it patches"},
		{PatcherConfig{Scenario: load("hook-unsynced"), CPUs: 2, Runs: 1}, "2 runs at least"},
		{PatcherConfig{Scenario: load("hook-unsynced"), CPUs: 0, Runs: 2}, "its patchers need 1 CPU; give as many"},
		{PatcherConfig{Scenario: load("hook-unsynced"), CPUs: 65, Runs: 2}, "1 to 64"},
		{PatcherConfig{Scenario: load("hook-bytes"), CPUs: 2, Runs: 2, Seed: 1}, "before its patches were done"},
	} {
		_, err := of.c.Measure()
		require.ErrorContains(t, err, of.says)
	}
}
