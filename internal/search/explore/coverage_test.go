package explore

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// TestEveryKindCounts: a new kind of event is one that can be missed, or is said
// here to be none.
func TestEveryKindCounts(t *testing.T) {
	not := []traces.Kind{ // they head the log or end it, are a finding, or monitors alone are told
		kpev.State, kpev.Listed, kpev.NoJump, smpev.Gives, smpev.Due, smpev.Tilted, smpev.Module, smpev.Denies,
		smpev.Holds, smpev.Asked, smpev.Agrees, smpev.Setting, smpev.Form, smpev.Sets,
		smpev.Arrives, smpev.Attach, smpev.Attached, smpev.Serves, smpev.Leads, smpev.Hooks, smpev.ByHand, smpev.Shares,
		kpev.Seeks, kpev.Lies, kpev.Stays, kpev.Wants, kpev.Carries, kpev.Foreign, kpev.Keeps, kpev.Fits, kpev.Finds,
		kpev.Sees, smpev.Load, smpev.Oops, smpev.GPStall, smpev.Expect, smpev.Done, smpev.Want, kpev.NoPre, kpev.Kind,
		kpev.Contexts, kpev.Returner,
	}
	n := 0
	for k := traces.Kind(0); k < traces.KprobesBlock+64; k++ {
		if k.String() == "" {
			continue
		}
		n++
		counts := slices.ContainsFunc(reaches, func(r reach) bool { return r.kind == k })
		require.NotEqual(t, counts, slices.Contains(not, k), "%v: give it a row in reaches (kinds.go)", k)
	}
	require.Equal(t, len(reaches)+len(not), n)
}

// TestUnseenKinds: what can't be seen isn't missed, and what could is: here the
// optimizer never gets its turn.
func TestUnseenKinds(t *testing.T) {
	sc := searchtest.Load(t, `
machine(cpus = 2, quiesce = "sched")
v = elf("victim.o")
k = kprobe("k", at = v.victim)
task(cpu = 0, ops = [register(k), unregister(k)])
task(cpu = 1, ops = [call(v.victim, 3, 5)])
`)
	res, err := Run(Spec{Scenario: sc, Runs: 1, Strategy: "default"})
	require.NoError(t, err)
	require.Contains(t, res.Stats.Unseen, "Optimized")
	require.Contains(t, res.Stats.Seen, "Arm")
	require.Contains(t, res.Stats.Seen, "Disarm")
	for _, no := range []string{"StopStart", "Sysctl", "Got", "Skipped", "Missed"} {
		require.NotContains(t, res.Stats.Unseen, no)
		require.NotContains(t, res.Stats.Seen, no)
	}
}

const ticking = `
machine(cpus = 2)
f = text("f", "90 90 90 c3")
task(cpu = 0, ops = [call(f), schedule()])
task(cpu = 1, ops = [call(f), schedule()])
timer(cpu = 1)
`

// TestPlaces: a source that never fires has been nowhere; one that is free to
// has been everywhere, each instruction of the function included.
func TestPlaces(t *testing.T) {
	sc := searchtest.Load(t, ticking)
	res, err := Run(Spec{Scenario: sc, Runs: 1, Strategy: "default"})
	require.NoError(t, err)
	require.Len(t, res.Stats.Sources, 1)
	never := res.Stats.Sources[0]
	require.Equal(t, "timer@cpu1", never.Source)
	require.Zero(t, never.Fired)
	require.Equal(t, never.Visited, len(never.Never))
	for _, at := range []string{"f+0x0", "f+0x1", "f+0x2", "f+0x3", "schedule"} {
		require.Contains(t, never.Never, at)
	}

	res, err = Run(Spec{Scenario: sc, Runs: 2_000})
	require.NoError(t, err)
	all := res.Stats.Sources[0]
	require.GreaterOrEqual(t, all.Visited, never.Visited)
	require.Equal(t, all.Visited, all.Fired)
	require.Empty(t, all.Never)
}

// TestBehaviours: two CPUs that share nothing have one behaviour, however many
// schedules there are. Two that count in one place have more.
func TestBehaviours(t *testing.T) {
	const runs = 20_000 / searchtest.Slow
	apart := searchtest.Load(t, `
machine(cpus = 2)
f = text("f", "90 90 90 90 90 90 90 90 c3")
task(cpu = 0, ops = [call(f)])
task(cpu = 1, ops = [call(f)])
`)
	res, err := Run(Spec{Scenario: apart, Runs: runs, Strategy: "random"})
	require.NoError(t, err)
	require.Greater(t, res.Stats.Sampled, uint64(20))
	few := res.Stats.Behaviours
	require.Equal(t, uint64(1), few)
	require.Zero(t, res.Stats.New.Estimate)

	res, err = Run(Spec{Scenario: searchtest.Load(t, twoCounters), Runs: runs, Strategy: "random"})
	require.NoError(t, err)
	require.Greater(t, res.Stats.Behaviours, few)
}

// twoCounters: two CPUs load and store one word, which isn't known to be shared
// until both have.
const twoCounters = `
machine(cpus = 2)
d = data("d", "0000000000000000")
f = text("f", "488b07 48ffc0 488907 488b07 48ffc0 488907 c3")
task(cpu = 0, ops = [call(f, d, changed = True), call(f, d, changed = True)])
task(cpu = 1, ops = [call(f, d, changed = True), call(f, d, changed = True)])
`

// probed: whether the probe is hit depends on which task comes first.
const probed = `
machine(cpus = 2)
f = text("f", "90 90 90 c3")
k = kprobe("k", at = f, pre = [count()])
task(cpu = 0, ops = [register(k)])
task(cpu = 1, ops = [call(f)], repeat = 2)
`

// TestAnswersCount: runs that differ in what a fetch was answered, and in nothing
// else, are two behaviours.
func TestAnswersCount(t *testing.T) {
	rig, err := rig.New(searchtest.Load(t, ticking), "")
	require.NoError(t, err)
	defer rig.Close()
	var hash [2]uint64
	for pick := range hash {
		w := watcher{rig: rig, chooser: picks(pick)}
		got, hold := w.Choose(&sim.Point{Kind: sim.Fetch, N: 2})
		require.Equal(t, [2]int{pick, 0}, [2]int{got, hold})
		w.happens.Stepped(0, nil)
		hash[pick], _ = w.happens.Hash()
	}
	require.NotEqual(t, hash[0], hash[1])
}

// picks answers everything alike, and wants to hold it.
type picks int

func (p picks) Choose(*sim.Point) (pick, hold int) { return int(p), 10 }

// TestStatsDontDependOnWorkers: nor on what a machine has learnt, in the shards it
// made before, of what is shared.
func TestStatsDontDependOnWorkers(t *testing.T) {
	for _, c := range []struct {
		source string
		runs   uint64
	}{
		{twoCounters, 2_000}, {ticking, 2_000},
		{ticking, 16}, {probed, 16}, // few enough for a shard not to see all that another does
	} {
		var want *Result
		for _, workers := range []int{1, 2, 7, 16} {
			procs := runtime.GOMAXPROCS(1 + workers%2)
			res, err := Run(Spec{Scenario: searchtest.Load(t, c.source), Runs: c.runs, Strategy: "random",
				Workers: workers})
			runtime.GOMAXPROCS(procs)
			require.NoError(t, err)
			if want == nil {
				want = res
			}
			if c.source == probed {
				hit := func(p Part) bool { return p.Probes[0].Hit }
				require.True(t, slices.ContainsFunc(res.Parts, hit))
				require.True(t, slices.ContainsFunc(res.Parts, func(p Part) bool { return !hit(p) }))
			}
			require.Equal(t, want.Stats, res.Stats)
			require.Equal(t, want.Parts, res.Parts)
		}
	}
}

// TestSampling: which runs are observed changes nothing that is found in them,
// and is no regular pattern that a strategy's turns could fall into.
func TestSampling(t *testing.T) {
	sc, err := library.Load("second-instruction")
	require.NoError(t, err)
	spec := Spec{Scenario: sc, Runs: 1_500}
	with, err := Run(spec)
	require.NoError(t, err)
	spec.Blind = true
	without, err := Run(spec)
	require.NoError(t, err)
	require.NotZero(t, with.Stats.Sampled)
	require.Zero(t, without.Stats.Sampled)
	require.Equal(t, without.Counts.Points, with.Counts.Points)
	require.Equal(t, without.Violations, with.Violations)
	require.Equal(t, without.First, with.First)

	for _, turns := range []uint64{5, 6, 16, 96} {
		hits := make([]int, turns)
		for i := range uint64(200_000) {
			if sim.Mix(i+1)%sampledOf(200_000) == 0 {
				hits[i%turns]++
			}
		}
		require.NotZero(t, slices.Min(hits), "%d turns", turns)
	}
}

// TestWatcherForgets: what a rig has seen for one shard isn't the next one's.
func TestWatcherForgets(t *testing.T) {
	rig, err := rig.New(searchtest.Load(t, probed), "")
	require.NoError(t, err)
	defer rig.Close()
	rig.Run(new(sched.Default))
	require.True(t, rig.Log.Seen(smpev.Exit))
	require.True(t, rig.Census.Probed()[0].Registered)
	var w watcher
	w.begin(rig, &Spec{Runs: 1})
	require.False(t, rig.Log.Seen(smpev.Exit))
	require.False(t, rig.Census.Probed()[0].Registered)
}
