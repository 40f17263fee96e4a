package rig_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/searchtest"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// runsOf runs a scenario under drawn schedules, and has each looked at.
func runsOf(t *testing.T, sc *scenario.Scenario, mutant string, runs uint64, look func(r *rig.Rig, run rig.Run, lines []string)) {
	t.Helper()
	r, err := rig.New(sc, mutant)
	require.NoError(t, err)
	defer r.Close()
	r.Log.Keep = true
	l := sched.NewSticky(sched.Params{Seed: 1, Mean: 40})
	var tally rig.Tally
	tally.Listen(r)
	for i := range runs {
		tally.Lines = nil
		l.Begin(i)
		look(r, r.Run(l), tally.Lines)
	}
}

// TestNoHZ: a tick comes to an idle CPU, and under nohz only if a task waits for it.
func TestNoHZ(t *testing.T) {
	for _, nohz := range []bool{false, true} {
		sc := searchtest.Load(t, `
machine(cpus = 2)
f = text("f", "55 4889e5 53 5b 5d c3")
task(cpu = 0, ops = [call(f), signal()], repeat = 3)
task(cpu = 1, ops = [wait_signal(), call(f)])
timer(cpu = 1, at_most = 5, idle = True)
`)
		sc.Machine.NoHZ = nohz
		idle, busy := 0, 0
		runsOf(t, sc, "", 200, func(r *rig.Rig, _ rig.Run, _ []string) {
			wants := map[uint64]bool{}
			for i := range r.Log.Events {
				switch e := &r.Log.Events[i]; {
				case e.Kind == smpev.Wake:
					wants[e.A] = true
				case e.Kind == smpev.Switch && e.CPU == 1 && e.B == 1:
					clear(wants)
				case e.Kind != smpev.Trap || e.A != smpev.VecTimer:
				case r.Machine.Tasks()[e.Task].Idle() && len(wants) == 0 && i > 0 && slept(r.Log.Events[:i]):
					idle++
				default:
					busy++
				}
			}
		})
		require.NotZero(t, busy)
		require.Equal(t, nohz, idle == 0, "%d ticks of an idle CPU", idle)
	}
}

// slept reports whether CPU 1 has given up a task for its idle loop last.
func slept(events []traces.Event) bool {
	for i := len(events) - 1; i >= 0; i-- {
		if e := &events[i]; e.Kind == smpev.Wake && e.CPU == 1 || e.Kind == smpev.Switch && e.CPU == 1 {
			return e.Kind == smpev.Switch && e.B == 1
		}
	}
	return false
}

// TestStallCostsNothing: without a stall a run is the same, and without a tick of an idle
// CPU one under nohz is.
func TestStallCostsNothing(t *testing.T) {
	digests := func(nohz bool, stall int) (list []uint64) {
		sc, err := library.Load("stall-loop")
		require.NoError(t, err)
		sc.Machine.NoHZ, sc.Machine.Stall = nohz, stall
		runsOf(t, sc, "", 50, func(r *rig.Rig, _ rig.Run, _ []string) { list = append(list, r.Log.Digest()) })
		return list
	}
	without := digests(false, 0)
	require.Equal(t, without, digests(true, 0))
	require.Equal(t, without, digests(true, scenario.MaxStall))
}

// TestStallReports: what the kernel prints of a grace period that doesn't end, by what it
// waits for.
func TestStallReports(t *testing.T) {
	loop := func(machine string) *scenario.Scenario {
		sc := searchtest.Load(t, `
machine(cpus = 3, `+machine+`, patch = "breakpoint", stall = 1000)
f = text("f", "55 4889e5 53 5b 5d c3")
loop = text("loop", "b9dc050000 ffc9 75fc c3", at = 0xffffffff81000100)
k = kprobe("k", at = f)
task("prober", cpu = 0, ops = [register(k), wait_optimized()])
task("caller", cpu = 1, ops = [call(loop)])
task("other", cpu = 2, ops = [call(loop)])
timer(cpu = 1, at_most = 2)
timer(cpu = 2)
`)
		return sc
	}
	for _, c := range []struct {
		machine, begins, names string
	}{
		{`preempt = "none", quiesce = "sched"`, "rcu: INFO: rcu_sched self-detected stall on CPU: ", "cpu1"},
		{`preempt = "none", quiesce = "rcu"`, "rcu: INFO: rcu_sched detected stalls on CPUs/tasks: ", "cpu2"},
		{`preempt = "full", quiesce = "tasks"`, "INFO: rcu_tasks detected stalls on tasks: ", "task caller"},
	} {
		reports, right := 0, 0
		runsOf(t, loop(c.machine), "", 3000, func(r *rig.Rig, run rig.Run, lines []string) {
			for _, l := range lines {
				reports++
				require.Equal(t, "P5", run.Property.ID)
				if strings.HasPrefix(l, c.begins) && strings.Contains(l, c.names) {
					right++
				}
			}
		})
		require.NotZero(t, right, "%s: %d reports", c.machine, reports)
	}
}

// TestStallIsFair: a CPU that could go on, and isn't let, holds time up: however long the
// others run, nothing stalls.
func TestStallIsFair(t *testing.T) {
	sc, err := library.Load("stall-loop")
	require.NoError(t, err)
	sc.Tasks = append(sc.Tasks, sc.Tasks[1])
	sc.Tasks[2].Name, sc.Tasks[2].CPU = "held", 2
	sc.Machine.CPUs = 3
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	held, ticks := uint64(0), 0
	r.Run(chooser(func(p *sim.Point) int {
		if p.Kind != sim.Step {
			return 0
		}
		for i := range p.N { // a tick as soon as there is one, and CPU 2 never but for its first step
			switch mv := p.Mover(i); {
			case mv >= sim.MoverSource && held > 1000:
				ticks++
				return i
			case mv == 2 && held < 3:
				held++
				return i
			}
		}
		held++
		for i := range p.N {
			if mv := p.Mover(i); mv < sim.MoverIPI && mv != 2 || mv >= sim.MoverIPI && mv < sim.MoverSource {
				return i
			}
		}
		return 0
	}))
	for i := range r.Log.Events {
		require.NotEqual(t, smpev.GPStall, r.Log.Events[i].Kind)
	}
}

// A chooser answers by a function.
type chooser func(p *sim.Point) int

// Choose implements sim.Chooser.
func (c chooser) Choose(p *sim.Point) (pick, hold int) { return c(p), 0 }
