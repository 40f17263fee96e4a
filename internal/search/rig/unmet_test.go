package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/properties"
	"kpsim/sched"
)

// TestUnmetIsOfTheLastRun: a run without a wrong result doesn't report that of an earlier run on the same rig.
// The shrinker asks after each run.
func TestUnmetIsOfTheLastRun(t *testing.T) {
	sc := searchtest.Load(t, `
machine(cpus = 2)
f = text("f", "8d4701 0f1f440000 c3 8d4702 c3")
l = jump_label("l", at = f + 3, target = f + 9)
task("flipper", cpu = 0, ops = [label_on(l)])
task("caller", cpu = 1, ops = [call(f, 7, returns = 9, changed = True)])
`)
	r, err := rig.New(sc, "")
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
