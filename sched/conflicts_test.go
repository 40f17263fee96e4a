package sched

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
)

// From the 64th mover on all share a number, and the steps of one are visible to the
// others: conflicts are overestimated, never missed.
func TestConflictsOfACrowd(t *testing.T) {
	write := func(object uint64) []sim.Touch { return []sim.Touch{{Object: sim.Object(object), Write: true}} }
	var c conflicts
	for mv := range sim.Mover(190) {
		c.step(mv, write(1000+uint64(mv)))
	}
	require.Len(t, c.movers, MostMovers)
	require.False(t, c.step(3, write(1003)), "its own")
	require.True(t, c.step(100, write(1100)), "one of a crowd may be another")
	require.True(t, c.step(101, write(1100)))
	require.True(t, c.step(3, write(1100)))
	require.True(t, c.step(3, write(1004)))

	// What was invisible and isn't begins the search anew.
	var d conflicts
	for mv := range sim.Mover(63) {
		d.step(mv, write(uint64(mv)))
	}
	require.False(t, d.grew)
	d.step(150, write(7))
	require.True(t, d.grew)
}
