package overhead

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
)

// chainOf is hash_ptr of 64 bits (include/linux/hash.h): the shifts of 4.6 and before,
// or the multiplication since.
func chainOf(at arch.Addr, old bool) uint64 {
	h := uint64(at)
	if !old {
		h *= 0x61c8864680b583eb
		return h >> 58
	}
	h += h<<63 + h<<61 - h<<57 + h<<54 - h<<51 - h<<18
	return h >> 58
}

// walks returns how many nodes a lookup of each address looks at, when they were put in
// one after the other.
func walks(list []arch.Addr, old bool) []int {
	nodes := make([]int, len(list))
	var newer [Chains]int
	for i := len(list) - 1; i >= 0; i-- {
		h := chainOf(list[i], old)
		newer[h]++
		nodes[i] = newer[h]
	}
	return nodes
}

// A hit looks at as many nodes as its chain has from the newest to its own, counted with
// the kernel's hash; and takes as much longer as they cost.
func TestScaleProbes(t *testing.T) {
	for _, p := range slices.Concat(Probes(false)[:1], Probes(true)[:2], Probes(true)[3:5]) {
		t.Run(p.Name+" "+p.Machine, func(t *testing.T) {
			h, err := p.Measure(nil)
			require.NoError(t, err)
			require.Equal(t, 1.0, h.Events[lookupEvent])
			for _, n := range []int{1, 2, 10, 129, 1000} {
				s, err := p.ScaleProbes(n, nil, NominalCache)
				require.NoError(t, err)
				require.Equal(t, ProbesSimulated, s.Provenance)
				want := walks(places(n), p.Machine == old)
				require.Equal(t, float64(want[n/2]), s.OneNodes, n)
				require.Equal(t, slices.Max(want), s.Longest, n)
				sum := 0
				for _, w := range want {
					sum += w
				}
				require.InDelta(t, float64(sum)/float64(n), s.AllNodes, 1e-9, n)
				require.InDelta(t, h.Cycles+(s.OneNodes-1)*s.OneNodeCycles, s.OneHitCycles, 1e-9, n)
				more := (s.AllNodeCycles - nodePrice(nil)) * s.AllNodes
				require.InDelta(t, h.Cycles+(s.AllNodes-1)*nodePrice(nil)+more, s.AllHitCycles, 1e-6, n)
			}
		})
	}
}

// A crowd of one is what a scenario measures, of all probes, whatever things cost; and a
// hit of a detour, that looks nothing up, is the same in any crowd.
func TestCrowdOfOne(t *testing.T) {
	o := fitted(t)
	for _, m := range []*Machine{&Machines[0], &Machines[4]} {
		costs, err := o.Profile(m, Calibrated)
		require.NoError(t, err)
		for _, p := range Probes(m.Detours()) {
			h, err := p.Measure(costs)
			require.NoError(t, err)
			for _, n := range []int{1, 100} {
				c, err := newCrowd(&p, places(n), costs)
				require.NoError(t, err)
				require.NoError(t, c.run())
				for _, e := range cycles.All() {
					if e != nodeEvent || n == 1 || p.Name == "o" || p.Name == "ro" {
						require.Equal(t, h.Events[e], c.one.Events[e], "%s: %v, of %d", p.Name, e, n)
					}
				}
				require.InDelta(t, h.Cycles+(c.one.Events[nodeEvent]-h.Events[nodeEvent])*nodePrice(costs),
					c.one.Cycles, 1e-6,
					"%s, of %d", p.Name, n)
			}
		}
	}
}

// The model is what is simulated, but for chance: 64 chains, of 129 probes two are in the
// mean one's way, itself counted.
func TestModelProbes(t *testing.T) {
	stepped := Probes(true)[0]
	for n, want := range map[int]float64{1: 1, 2: 1 + 1.0/128, 129: 2, 10_000: 79.1171875, 100_000: 782.2421875} {
		s, err := stepped.ModelProbes(n, nil, NominalCache)
		require.NoError(t, err)
		require.Equal(t, want, s.AllNodes)
		require.Equal(t, want, s.OneNodes)
		require.Equal(t, "model, not simulated", s.Provenance)
	}
	for i, p := range slices.Concat(Probes(false), Probes(true)) {
		if i%6 != 0 && !thorough.Set() {
			continue
		}
		const n = 4000
		s, err := p.ScaleProbes(n, nil, NominalCache)
		require.NoError(t, err)
		m, err := p.ModelProbes(n, nil, NominalCache)
		require.NoError(t, err)
		chance := 0.01
		if h, err := p.Measure(nil); err == nil && h.Events[lookupEvent] > 1 {
			chance = 0.15 // the same chain over and over, of 63 nodes or so
		}
		require.InEpsilon(t, 1+m.AllNodes, 1+s.AllNodes, chance, p.Name)
		require.InEpsilon(t, m.AllHitCycles, s.AllHitCycles, chance, p.Name)
		require.InEpsilon(t, m.OneHitCycles, s.OneHitCycles, 0.2, p.Name)
	}
	// L1 holds 512 nodes, L2 all others, which is 10 cycles farther.
	h, err := stepped.Measure(nil)
	require.NoError(t, err)
	m, err := stepped.ModelProbes(98_000, nil, NominalCache)
	require.NoError(t, err)
	require.InDelta(t, 10*(1-512/m.OneNodes), m.OneNodeCycles-nodePrice(nil), 1e-9)
	require.InDelta(t, 10*(1-512/98_000.0), m.AllNodeCycles-nodePrice(nil), 1e-9)
	require.InDelta(t, h.Cycles+(m.OneNodes-1)*m.OneNodeCycles+10*(1-512/m.OneNodes), m.OneHitCycles, 1e-6)
	require.InDelta(t, h.Cycles+(m.AllNodes-1)*m.AllNodeCycles+10*(1-512/98_000.0), m.AllHitCycles, 1e-6)

	one, err := stepped.ModelProbes(1, nil, NominalCache)
	require.NoError(t, err)
	s, err := stepped.ScaleProbes(1, nil, NominalCache)
	require.NoError(t, err)
	one.Provenance, one.Longest = s.Provenance, 1
	require.Equal(t, s, one)

	s, err = stepped.ScaleProbes(MostProbes, nil, NominalCache)
	require.NoError(t, err)
	most, err := stepped.ModelProbes(MostProbes, nil, NominalCache)
	require.NoError(t, err)
	require.Equal(t, ProbesSimulated, s.Provenance)
	require.InEpsilon(t, most.AllNodes, s.AllNodes, 0.001)
	require.InEpsilon(t, most.AllHitCycles, s.AllHitCycles, 0.001)
	s, err = stepped.ScaleProbes(MostProbes+1, nil, NominalCache)
	require.NoError(t, err)
	require.Equal(t, "model, not simulated", s.Provenance)
	for _, f := range []func(int, *cycles.Profile, Cache) (ProbesPoint, error){stepped.ScaleProbes,
		stepped.ModelProbes} {
		_, err = f(0, nil, NominalCache)
		require.ErrorContains(t, err, "0 probes")
	}
}

// The hash of 4.6 and before, of functions a page apart, leaves most chains empty.
func TestOldHash(t *testing.T) {
	pages := make([]arch.Addr, 640)
	for i := range pages {
		pages[i] = crowdBase + arch.Addr(4096*i)
	}
	for _, p := range []Probe{Probes(false)[0], Probes(true)[0]} {
		c, err := newCrowd(&p, pages, nil)
		require.NoError(t, err)
		require.NoError(t, c.run())
		require.Equal(t, slices.Max(walks(pages, p.Machine == old)), c.longest)
		require.Equal(t, p.Machine == old, c.longest > 100, "longest chain: %d", c.longest)
	}
}

// By hand: 512 nodes are as much as L1 holds, twice as many are found there half of the
// time, and of twice what L2 holds 1/384 is in L1, half in L2 or there.
func TestFarther(t *testing.T) {
	c := NominalCache
	require.Equal(t, 0.0, c.farther(0))
	require.Equal(t, 0.0, c.farther(1))
	require.Equal(t, 0.0, c.farther(512))
	require.Equal(t, 5.0, c.farther(1024))
	require.InDelta(t, 4.0/384+14*(0.5-1.0/384)+200*0.5-4, c.farther(2*6<<20/64), 1e-9)
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
				o := overlap(t, OverlapConfig{Tasks: 4, Maxactive: m, Calls: 4, Edition: edition, Schedule: schedule,
					Runs: 20,
					Seed: 1})
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

// The largest machine finishes, too.
func TestOverlapOfMany(t *testing.T) {
	o := overlap(t, OverlapConfig{Tasks: sim.MaxCPUs, Maxactive: sim.MaxCPUs, Calls: 1, Edition: "6.9", Schedule: Timed,
		Runs: 1, Seed: 1})
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
