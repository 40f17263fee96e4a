package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// TestSelfCheck: a run played again, on the same machine and on a new one, has
// the same digest. Shares are those of an exploration.
func TestSelfCheck(t *testing.T) {
	for _, sc := range library.All() {
		t.Run(sc.Name, func(t *testing.T) {
			t.Parallel()
			runs := searchtest.Quick(sc, thorough.Of[uint64](6, 20))
			n, err := SelfCheck(Spec{Scenario: sc, Runs: runs, Seed: 7, Workers: 1})
			require.NoError(t, err)
			require.Equal(t, runs, n)
		})
	}
	sc, err := library.Load("torn-jump")
	require.NoError(t, err)
	sum := uint64(0)
	for share := 1; share <= 3; share++ {
		n, err := SelfCheck(Spec{Scenario: sc, Runs: 100, Share: share, Shares: 3})
		require.NoError(t, err)
		sum += n
	}
	require.Equal(t, uint64(100), sum)
}

// TestSelfCheckNotices: a difference is a bug, and is reported with all that is
// needed to see it again.
func TestSelfCheckNotices(t *testing.T) {
	sc, err := library.Load("torn-jump")
	require.NoError(t, err)
	g, err := rig.New(sc, "")
	require.NoError(t, err)
	defer g.Close()
	spec := Spec{Scenario: sc, Seed: 9}
	for what, spoil := range map[string]func(*rig.Run){
		"digest":   func(r *rig.Run) { r.Digest ^= 1 },
		"it ended": func(r *rig.Run) { r.Outcome = smp.Stuck },
		"counts":   func(r *rig.Run) { r.Counts.Points++ },
	} {
		c := checker{spec: &spec, used: g}
		c.rand.Seed(1, 1)
		rec := &sched.Recorder{Strategy: sched.NewRandom(sched.Params{Length: 100}), All: true}
		for i := range uint64(5) {
			rec.Begin(i)
			run := g.Run(rec)
			rec.End(run.Counts.Points)
			c.block = append(c.block, checked{i, rec.String(), run, sched.NewExact(rec.Recording())})
		}
		c.again(g, "here")
		spoil(&c.block[3].run)
		func() {
			defer func() {
				bug, ok := recover().(*sim.BugError)
				require.True(t, ok, what)
				require.Contains(t, bug.Message, "torn-jump, run ")
				require.Contains(t, bug.Message, "seed 9")
				require.Contains(t, bug.Message, what)
			}()
			c.again(g, "here")
		}()
	}
}
