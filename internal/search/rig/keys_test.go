package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
)

// Two tasks set a key whose sites are written one by one, as in 4.15. Each site ends as the last one has set it.
func TestSettersOfSeveralSites(t *testing.T) {
	for _, machine := range []string{`edition = "4.15"`, `edition = "documented"`, `patch = "stop_machine"`} {
		settersOfSeveralSites(t, machine)
	}
}

func settersOfSeveralSites(t *testing.T, machine string) {
	sc, err := lang.Load("setters.star", []byte(`
machine(cpus = 2, `+machine+`)
f = text("f", "0f1f440000 31c0 c3 b801000000 c3", at = 0xffffffff81000000)
g = text("g", "0f1f440000 31c0 c3 b801000000 c3", at = 0xffffffff81000040)
key = jump_label("key", at = [f, g], target = [f + 8, g + 8])
task("on", cpu = 0, ops = [label_on(key)])
task("off", cpu = 1, ops = [label_off(key)])
never()
`), nil)
	require.NoError(t, err)
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	s := sched.NewPortfolio(sched.Params{Seed: 1, Length: r.Run(new(sched.Default)).Counts.Points})
	for i := range uint64(600) / searchtest.Slow {
		run, _ := r.Next(s, i)
		require.Nil(t, run.Property, "%s: %s", machine, r.Message(&run))
	}
}
