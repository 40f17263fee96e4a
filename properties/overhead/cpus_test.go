package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/cycles"
)

// What has no lock costs each CPU the same however many there are; what has one lock
// costs more when that is busy all the time, and no more hits are made then; what has a
// lock for each task again the same.
func TestScale(t *testing.T) {
	at := func(p Probe, edition string, cpus ...int) []Scaled {
		list, err := p.Scale(cpus, edition, nil)
		require.NoError(t, err, p.Name)
		return list
	}
	returns := Probes(false)[2]
	require.Equal(t, "r", returns.Name)
	global := at(returns, "", 1, 4, 16, 32)
	require.InDelta(t, global[0].Cycles, global[1].Cycles, 1e-6, "nobody waits yet")
	require.Greater(t, global[2].Cycles, 2*global[0].Cycles)
	require.InEpsilon(t, global[2].Rate, global[3].Rate, 0.01, "the lock is busy")
	for _, edition := range []string{`edition = "4.15", optprobes = False, ftrace = False`, `edition = "6.9", optprobes = False, ftrace = False`} {
		free := at(returns, edition, 1, 16)
		require.InEpsilon(t, free[0].Cycles, free[1].Cycles, 0.15, edition)
		require.InEpsilon(t, 16*free[0].Rate, free[1].Rate, 0.15, edition)
	}
	for _, p := range Probes(true)[:3] {
		list := at(p, "", 1, 8)
		require.InDelta(t, list[0].Cycles, list[1].Cycles, 1e-6, p.Name)
	}
	require.Greater(t, at(returns, "", sim.MaxCPUs)[0].Cycles, global[3].Cycles)
	none, err := returns.Scale([]int{2}, "", new(cycles.Profile))
	require.NoError(t, err)
	require.Equal(t, []Scaled{{CPUs: 2}}, none, "nothing costs anything")
	_, err = returns.Scale([]int{sim.MaxCPUs + 1}, "", nil)
	require.ErrorContains(t, err, "a machine has 1 to 64")
}

const benchHits = 200

// BenchmarkHit is what a simulated hit costs of real time, its call too.
func BenchmarkHit(b *testing.B) {
	for _, p := range Probes(true) {
		b.Run(p.Name, func(b *testing.B) {
			sc, err := p.Scenario(benchHits, true)
			require.NoError(b, err)
			r, err := newRunner(sc, nil)
			require.NoError(b, err)
			defer r.Close()
			for b.Loop() {
				_, _, err := r.run(new(sched.Default))
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchHits), "ns/hit")
		})
	}
}
