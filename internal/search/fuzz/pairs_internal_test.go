package fuzz

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/search/pairs"
	"kpsim/internal/testkit/thorough"
)

// TestPairs: few programs reach most pairs of an operation and a state of its object, and none that is excused.
func TestPairs(t *testing.T) {
	s, err := New(Spec{Seed: 9, Each: 3})
	require.NoError(t, err)
	for most := thorough.Of[uint64](192, 4096); s.Programs+s.Refused < most; {
		_, err := s.Batch(most - s.Programs - s.Refused)
		require.NoError(t, err)
	}
	for _, p := range pairs.All() {
		if p.Why != "" {
			assert.False(t, s.known(p.Feature()), "%s is reached, and excused: %s", &p, p.Why)
		}
	}
	c := s.Coverage()
	require.Len(t, s.Unmet(), c.PairsAll-c.Pairs)
	require.Less(t, c.PairsAll, len(pairs.All()))
	require.Greater(t, 100*c.Pairs, int(thorough.Of[uint64](50, 90))*c.PairsAll, "%d of %d pairs", c.Pairs, c.PairsAll)
	t.Logf("%d of %d pairs by %d programs", c.Pairs, c.PairsAll, s.Programs)
}
