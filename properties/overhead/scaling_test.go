package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// 64 chains: of 129 probes two are in the mean one's way, itself counted. The kernel's
// hash shares real addresses out no worse than at random.
func TestNodesVisited(t *testing.T) {
	for n, want := range map[int]float64{1: 1, 2: 1 + 1.0/128, 129: 2, 10_000: 79.1171875, 100_000: 782.2421875} {
		require.Equal(t, want, NodesVisited(n))
		p, err := ScaleProbes(testHit(), NominalCache, n)
		require.NoError(t, err)
		require.Equal(t, want, p.Nodes)
		if n >= 10_000 {
			require.InEpsilon(t, want, p.Hashed, 0.01)
			require.Less(t, p.Longest, n/Chains*3/2)
		}
	}
	p, err := ScaleProbes(testHit(), NominalCache, 1)
	require.NoError(t, err)
	require.Equal(t, 1.0, p.Hashed)
	require.Equal(t, 1, p.Longest)
	require.Equal(t, "model, not simulated", p.Provenance)
	_, err = ScaleProbes(testHit(), NominalCache, 0)
	require.ErrorContains(t, err, "0 probes")
}

// hash_64 is a multiplication by 2^64/phi's odd neighbour, and the upper bits of that.
func TestHashPtr(t *testing.T) {
	require.Equal(t, uint64(0), hashPtr(0))
	require.Equal(t, uint64(0x61c8864680b583eb)>>58, hashPtr(1))
	for addr := range uint64(1000) {
		require.Less(t, hashPtr(addr*0xfedcba987), uint64(Chains))
	}
}

// By hand: 512 nodes are as much as L1 holds, twice as many are found there half of the
// time, and of twice what L2 holds 1/384 is in L1, half in L2 or there.
func TestNodeCycles(t *testing.T) {
	c := NominalCache
	require.Equal(t, 4.0, c.node(1))
	require.Equal(t, 4.0, c.node(512))
	require.Equal(t, 9.0, c.node(1024))
	require.InDelta(t, 4.0/384+14*(0.5-1.0/384)+200*0.5, c.node(2*6<<20/64), 1e-9)
}

// One probe costs what was measured, more never less; and a hit that looks nothing up, of
// a detour, always the same.
func TestScaleProbes(t *testing.T) {
	for _, probe := range Probes(true) {
		h, err := probe.Measure(nil)
		require.NoError(t, err)
		one, err := ScaleProbes(&h, NominalCache, 1)
		require.NoError(t, err)
		require.Equal(t, h.Cycles, one.OneHitCycles)
		require.Equal(t, h.Cycles, one.AllHitCycles)
		many, err := ScaleProbes(&h, NominalCache, 100_000)
		require.NoError(t, err)
		lookups := h.Events[cycles.Work(kapi.WorkLookup)]
		require.Equal(t, map[bool]float64{true: 0, false: 1}[probe.Name == "o" || probe.Name == "ro"], lookups, probe.Name)
		require.InDelta(t, h.Cycles+lookups*(many.Nodes-1)*many.OneNodeCycles, many.OneHitCycles, 1e-9)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 99_999).Draw(t, "probes")
		p, err := ScaleProbes(testHit(), NominalCache, n)
		require.NoError(t, err)
		q, err := ScaleProbes(testHit(), NominalCache, n+1)
		require.NoError(t, err)
		require.Less(t, p.OneHitCycles, q.OneHitCycles)
		require.Less(t, p.AllHitCycles, q.AllHitCycles)
		require.LessOrEqual(t, p.OneHitCycles, p.AllHitCycles)
	})
}

func overlap(t *testing.T, c OverlapConfig) *Overlap {
	t.Helper()
	o, err := c.Measure()
	require.NoError(t, err)
	return o
}

// What the events say is what nmissed says. None is
// missed while there are no more than maxactive, and some are of which there are more.
func TestOverlap(t *testing.T) {
	for _, edition := range []string{"2.6", "4.15", "5.14", "6.5", "6.9"} {
		for _, schedule := range []string{Timed, Sticky} {
			for _, m := range []int{1, 2, 4} {
				o := overlap(t, OverlapConfig{Tasks: 4, Maxactive: m, Calls: 4, Edition: edition, Schedule: schedule, Runs: 20, Seed: 1})
				name := edition + " " + schedule
				require.Greater(t, o.Called, 4*20, name)
				called, missed, deep := 0, 0, 0
				for i, d := range o.Entered {
					require.Equal(t, i+1, d.Overlapping)
					called += d.Called
					missed += d.Missed
					if d.Overlapping > m {
						deep += d.Missed
					} else {
						require.Zero(t, d.Missed, "%s: maxactive %d, %d calls", name, m, d.Overlapping)
					}
				}
				require.Equal(t, o.Missed, missed, name)
				require.Equal(t, o.Called, called, name)
				require.Equal(t, m < 4, deep > 0, "%s: maxactive %d", name, m)
				require.InDelta(t, float64(missed)/float64(called), o.Share, 1e-12)
			}
		}
	}
}

// One task misses nothing, more tasks miss more, and the same seed the same.
func TestOverlapGrows(t *testing.T) {
	last := -1.0
	for _, tasks := range []int{1, 2, 5, 12} {
		c := OverlapConfig{Tasks: tasks, Maxactive: 1, Calls: 4, Edition: "6.5", Schedule: Timed, Runs: 10, Seed: 1}
		o := overlap(t, c)
		require.Greater(t, o.Share, last)
		last = o.Share
		if tasks == 1 {
			require.Zero(t, o.Missed)
			continue
		}
		require.Equal(t, o, overlap(t, c))
		if c.Seed = 2; tasks > 2 {
			require.NotEqual(t, o.Entered, overlap(t, c).Entered)
		}
	}
}

// The largest machine comes to its end, too.
func TestOverlapOfMany(t *testing.T) {
	o := overlap(t, OverlapConfig{Tasks: sim.MaxCPUs, Maxactive: sim.MaxCPUs, Calls: 1, Edition: "6.9", Schedule: Timed, Runs: 1, Seed: 1})
	require.Greater(t, o.Called, sim.MaxCPUs)
	require.Zero(t, o.Missed)
}

func TestOverlapErrors(t *testing.T) {
	good := OverlapConfig{Tasks: 2, Maxactive: 1, Calls: 1, Edition: "6.5", Schedule: Timed, Runs: 1}
	for want, change := range map[string]func(c *OverlapConfig){
		"0 tasks: calls overlap on 1 to 64 CPUs": func(c *OverlapConfig) { c.Tasks = 0 },
		"65 tasks":                               func(c *OverlapConfig) { c.Tasks = sim.MaxCPUs + 1 },
		"maxactive 0":                            func(c *OverlapConfig) { c.Maxactive = 0 },
		"0 runs of 1 calls":                      func(c *OverlapConfig) { c.Runs = 0 },
		"1 runs of 0 calls":                      func(c *OverlapConfig) { c.Calls = 0 },
		"no schedules are called \"x\"":          func(c *OverlapConfig) { c.Schedule = "x" },
		"edition":                                func(c *OverlapConfig) { c.Edition = "x" },
	} {
		c := good
		change(&c)
		_, err := c.Measure()
		require.ErrorContains(t, err, want)
	}
}
