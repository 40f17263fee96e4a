package sched

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
)

// A still is a machine of which a helper saves and restores nothing.
type still struct{}

func (still) State() (hi, lo uint64) { return 0, 0 }
func (still) Keep(int)               {}
func (still) Begin()                 {}
func (still) Back(int)               {}
func (still) Kept(int) *Kept         { return nil }
func (still) Restore(int, *Kept)     {}

// chainOf returns a way of n states, whose questions have numbers from seq on.
func chainOf(n int, seq uint64) (way *trail) {
	for i := range n {
		way = &trail{before: way, depth: i + 1, point: statePoint{seq: seq + uint64(i), n: 2, kind: sim.Step}}
	}
	return way
}

// TestHelperChangesPaths: a helper goes from a long path to a short one of another branch, and then to one that is
// longer than both and continues the first. All its points are of the last path.
func TestHelperChangesPaths(t *testing.T) {
	h := &Helper{portable: still{}}
	h.m, h.helper = still{}, h
	long := chainOf(20, 100)
	other := chainOf(5, 500)
	longer := long
	for i := range 60 {
		longer = &trail{before: longer, depth: 21 + i, point: statePoint{seq: 120 + uint64(i), n: 2, kind: sim.Step}}
	}
	for _, way := range []*trail{long, other, longer, other, long, longer} {
		h.Begin(&Branch{way: way})
		require.Len(t, h.points, way.depth)
		w := way
		for i := way.depth - 1; i >= 0; i, w = i-1, w.before {
			require.Same(t, w, h.path[i])
			require.Equal(t, w.point.seq, h.points[i].seq, "point %d of a way of %d", i, way.depth)
		}
		h.End()
	}
}
