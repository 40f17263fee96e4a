package proof

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/testkit/thorough"
)

// How far a verification is grows from little to much while it lasts, and isn't all before the end;
// Progress, which counts all branches alike, stays near nothing where states are merged.
func TestBack(t *testing.T) {
	for _, c := range []struct {
		name     string
		scenario string
		how      Proof
		runs     uint64 // 0: all
		told     uint64 // at the least, in the end
	}{
		{"full", "safe-none", Proof{Full: true}, 6_000, 150_000}, // of 50,000
		{"deviations", "safe-full", Proof{Deviations: 2}, 0, 600_000},
		{"classes", "torn-jump", Proof{Deviations: 2, Classes: true, All: true}, 0, 600_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "deviations" {
				thorough.Only(t, "3 s")
			}
			sc, err := library.Load(c.scenario)
			require.NoError(t, err)
			var mu sync.Mutex
			var told []uint64
			c.how.Spec = explore.Spec{Scenario: sc, Workers: 1, Seed: 1, Blind: true, Runs: c.runs}
			c.how.Back = func(_, _, done uint64) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, done)
			}
			progress := uint64(0)
			c.how.Watch = func(_, _, done uint64) { progress = done }
			v, err := Verify(c.how)
			require.NoError(t, err)
			require.Equal(t, c.runs == 0, v.Complete)
			if c.runs > 0 {
				require.Less(t, progress, uint64(1_000))
			}
			require.Greater(t, len(told), 4)
			most := uint64(0)
			for _, done := range told {
				require.Less(t, done, uint64(1_000_000))
				most = max(most, done)
			}
			require.Less(t, told[0], uint64(400_000), told)
			require.Greater(t, most, c.told, told)
		})
	}
}
