package explore

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/properties"
	"kpsim/sched"
)

// TestBuiltin: each built-in scenario comes out as it says, and every kind of event that it
// shows is among those that it is said it can. kpsim explore makes more runs.
func TestBuiltin(t *testing.T) {
	for _, sc := range library.All() {
		t.Run(sc.Name, func(t *testing.T) {
			t.Parallel()
			var res *Result
			for _, runs := range []uint64{thorough.Of[uint64](40, 300), 1_000, 4_000, 15_000} {
				var err error
				res, err = Run(Spec{Scenario: sc, Runs: searchtest.Quick(sc, runs), Workers: 1})
				require.NoError(t, err)
				if !sc.Expect.Sometimes || searchtest.Slow > 1 || len(res.Broken) > 0 {
					break // else it is rarer than most
				}
			}
			require.NotZero(t, res.Counts.Points, "a search that explored nothing")
			var can []string
			for _, k := range reachable(sc) {
				can = append(can, k.String())
			}
			require.NotEmpty(t, res.Stats.Seen)
			require.Subset(t, can, res.Stats.Seen)
			if !sc.Expect.Sometimes {
				require.Empty(t, res.Broken)
				return
			}
			if searchtest.Slow > 1 {
				return // so few runs may have met none
			}
			require.NotZero(t, res.Broken[sc.Expect.Property])
			require.Len(t, res.Broken, 1, "%v", res.Broken)
			require.LessOrEqual(t, len(res.Witness.Schedule), 6, "%v", res.Witness.Schedule)
		})
	}
}

// TestEveryRunBroken: an exploration of what each run breaks ends soon, whatever the number
// of workers; one that goes on past what is broken doesn't, nor one that some runs survive.
func TestEveryRunBroken(t *testing.T) {
	const runs = 2 * fewest * everyRun
	for _, c := range []struct {
		name, mutant string
		past         properties.Set
		ends         bool
	}{
		{"return-probes", "holder-kept", 0, true},
		{"return-probes", "holder-kept", properties.Every, false},
		{"return-storm", "ret-addr-lost", 0, false},
	} {
		sc, err := library.Load(c.name)
		require.NoError(t, err)
		for _, workers := range []int{1, 3} {
			res, err := Run(Spec{Scenario: sc, Mutant: c.mutant, Runs: runs, Workers: workers, Past: c.past,
				Blind: true})
			require.NoError(t, err)
			require.NotZero(t, res.Violations)
			require.Equal(t, c.ends, res.Runs < runs, "%s: %d of %d", c.mutant, res.Violations, res.Runs)
			if c.ends {
				require.EqualValues(t, fewest*everyRun, res.Runs)
			}
		}
	}
}

// TestWorkersDontMatter: the result is a function of the spec, not of how many
// workers share the runs, nor of GOMAXPROCS.
func TestWorkersDontMatter(t *testing.T) {
	sc, err := library.Load("second-instruction")
	require.NoError(t, err)
	var want *Result
	for _, workers := range []int{1, 2, 5, 16} {
		procs := runtime.GOMAXPROCS(1 + workers%2)
		res, err := Run(Spec{Scenario: sc, Runs: thorough.Of[uint64](1_000, 4_000) / searchtest.Slow, Workers: workers})
		runtime.GOMAXPROCS(procs)
		require.NoError(t, err)
		if want == nil {
			want = res
		}
		require.Equal(t, want.Violations, res.Violations)
		require.Equal(t, want.Counts, res.Counts)
		require.Equal(t, want.Witness.Digest, res.Witness.Digest)
		require.Equal(t, want.Witness.Schedule, res.Witness.Schedule)
	}
}

// TestHoldChangesNothing: a hold saves questions, and can't be observed.
func TestHoldChangesNothing(t *testing.T) {
	for _, name := range []string{"safe-none", "full-rcu", "torn-jump-bp"} {
		sc, err := library.Load(name)
		require.NoError(t, err)
		rig, err := rig.New(sc, "")
		require.NoError(t, err)
		defer rig.Close()
		shape, _ := rig.Survey(0)
		for _, strategy := range []string{"portfolio", "sticky", "arriving", "pct", "pos", "guided", "overtake",
			"random"} {
			p := sched.Params{Shape: shape}
			with, err := sched.New(strategy, p)
			require.NoError(t, err)
			without, err := sched.New(strategy, p)
			require.NoError(t, err)
			for i := uint64(0); i < thorough.Of[uint64](80, 300)/searchtest.Slow; i++ {
				a, _ := rig.Next(with, i)
				b, _ := rig.Next(sched.NoHold{Strategy: without}, i)
				require.Equal(t, a.Digest, b.Digest, "%s, %s, run %d", name, strategy, i)
			}
		}
	}
}

// TestStrategiesForgetTheMachine: what a strategy learns from the steps of its runs
// doesn't depend on what the machine has run before, observed or not.
func TestStrategiesForgetTheMachine(t *testing.T) {
	sc := searchtest.Load(t, twoCounters)
	used := (&Spec{Scenario: sc}).MustRig().Learnt()
	defer used.Close()
	for _, name := range []string{"guided", "pos", "overtake", "portfolio"} {
		fresh := (&Spec{Scenario: sc}).MustRig().Learnt()
		defer fresh.Close()
		shape, _ := fresh.Survey(0)
		a, err := sched.New(name, sched.Params{Seed: 3, Shape: shape})
		require.NoError(t, err)
		b, err := sched.New(name, sched.Params{Seed: 3, Shape: shape})
		require.NoError(t, err)
		for i := range uint64(300 / searchtest.Slow) {
			if i%7 == 0 { // which shows what is shared, and what isn't
				used.Observe(new(sched.Happens))
				used.Play(sched.NewRandom(sched.Params{Seed: i, Length: 100}))
			}
			x, _ := fresh.Next(a, i)
			y, _ := used.Next(b, i)
			require.Equal(t, x.Digest, y.Digest, "%s, run %d", name, i)
		}
	}
}

// TestReplayTheSame: a witness replays to the same digest, a hundred times, on
// a new machine each, at GOMAXPROCS 1 and 2.
func TestReplayTheSame(t *testing.T) {
	sc, err := library.Load("second-instruction")
	require.NoError(t, err)
	res, err := Run(Spec{Scenario: sc, Runs: 10_000 / searchtest.Slow})
	require.NoError(t, err)
	require.NotNil(t, res.Witness)
	for i := range 100 / searchtest.Slow {
		procs := runtime.GOMAXPROCS(1 + i%2)
		r, err := replay.Play("witness", res.Witness.File, false)
		runtime.GOMAXPROCS(procs)
		require.NoError(t, err)
		require.True(t, r.Same, r.Why)
		require.Equal(t, res.Witness.Digest, r.Digest)
		r.Rig.Close()
	}
}
