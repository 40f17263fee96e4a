package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/search/searchtest"
	"kpsim/internal/thorough"
)

// TestVersionsMerge: under the kernel's memory model a routine may know what a version of a
// cell was that is none any more, and stand at a fence. States that are told to be one are.
func TestVersionsMerge(t *testing.T) {
	t.Parallel()
	total := 0
	for _, c := range tinier {
		for _, preempt := range []scenario.Preempt{scenario.PreemptNone, scenario.PreemptFull} {
			sc := searchtest.LoadTinier(t, `memory = "lkmm", `+c.machine, c.rest)
			sc.Machine.Preempt = preempt
			t.Run(c.name+"/"+preempt.String(), func(t *testing.T) {
				n, differ := newWalk(t, sc, "", "").merges(t, "", uint64(thorough.Of(300, 4000)/searchtest.Slow), 1)
				require.Empty(t, differ)
				total += n
			})
		}
	}
	t.Logf("%d merges", total)
	require.NotZero(t, total)
}

// TestVersionsCommute is TestStepsCommute of cells that keep versions.
func TestVersionsCommute(t *testing.T) {
	t.Parallel()
	total := new(swapCount)
	for i, c := range tinier {
		for _, preempt := range []scenario.Preempt{scenario.PreemptNone, scenario.PreemptFull} {
			sc := searchtest.LoadTinier(t, `memory = "lkmm", `+c.machine, c.rest)
			sc.Machine.Preempt = preempt
			t.Run(c.name+"/"+preempt.String(), func(t *testing.T) {
				commute(t, sc, "", uint64(i), thorough.Of(60, 600)/searchtest.Slow, false, total)
			})
		}
	}
	t.Log(total)
	require.NotZero(t, total.swapped)
}
