package fuzz

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
)

// TestConflicts: a run that is observed is the run that it is else, and shows pairs of
// accesses besides; the same two in the other order are another feature.
func TestConflicts(t *testing.T) {
	r, err := rig.New(gen.Fuzz(7), "")
	require.NoError(t, err)
	defer r.Close()
	list := func(on bool) (features []uint64, digest uint64) {
		var s shown
		var c conflicts
		s.begin(r.Scenario)
		c.begin(r, &s, on)
		r.Log.Subscribe(&s, shownKinds...)
		defer r.Log.Unsubscribe(&s)
		schedules, err := sched.New("random", sched.Params{Seed: 3})
		require.NoError(t, err)
		s.run()
		run, _ := r.NextWatched(schedules, 0, &c)
		return s.list, run.Digest
	}
	alone, digest := list(false)
	observed, same := list(true)
	require.Equal(t, digest, same)
	require.Subset(t, observed, alone)
	require.Greater(t, len(observed), len(alone)+20)

	var s shown
	s.cpus = 2
	var c conflicts
	c.begin(r, &s, true)
	s.last[0], s.last[1] = 5<<8, 6<<8
	write := []sim.Touch{{Object: 1, Write: true}}
	c.Stepped(0, write)
	require.Empty(t, s.list, "one access is no pair")
	c.Stepped(1, write)
	require.Len(t, s.list, 1)
	c.Stepped(0, write)
	require.Len(t, s.list, 2, "the other order")
	c.Stepped(1, write)
	require.Len(t, s.list, 2, "what was shown before")
}
