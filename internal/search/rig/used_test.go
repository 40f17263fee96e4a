package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
)

// TestUsedEqualsFresh: what a machine has run before leaves no trace in it,
// however that ended: over everything that scenarios can have, a run on a used
// machine is the run on a new one. Each is also cut short, with calls and patches
// under way.
func TestUsedEqualsFresh(t *testing.T) {
	all := library.All()
	for seed := range uint64(60 / searchtest.Slow) {
		all = append(all, gen.Fuzz(seed))
	}
	const runs = 2
	for _, sc := range all {
		s := sched.NewRandom(sched.Params{Seed: 1, Length: 100})
		fresh := func(i uint64) uint64 {
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			run, _ := r.Next(s, i)
			return run.Digest
		}
		var want [runs]uint64
		for i := range want {
			want[i] = fresh(uint64(i))
		}
		used, err := rig.New(sc, "")
		require.NoError(t, err)
		whole := used.Machine.Interactive().Budget()
		for i := range uint64(2 * runs) {
			used.Machine.Interactive().SetBudget(100 + 150*i)
			used.Next(s, runs+i)
			used.Machine.Interactive().SetBudget(whole)
			run, _ := used.Next(s, i%runs)
			require.Equal(t, want[i%runs], run.Digest, "%s, run %d on a used machine", sc.Name, i%runs)
		}
		used.Close()
	}
}
