package overhead

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp/cycles"
)

func pauses(t *testing.T, c PauseConfig) *Pauses {
	t.Helper()
	p, err := c.Measure()
	require.NoError(t, err)
	return p
}

func cyclesOf(p *cycles.Profile, list ...cycles.Event) (sum float64) {
	for _, e := range list {
		sum += float64(p[e]) / cycles.Unit
	}
	return sum
}

// The shortest sync_core is the sending of IPIs, an interrupt's delivery, a look at the call's number and a
// serialising instruction, on however many CPUs; the shortest interrupt says so, and ends
// in an IRET besides. All are of the profile that they are measured by.
func TestSyncPauses(t *testing.T) {
	dear := *cycles.Nominal()
	dear[cycles.Trap] *= 3
	dear[cycles.SyncCore] *= 5
	dear[cycles.SendIPI] *= 7
	for _, costs := range []*cycles.Profile{cycles.Nominal(), &dear} {
		for _, cpus := range []int{2, 4} {
			p := pauses(t, PauseConfig{CPUs: cpus, Patch: "breakpoint", Preempt: "none", Calls: 2, Schedule: Timed,
				Runs: 10,
				Seed: 1, Costs: costs})
			answer := cyclesOf(costs, cycles.Trap, cycles.Line, cycles.SyncCore)
			// no more than what is under way ends first
			shortest := answer + cyclesOf(costs, cycles.SendIPI)
			require.InDelta(t, shortest, slices.Min(p.Sync.Cycles), cyclesOf(costs, cycles.Point))
			require.GreaterOrEqual(t, slices.Min(p.Sync.Cycles), shortest)
			ends := answer + cyclesOf(costs, cycles.Iret) // the CPU may have the line that answers are counted in
			require.InDelta(t, ends, slices.Min(p.SyncAnswer.Cycles), cyclesOf(costs, cycles.Line))
			require.GreaterOrEqual(t, slices.Min(p.SyncAnswer.Cycles), ends)
			require.Greater(t, p.Sync.Max, shortest, "no CPU was in a trap, interrupts off")
			require.Equal(t, p.Sync.N*(cpus-1), p.SyncAnswer.N)
			// One for the breakpoint, three for the jump, and three on the way back.
			require.Equal(t, 7*10, p.Sync.N)
			require.Zero(t, p.Stopped.N)
			require.Equal(t, 10, p.Register.N)
		}
	}
}

// stop_machine keeps each caller once a run, and while it does the jump is written.
func TestStopPauses(t *testing.T) {
	for _, cpus := range []int{2, 4} {
		c := PauseConfig{CPUs: cpus, Patch: "stop_machine", Preempt: "none", Calls: 2, Schedule: Timed, Runs: 10,
			Seed: 1}
		p := pauses(t, c)
		require.Equal(t, 10*(cpus-1), p.Stopped.N)
		require.InEpsilon(t, p.StopEnds.Mean, p.StopArrives.Mean+p.Stopped.Mean, 1e-9)
		require.GreaterOrEqual(t, slices.Min(p.StopArrives.Cycles), cyclesOf(cycles.Nominal(), cycles.Switch))
		require.GreaterOrEqual(t, slices.Min(p.Stopped.Cycles),
			cyclesOf(cycles.Nominal(), cycles.SyncCore, cycles.Switch))
		require.Greater(t, p.Optimizer.Mean, p.StopArrives.Mean)
		for i := range p.Register.Cycles {
			require.Greater(t, p.Register.Cycles[i], p.Optimizer.Cycles[i])
		}

		// Where a caller gives its CPU up ten times as rarely, it comes later.
		c.Calls = 20
		require.Greater(t, pauses(t, c).StopArrives.Max, p.StopArrives.Max)
		c.Preempt = "full" // and there it doesn't have to be
		require.Less(t, pauses(t, c).StopArrives.Max, 2000.0)
	}
}

// The same seed gives the same pauses, another others; and so do the strategies.
func TestPausesAreSeeded(t *testing.T) {
	for _, schedule := range []string{Timed, Sticky} {
		c := PauseConfig{CPUs: 3, Patch: "breakpoint", Preempt: "none", Calls: 3, Schedule: schedule, Runs: 10, Seed: 1}
		p := pauses(t, c)
		require.Equal(t, p, pauses(t, c))
		c.Seed = 2
		require.NotEqual(t, p.Register.Cycles, pauses(t, c).Register.Cycles)
	}
}

// The largest machine finishes, too.
func TestPausesOfMany(t *testing.T) {
	p := pauses(t, PauseConfig{CPUs: sim.MaxCPUs, Patch: "breakpoint", Preempt: "none", Calls: 1, Schedule: Timed,
		Runs: 1,
		Seed: 1})
	require.Equal(t, 7*(sim.MaxCPUs-1), p.SyncAnswer.N)
}

func TestPauseErrors(t *testing.T) {
	good := PauseConfig{CPUs: 2, Patch: "breakpoint", Preempt: "none", Calls: 1, Schedule: Timed, Runs: 1}
	for want, change := range map[string]func(c *PauseConfig){
		"1 CPUs: pauses take 2 to 64":          func(c *PauseConfig) { c.CPUs = 1 },
		"65 CPUs":                              func(c *PauseConfig) { c.CPUs = 65 },
		"0 runs of 1 calls":                    func(c *PauseConfig) { c.Runs = 0 },
		"no schedules are called \"x\"; there": func(c *PauseConfig) { c.Schedule = "x" },
		"patch":                                func(c *PauseConfig) { c.Patch = "x" },
		"preempt":                              func(c *PauseConfig) { c.Preempt = "x" },
	} {
		c := good
		change(&c)
		_, err := c.Measure()
		require.ErrorContains(t, err, want)
	}
}
