package overhead

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/smp/cycles"
)

// The prices of patches and calls, against arithmetic that is done here by hand.

// priceOnly is a profile of these prices, in cycles, in which nothing else costs anything.
func priceOnly(costs map[cycles.Event]cycles.Cost) *cycles.Profile {
	p := new(cycles.Profile)
	for e, v := range costs {
		p[e] = v * cycles.Unit
	}
	return p
}

// shortening is a patcher of a function, three nops and a ret, that shortens it: calls before, between and after the
// patches are of as many instructions as it then has.
func shortening(t *testing.T, ops string, cpus int, costs map[cycles.Event]cycles.Cost) *Patches {
	t.Helper()
	s, err := lang.Load("x.star", fmt.Appendf(nil, `scenario("x", says = "A function gets shorter with each patch.")
machine(cpus = 2)
f = text("f", "90 90 90 c3")
task("patcher", cpu = 0, ops = [%s])
task("thread", cpu = 1, ops = [call(f)])
never()
`, ops), nil)
	require.NoError(t, err)
	p, err := PatcherConfig{Scenario: s, CPUs: cpus, Runs: 2, Seed: 1, Costs: priceOnly(costs)}.Measure()
	require.NoError(t, err)
	return p
}

// Calls are before the first patch begins, after the last one has ended, or during the patches. On one CPU there are
// 8, 2 and 8 in each of two runs, of 4, 3 and 2 instructions, which cost 100 cycles each: the first call after a patch
// begins when the patch ends.
func TestWhenCallsAre(t *testing.T) {
	calls := func(p *Patches, w When) PatchedCall {
		for _, c := range p.Calls {
			if c.When == w {
				return c
			}
		}
		return PatchedCall{}
	}
	for _, point := range []cycles.Cost{0, 1} { // a patch takes no time, or two points' time
		p := shortening(t, `write(f + 2, "c3"), call(f), call(f), write(f + 1, "c3")`, 1,
			map[cycles.Event]cycles.Cost{cycles.Instruction: 100, cycles.Point: point})
		more := float64(point) // a call has a point, too
		for _, of := range []struct {
			when   When
			n      int
			cycles float64
		}{{Before, 16, 400}, {During, 4, 300}, {After, 16, 200}} {
			c := calls(p, of.when)
			require.Equal(t, of.n, c.N, "%v, a point is %d", of.when, point)
			require.InDelta(t, of.cycles+more, c.Cycles.Value, 1e-9, "%v", of.when)
			require.InDelta(t, of.cycles+more, c.Most, 1e-9, "%v", of.when)
		}
	}

	// The other CPU makes calls all the time that the patcher takes to send an IPI, 100,000 cycles: 250 of 400 cycles
	// if the store comes after it, 333 of 300 if it came before; and one is under way when the patch begins.
	for _, of := range []struct {
		ops       string
		n         float64
		after     float64
		duringsOf float64
	}{
		{`sync_core(), write(f + 2, "c3")`, 100_000.0 / 400, 300, 400},
		{`write(f + 2, "c3"), sync_core()`, 100_000.0 / 300, 300, 300},
	} {
		p := shortening(t, of.ops, 2, map[cycles.Event]cycles.Cost{cycles.Instruction: 100, cycles.SendIPI: 100_000})
		c := calls(p, During)
		require.InDelta(t, of.n+1, float64(c.N)/2, 1, of.ops)
		require.InDelta(t, of.duringsOf, c.Cycles.Value, 1, of.ops)
		require.InDelta(t, 400, calls(p, Before).Cycles.Value, 1e-9, of.ops)
		require.InDelta(t, of.after, calls(p, After).Cycles.Value, 1e-9, of.ops)
	}
}

// partOf says on which part of a patch an event's cycles are spent; on code where nothing is said.
var partOf = map[cycles.Event]PatchPart{
	cycles.Line: PatchLines, cycles.SendIPI: PatchIPI, cycles.SyncCore: PatchSync, cycles.Switch: PatchSwitches,
	cycles.Breakpoint: PatchTraps, cycles.Debug: PatchTraps, cycles.Trap: PatchTraps, cycles.Iret: PatchTraps,
}

// codePart is partOf with its default.
func codePart(e cycles.Event) PatchPart {
	if part, ok := partOf[e]; ok {
		return part
	}
	return PatchCode
}

// Three of an event that costs 50 cycles are 150 cycles of its part. Two patches have six.
func TestPartOfEachEvent(t *testing.T) {
	for _, e := range cycles.All() {
		k := &patchKind{what: "x", n: 2, runs: []float64{150, 150}}
		k.events[e] = 6
		w := &patchWatch{kinds: []*patchKind{k}, gauge: gauge{costs: priceOnly(map[cycles.Event]cycles.Cost{e: 50})}}
		list := w.patches()
		require.Len(t, list, 1)
		var want [PatchParts]float64
		want[codePart(e)] = 150
		require.Equal(t, want, list[0].Parts, "%v", e)
		require.InDelta(t, 3, list[0].Events[e], 0)
	}
	// Two points of six are stores.
	k := &patchKind{what: "x", n: 2, runs: []float64{150, 150}, stores: 4}
	k.events[cycles.Point] = 12
	w := &patchWatch{kinds: []*patchKind{k}}
	w.costs = priceOnly(map[cycles.Event]cycles.Cost{cycles.Point: 50})
	require.Equal(t, [PatchParts]float64{PatchStores: 100, PatchCode: 200}, w.patches()[0].Parts)
}

// A jump label's five bytes are written in three steps: a breakpoint, the tail, the first byte. Each is one store, and
// all CPUs serialise after each: this one by an instruction, the other one for an IPI.
func TestLabelByHand(t *testing.T) {
	s, err := library.Load("jump-label-flip")
	require.NoError(t, err)
	for cpus, ipis := range map[int]float64{1: 0, 2: 3} {
		costs := map[cycles.Event]cycles.Cost{cycles.Point: 7, cycles.SyncCore: 1000, cycles.SendIPI: 30_000}
		p, err := PatcherConfig{Scenario: s, CPUs: cpus, Runs: 2, Seed: 1, Costs: priceOnly(costs)}.Measure()
		require.NoError(t, err)
		require.Len(t, p.List, 2)
		for i, n := range []int{2 * 2, 1 * 2} { // on, off, on in each of two runs
			q := p.List[i]
			require.Equal(t, n, q.N, q.What)
			require.InDelta(t, 3, q.Stores, 0, q.What)
			require.InDelta(t, 3*7, q.Parts[PatchStores], 1e-9, q.What)
			require.InDelta(t, 3*1000, q.Parts[PatchSync], 1e-9, q.What)
			require.InDelta(t, ipis*30_000, q.Parts[PatchIPI], 1e-9, q.What)
			require.Zero(t, q.Parts[PatchTraps]+q.Parts[PatchSwitches]+q.Parts[PatchLines], q.What)
			require.InDelta(t, q.Events[cycles.Point]*7-3*7, q.Parts[PatchCode], 1e-9, q.What)
		}
	}
}

// Hits that share nothing cost on any number of CPUs what they cost on one, if the CPUs that are woken late have spread
// their calls before any hit is counted: what they fetch at their beginning isn't part of a hit.
func TestLateCPUs(t *testing.T) {
	cheap, far := *cycles.Nominal(), *cycles.Nominal()
	for e := range cheap {
		if cycles.Event(e) != cycles.Line {
			cheap[e] /= 20
		}
	}
	far[cycles.Line] *= 10
	for _, of := range []struct {
		costs  *cycles.Profile
		probes int
	}{{nil, 3}, {&far, 3}, {&cheap, 2}} {
		for _, p := range Probes(true)[:of.probes] { // k, b, o
			list, err := p.Scale([]int{1, 2, 4, 8, 16}, "", of.costs)
			require.NoError(t, err)
			for _, s := range list {
				require.InDelta(t, list[0].Cycles, s.Cycles, 1e-6, "%s on %d CPUs", p.Name, s.CPUs)
			}
		}
	}
}
