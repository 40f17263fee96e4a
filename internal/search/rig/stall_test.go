package rig_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// runsOf runs a scenario under drawn schedules, and has each looked at.
func runsOf(t *testing.T, sc *scenario.Scenario, mutant string, runs uint64, sink traces.Sink,
	look func(r *rig.Rig, run rig.Run, lines []string)) {
	t.Helper()
	r, err := rig.New(sc, mutant)
	require.NoError(t, err)
	defer r.Close()
	if sink != nil {
		r.Log.Subscribe(sink, smpev.Trap)
	}
	l := sched.NewSticky(sched.Params{Seed: 1, Mean: 40})
	var tally rig.Tally
	tally.Listen(r)
	for i := range runs {
		tally.Lines = nil
		l.Begin(i)
		look(r, r.Run(l), tally.Lines)
	}
}

// A ticks counts the ticks of a CPU in its idle loop, and the others.
type ticks struct{ idle, busy int }

// Event implements traces.Sink.
func (n *ticks) Event(e *traces.Event) *traces.Finding {
	switch {
	case e.Kind != smpev.Trap || e.A != smpev.VecTimer:
	case e.Task == e.CPU: // the first tasks are the idle loops
		n.idle++
	default:
		n.busy++
	}
	return nil
}

// TestNoHZ: a tick comes to an idle CPU, and under nohz not if nothing is to run there.
func TestNoHZ(t *testing.T) {
	for _, nohz := range []bool{false, true} {
		sc := searchtest.Load(t, `
machine(cpus = 3)
f = text("f", "55 4889e5 53 5b 5d c3")
task(cpu = 0, ops = [call(f)], repeat = 3)
timer(cpu = 0, at_most = 5)
timer(cpu = 2, at_most = 5, idle = True)
`)
		sc.Machine.NoHZ = nohz
		var n ticks
		runsOf(t, sc, "", 200, &n, func(*rig.Rig, rig.Run, []string) {})
		require.NotZero(t, n.busy)
		require.Equal(t, nohz, n.idle == 0, "%d ticks of an idle CPU", n.idle)

		// One that a task waits for has its tick.
		sc.Tasks = append(sc.Tasks, sc.Tasks[0])
		sc.Tasks[1].Name, sc.Tasks[1].CPU = "other", 2
		n = ticks{}
		runsOf(t, sc, "", 200, &n, func(*rig.Rig, rig.Run, []string) {})
		require.NotZero(t, n.idle)
	}
}

// TestStallCostsNothing: without a stall a run is the same, and without a tick of an idle
// CPU one under nohz is.
func TestStallCostsNothing(t *testing.T) {
	digests := func(nohz bool, stall int) (list []uint64) {
		sc, err := library.Load("stall-loop")
		require.NoError(t, err)
		sc.Machine.NoHZ, sc.Machine.Stall = nohz, stall
		runsOf(t, sc, "", 50, nil, func(r *rig.Rig, _ rig.Run, _ []string) { list = append(list, r.Log.Digest()) })
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
timer(cpu = 1, at_most = 100)
timer(cpu = 2, at_most = 100)
`)
		return sc
	}
	for _, c := range []struct {
		machine, begins, names string
	}{
		{`preempt = "none", quiesce = "sched"`, "rcu: INFO: rcu_sched self-detected stall on CPU: ", "cpu1"},
		{`preempt = "none", quiesce = "rcu"`, "rcu: INFO: rcu_sched self-detected stall on CPU: ", "cpu2"},
		{`preempt = "full", quiesce = "tasks"`, "INFO: rcu_tasks detected stalls on tasks: ", "task caller"},
	} {
		reports, right := 0, 0
		runsOf(t, loop(c.machine), "", 300, nil, func(r *rig.Rig, run rig.Run, lines []string) {
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
	sc := searchtest.Load(t, `
machine(cpus = 3, preempt = "none", quiesce = "sched", patch = "breakpoint", stall = 1000)
f = text("f", "55 4889e5 53 5b 5d c3")
k = kprobe("k", at = f)
task("prober", cpu = 0, ops = [register(k), wait_optimized()])
task("caller", cpu = 1, ops = [call(f), schedule()], repeat = 100)
task("held", cpu = 2, ops = [call(f)])
timer(cpu = 1, at_most = 50)
`)
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	var n ticks
	r.Log.Subscribe(&n, smpev.Trap)
	steps, spent := 0, sim.Time(0)
	run := r.Run(chooser(func(p *sim.Point) int {
		if p.Kind != sim.Step {
			return 0
		}
		best := 0
		for i := range p.N {
			switch mv := p.Mover(i); {
			case mv == 2 && steps < 3: // it has begun
				steps++
				return i
			// a tick where there may be one
			case mv >= sim.MoverSource && p.N > 2 && r.Machine.Clocks().Spent(1) > 5000:
				spent = r.Machine.Clocks().Spent(1)
				return i
			case p.Mover(best) == 2 && mv != 2:
				best = i
			}
		}
		return best
	}))
	require.Nil(t, run.Property)
	require.NotZero(t, n.busy)
	require.Greater(t, spent, sim.Time(5000))
}

// A chooser answers by a function.
type chooser func(p *sim.Point) int

// Choose implements sim.Chooser.
func (c chooser) Choose(p *sim.Point) (pick, hold int) { return c(p), 0 }
