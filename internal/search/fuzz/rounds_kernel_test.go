package fuzz

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/twoengines"
	"kpsim/internal/testkit/thorough"
)

// TestKernelIslands: with a kernel's engine islands have basic blocks and compared answers too,
// and two sessions make the same. A program that others were made from is chosen less often.
func TestKernelIslands(t *testing.T) {
	k := kernel(t, "6.1")
	spec := Spec{On: gen.On{Machines: twoengines.Machines(k), Contract: true, Few: true}, Kernel: k, Seed: 5, Each: 1,
		Rounds: Rounds{Islands: 1, Programs: thorough.Of[uint64](6, 12)}}
	a, err := New(spec)
	require.NoError(t, err)
	b, err := New(spec)
	require.NoError(t, err)
	used := uint64(0) // how often programs were made from others: chance decides in which round first
	round := uint64(0)
	for ; round < 3 || used == 0 && round < 12; round++ {
		made, err := a.Island(round, 0, nil)
		require.NoError(t, err)
		again, err := b.Island(round, 0, nil)
		require.NoError(t, err)
		require.Equal(t, string(made.Marshal()), string(again.Marshal()))
		read, err := ReadIsland(made.Marshal())
		require.NoError(t, err)
		_, err = a.Fold(made, nil)
		require.NoError(t, err)
		_, err = b.Fold(read, nil)
		require.NoError(t, err)
		require.Equal(t, a.Coverage(), b.Coverage())
		used = 0
		for _, k := range a.kept {
			used += k.used
		}
	}
	c := a.Coverage()
	require.NotZero(t, c.Blocks)
	require.NotZero(t, used, "no program was made from another in %d rounds", round)

	lie, err := a.Island(round, 0, nil)
	require.NoError(t, err)
	for n := range lie.Programs {
		if r := &lie.Programs[n]; !r.Refused {
			r.Blocks = append([]byte{0xff, 0xff, 3}, r.Blocks...)
			break
		}
	}
	_, err = b.Read(lie)
	require.ErrorContains(t, err, "blocks: ")
}

// TestKernelRuns: a program's runs are those of the exploration of it, also if the strategy is
// told of steps: of those it is told that touch memory which runs before have shared.
func TestKernelRuns(t *testing.T) {
	k := kernel(t, "6.1")
	s, err := New(Spec{On: gen.On{Machines: twoengines.Machines(k), Contract: true, Few: true}, Kernel: k,
		Strategy: "pos", Seed: 46, Each: 3, Fresh: true})
	require.NoError(t, err)
	list, err := s.Batch(2)
	require.NoError(t, err)
	for _, p := range list {
		spec, err := s.Explore(&p.Recipe, p.Runs)
		require.NoError(t, err)
		res, err := explore.Run(spec)
		require.NoError(t, err)
		require.Equal(t, p.Points, res.Counts.Points, "%s", p.Recipe.Marshal())
	}
}
