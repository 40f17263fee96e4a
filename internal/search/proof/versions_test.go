package proof

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
)

// eachTinier calls f with each of the smallest settings under a model of memory, without
// preemption and with.
func eachTinier(t *testing.T, memory string, f func(t *testing.T, i int, sc *scenario.Scenario)) {
	for i, c := range tinier {
		for _, preempt := range []scenario.Preempt{scenario.PreemptNone, scenario.PreemptFull} {
			sc := searchtest.LoadTinier(t, fmt.Sprintf("memory = %q, ", memory)+c.machine, c.rest)
			sc.Machine.Preempt = preempt
			t.Run(c.name+"/"+preempt.String(), func(t *testing.T) { f(t, i, sc) })
		}
	}
}

// TestVersionsMerge: under the kernel's memory model a routine may know what a version of a
// cell was that is none any more, and stand at a fence. States that are told to be one are.
func TestVersionsMerge(t *testing.T) {
	t.Parallel()
	total := 0
	eachTinier(t, "lkmm", func(t *testing.T, _ int, sc *scenario.Scenario) {
		n, differ := newWalk(t, sc, "", "").merges(t, "", uint64(thorough.Of(300, 4000)/searchtest.Slow), 1)
		require.Empty(t, differ)
		total += n
	})
	t.Logf("%d merges", total)
	require.NotZero(t, total)
}

// TestVersionsCommute is TestStepsCommute of cells that keep versions.
func TestVersionsCommute(t *testing.T) {
	t.Parallel()
	total := new(swapCount)
	eachTinier(t, "lkmm", func(t *testing.T, i int, sc *scenario.Scenario) {
		commute(t, sc, "", uint64(i), thorough.Of(60, 600)/searchtest.Slow, false, total)
	})
	t.Log(total)
	require.NotZero(t, total.swapped)
}

// TestVersionsArePlain is TestFullIsPlain where cells keep versions, of the settings of which
// plain search makes few enough runs.
func TestVersionsArePlain(t *testing.T) {
	t.Parallel()
	runs, several := 0, 0
	for _, c := range tinier {
		sc := searchtest.LoadTinier(t, `memory = "lkmm", `+c.machine, c.rest)
		t.Run(c.name, func(t *testing.T) {
			if !thorough.Set() && !slices.Contains([]string{"a store and a call", "preemption"}, c.name) {
				t.Skip("plain search makes 100,000 runs of it and more")
			}
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			r.Log.Store = true
			last, most := make(map[end]int), thorough.Of(200_000, 2_000_000)/searchtest.Slow
			want, n, ok := endsOfPlain(r, beginning{}, most, func(run rig.Run) { finals(r, run, last) })
			if !ok {
				return
			}
			got, _, _, _ := endsOfFull(t, r, beginning{}, most)
			sameEnds(t, want, got, c.name)
			reached, _ := endsOfStates(t, sc, "")
			sameKeys(t, last, reached, c.name)
			if runs += n; len(last) > 1 {
				several++
			}
		})
	}
	t.Logf("%d runs; %d settings with several ends", runs, several)
	require.NotZero(t, runs)
	require.NotZero(t, several)
}
