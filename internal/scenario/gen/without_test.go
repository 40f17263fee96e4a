package gen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
)

// TestWithout: a program that would be derived from a scenario that is left out is drawn instead, and all others stay
// as they are.
func TestWithout(t *testing.T) {
	left := known()[0].Name
	changed := 0
	for seed := uint64(1); seed < 3000; seed++ {
		one, _ := Of(&Recipe{Seed: seed}, On{})
		other, _ := Of(&Recipe{Seed: seed}, On{Without: []string{left}})
		if one.Says != known()[0].Says {
			require.Equal(t, len(one.Tasks), len(other.Tasks), "seed %d", seed)
			continue
		}
		require.NotEqual(t, one.Says, other.Says)
		changed++
	}
	require.Positive(t, changed)
	require.Contains(t, library.Names(), left)
}
