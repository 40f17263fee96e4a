package gen

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Near seeds have no program in common, however many they draw; seed 1 begins with program 1.
func TestSeedsApart(t *testing.T) {
	require.Equal(t, uint64(1), First(1))
	const programs = 1 << 40
	var firsts []uint64
	for seed := range uint64(2000) {
		firsts = append(firsts, First(seed))
		require.Equal(t, seed, FirstOf(First(seed)))
		require.Equal(t, seed, First(FirstOf(seed)))
	}
	for i, a := range firsts {
		for _, b := range firsts[:i] {
			require.Greater(t, min(a-b, b-a), uint64(programs))
		}
	}
}
