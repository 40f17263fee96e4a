package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/cycles"
)

// What has a lock, or a list, that all CPUs store to makes no more hits on many CPUs than
// on two, and fewer the more wait for the lock. What each CPU has of its own makes as
// many more as there are CPUs, each at the cost of one.
func TestScale(t *testing.T) {
	cpus := thorough.Of([]int{1, 2, 4, 8, 16}, []int{1, 2, 4, 8, 16, 32, 64})
	returns := Probes(false)[2]
	require.Equal(t, "r", returns.Name)
	at := func(p Probe, edition string, cpus []int) []Scaled {
		list, err := p.Scale(cpus, edition, nil)
		require.NoError(t, err, p.Name)
		require.Len(t, list, len(cpus))
		one, err := p.Scale(cpus[:1], edition, &cycles.Profile{cycles.Line: cycles.Nominal()[cycles.Line]})
		require.NoError(t, err)
		require.Zero(t, one[0].Cycles, "one CPU alone pays for a line")
		return list
	}
	for name, edition := range map[string]string{
		"global lock":  "",
		"hashed locks": `edition = "4.15", optprobes = False, ftrace = False`, // and one for the free instances
		"list":         `edition = "5.14", optprobes = False, ftrace = False`,
		"rethook":      `edition = "6.5", optprobes = False, ftrace = False`,
	} {
		list := at(returns, edition, cpus)
		for i := 2; i < len(list); i++ {
			require.LessOrEqual(t, list[i].Rate, 1.1*list[i-1].Rate, "%s on %d CPUs", name, cpus[i])
		}
		last := list[len(list)-1].Rate
		require.Less(t, last, list[0].Rate, name)
		if name == "global lock" || name == "hashed locks" {
			require.Less(t, last, list[0].Rate/2, "%s: who waits for it keeps it from who has it", name)
		}
	}
	free := append(Probes(true)[:3], returns)
	for i, p := range free {
		edition := ""
		if i == 3 {
			edition = `edition = "6.9", optprobes = False, ftrace = False` // a pool for each CPU
		}
		list := at(p, edition, cpus[:5])
		for i, s := range list {
			one := list[0]
			require.InEpsilon(t, one.Cycles, s.Cycles, 2.0/counted, p.Name) // calls under way at either end
			require.InEpsilon(t, float64(cpus[i])*one.Rate, s.Rate, 2.0/counted, p.Name)
		}
	}
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
