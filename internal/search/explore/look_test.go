package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
)

// A counted look counts what it is told.
type counted struct {
	began, ended int
	digests      []uint64
}

func (c *counted) Begin(*rig.Rig)                { c.began++ }
func (c *counted) Took(_ *rig.Rig, run *rig.Run) { c.digests = append(c.digests, run.Digest) }
func (c *counted) End(*rig.Rig)                  { c.ended++ }

// TestLook: each run is looked at once, and the looks are in the order of the shards, whatever
// the number of workers; a look changes nothing.
func TestLook(t *testing.T) {
	sc, err := library.Load("second-instruction")
	require.NoError(t, err)
	var first []Look
	for _, workers := range []int{1, 3} {
		spec := Spec{Scenario: sc, Runs: 100, Seed: 1, Workers: workers, Blind: true}
		plain, err := Run(spec)
		require.NoError(t, err)
		require.Empty(t, plain.Looks)
		spec.Look = func() Look { return new(counted) }
		res, err := Run(spec)
		require.NoError(t, err)
		require.Equal(t, plain.Counts, res.Counts)
		require.Equal(t, plain.Broken, res.Broken)
		runs := 0
		for _, l := range res.Looks {
			c := l.(*counted)
			require.Equal(t, 1, c.began)
			require.Equal(t, 1, c.ended)
			runs += len(c.digests)
		}
		require.Equal(t, 100, runs)
		if first == nil {
			first = res.Looks
		}
		require.Equal(t, first, res.Looks)
	}
}
