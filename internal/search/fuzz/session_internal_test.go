package fuzz

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
)

// TestHopeless: it ends where each run of each program breaks something, and not where one
// passes.
func TestHopeless(t *testing.T) {
	for passed, hopeless := range map[uint64]bool{0: true, 1: false} {
		s, err := New(Spec{Seed: 1, Each: 1})
		require.NoError(t, err)
		for i := range uint64(batch) {
			require.False(t, s.Hopeless())
			p := &Program{Recipe: gen.Recipe{Seed: i}, Parts: []string{"machine"}, Runs: 4, Violations: 4}
			if i == 0 {
				p.Violations -= passed
			}
			s.take(p)
		}
		require.Equal(t, hopeless, s.Hopeless())
	}
}

// TestShown: a feature is counted once, whatever its hash, and no more than there is room
// for.
func TestShown(t *testing.T) {
	var s shown
	for i := range uint64(2 * tableSize) {
		s.add(i * tableSize) // all in one place of the table
		s.add(i * tableSize)
		if i == 100 {
			require.Len(t, s.list, 101)
			break
		}
	}
	for i := range uint64(2 * tableSize) {
		s.add(i*0x9e3779b97f4a7c15 | 1)
	}
	require.Len(t, s.list, tableSize*3/4)
}

// TestChoose: the arm that earns most is chosen most, and none is given up.
func TestChoose(t *testing.T) {
	s, err := New(Spec{Seed: 1, Each: 1})
	require.NoError(t, err)
	s.earned(splice, 5000, 100_000)
	for how := range arms {
		s.earned(how, 10, 100_000)
	}
	var chosen [arms]int
	for range 2000 {
		chosen[s.choose()]++
	}
	for how, n := range chosen {
		require.NotZero(t, n)
		if arm(how) != splice {
			require.Greater(t, chosen[splice], 5*n)
		}
	}
}
