package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/sim"
)

// A counter counts the steps it is told of.
type counter struct{ steps, touches uint64 }

func (c *counter) Stepped(_ sim.Mover, touched []sim.Touch) {
	c.steps++
	c.touches += uint64(len(touched))
}

// TestObserveChangesNothing: an observed run has the same questions, answers
// and events, and tells of each boundary's step, the last one too.
func TestObserveChangesNothing(t *testing.T) {
	t.Parallel()
	for _, sc := range library.All() {
		rig, err := rig.New(sc, "")
		require.NoError(t, err)
		defer rig.Close()
		s, err := sched.New("portfolio", sched.Params{Seed: 3, Length: 200})
		require.NoError(t, err)
		rec := &sched.Recorder{Strategy: s}
		for i := range searchtest.Quick(sc, thorough.Of[uint64](8, 24)) {
			require.True(t, rec.Begin(i))
			rig.Observe(nil)
			plain := rig.Run(rec)
			rec.End(plain.Counts.Points)
			final := rig.Final()

			var c counter
			rig.Observe(&c)
			seen := rig.Play(sched.NewExact(rec.Recording()))
			plain.Counts.Switches, seen.Counts.Switches = 0, 0
			require.Equal(t, plain, seen, "%s, run %d", sc.Name, i)
			require.Equal(t, final, rig.Final())
			require.Equal(t, seen.Counts.Boundaries, c.steps)
			require.NotZero(t, c.touches)

			// And so a strategy that holds holds as long.
			sticky := sched.NewSticky(sched.Params{Seed: i, Length: 200, Mean: 16})
			rig.Observe(nil)
			plain = rig.Play(sticky)
			rig.Observe(&c)
			require.Equal(t, plain.Digest, rig.Play(sticky).Digest)
		}
	}
}
