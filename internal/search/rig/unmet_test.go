package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
)

// TestUnmetIsOfTheLastRun: a run without a wrong result doesn't report that of an earlier run on the same rig.
// The shrinker asks after each run.
func TestUnmetIsOfTheLastRun(t *testing.T) {
	sc, err := library.Load("fprobe-leaves")
	require.NoError(t, err)
	r, err := rig.New(sc, "fprobe-stopped-late")
	require.NoError(t, err)
	defer r.Close()
	s := sched.NewPortfolio(sched.Params{Seed: 1, Length: 500})
	ended := make(map[bool]int) // by whether a result was wrong
	for i := range uint64(3000) {
		run, _ := r.Next(s, i)
		wrong := run.Property != nil && run.Property.ID == properties.RightResult.ID
		_, _, unmet := r.Unmet()
		require.Equal(t, wrong, unmet, "run %d", i)
		ended[wrong]++
	}
	require.NotZero(t, ended[true])
	require.NotZero(t, ended[false])
}
