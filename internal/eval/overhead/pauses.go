package overhead

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Spread describes the durations of many runs; quantiles and their intervals as in Summary.
type Spread struct {
	N      int       `json:"n"`
	Mean   float64   `json:"mean_cycles"`
	SD     float64   `json:"sd_cycles"` // 0 of fewer than two
	P50    float64   `json:"p50_cycles"`
	P90    float64   `json:"p90_cycles"`
	P99    float64   `json:"p99_cycles"`
	Max    float64   `json:"max_cycles"`
	At50   Interval  `json:"p50_interval_95"`
	At90   Interval  `json:"p90_interval_95"`
	At99   Interval  `json:"p99_interval_95"`
	Cycles []float64 `json:"-"` // all of them, in ascending order
}

// spread sums durations up; ends has their number at the end of each run.
func spread(list []float64, ends []int) Spread {
	s := Spread{N: len(list)}
	if s.N == 0 {
		return s
	}
	var runs [][]float64
	from := 0
	for _, to := range ends {
		runs = append(runs, slices.Sorted(slices.Values(list[from:to])))
		from = to
	}
	list = slices.Sorted(slices.Values(list))
	s.Cycles = list
	s.Mean = stat.Mean(list, nil)
	if s.N > 1 {
		s.SD = stat.StdDev(list, nil)
	}
	for _, q := range [...]struct {
		share  float64
		value  *float64
		within *Interval
	}{{0.5, &s.P50, &s.At50}, {0.9, &s.P90, &s.At90}, {0.99, &s.P99, &s.At99}} {
		m := quantileOf(list, runs, q.share)
		*q.value, *q.within = m.Value, m.Interval
	}
	s.Max = list[s.N-1]
	return s
}

// A PauseConfig describes the machine whose pauses are measured. Each CPU but CPU 0 calls a function over and over,
// and between calls does other work, which is longer on each further CPU. Meanwhile a probe on the function is
// registered, optimized and unregistered on CPU 0.
type PauseConfig struct {
	CPUs    int    `json:"cpus"`
	Patch   string `json:"patch"`   // "breakpoint" or "stop_machine", as in scenarios
	Preempt string `json:"preempt"` // "none", "voluntary", "full" or "lazy", likewise
	Calls   int    `json:"calls"`   // between two places where a caller gives its CPU up
	// Timed or Sticky: with Sticky the pauses are those of the strategy, not of the kernel
	Schedule string          `json:"schedule"`
	Runs     int             `json:"runs"`
	Seed     uint64          `json:"seed"`
	Costs    *cycles.Profile `json:"-"` // nil: nominal
}

// Pauses are how long CPUs and probes wait for each other. They exclude the 5 jiffies until the timer of delayed work
// fires, and the kernel's wait between two checks for the end of a grace period.
type Pauses struct {
	PauseConfig

	// stop_machine, for each CPU that it stops: from its request until the CPU is in its stopper,
	// from there until the CPU leaves it, and both.
	StopArrives Spread `json:"stop_machine_arrives"`
	Stopped     Spread `json:"stop_machine_stopped"`
	StopEnds    Spread `json:"stop_machine_request_to_end"`

	// sync_core: from when it begins to send its IPIs until the last CPU has serialised, and, for each of
	// those CPUs, from the interrupt until its end.
	Sync       Spread `json:"sync_core_request_to_last_answer"`
	SyncAnswer Spread `json:"sync_core_interrupt"`

	// From the call that registers the probe, and from the firing of the optimizer's timer, until the jump is
	// written.
	Register  Spread `json:"register_to_jump"`
	Optimizer Spread `json:"optimizer_to_jump"`
}

// Scenario returns the scenario to run.
func (c *PauseConfig) Scenario() (*scenario.Scenario, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "scenario(\"pauses\", says = \"A probe comes and goes while %d CPUs call its function.\")\n",
		c.CPUs-1)
	fmt.Fprintf(&b, "machine(cpus = %d, edition = "+
		"\"5.14\", fetch = \"coherent\", ftrace = False, patch = %q, preempt = "+
		"%q, steps = 50000000)\n", c.CPUs, c.Patch, c.Preempt)
	b.WriteString(probed + aKprobe)
	b.WriteString(elsewhere)
	b.WriteString("task(\"prober\", cpu = 0, ops = [register(k), wait_optimized(), unregister(k), wait_optimized()])\n")
	for cpu := 1; cpu < c.CPUs; cpu++ {
		fmt.Fprintf(&b, "task(\"caller%d\", cpu = %d, ops = [%s%sschedule()], repeat = 1000, background = True)\n",
			cpu, cpu, strings.Repeat("call(f), ", c.Calls), other(cpu))
	}
	b.WriteString("never()\n")
	return lang.Load("pauses.star", []byte(b.String()), nil)
}

// Measure draws the runs.
func (c PauseConfig) Measure() (*Pauses, error) {
	if c.CPUs < 2 || c.CPUs > sim.MaxCPUs {
		return nil, fmt.Errorf("%d CPUs: pauses take 2 to %d", c.CPUs, sim.MaxCPUs)
	}
	if c.Runs < 1 || c.Calls < 1 {
		return nil, fmt.Errorf("%d runs of %d calls: there is to be one at least", c.Runs, c.Calls)
	}
	sc, err := c.Scenario()
	if err != nil {
		return nil, err
	}
	rig, err := rig.New(sc, "")
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	rig.Machine.Clocks().Costs(c.Costs)

	length := rig.Run(new(sched.Default)).Counts.Points
	g := &gauge{m: rig.Machine, costs: c.Costs}
	if c.Costs == nil {
		g.costs = cycles.Nominal()
	}
	d, err := newDraws(rig, c.Schedule, sched.Params{Seed: c.Seed, Length: length}, g.event, gaugeKinds...)
	if err != nil {
		return nil, err
	}
	p := &Pauses{PauseConfig: c}
	lists := [...]struct {
		of   *[]float64
		into *Spread
	}{
		{&g.arrives, &p.StopArrives}, {&g.stopped, &p.Stopped}, {&g.stops, &p.StopEnds}, {&g.syncs, &p.Sync},
		{&g.answers, &p.SyncAnswer}, {&g.register, &p.Register}, {&g.optimizer, &p.Optimizer},
	}
	var ends [len(lists)][]int
	for i := range uint64(c.Runs) {
		if err := d.run(i); err != nil {
			return nil, err
		}
		for k, l := range lists {
			ends[k] = append(ends[k], len(*l.of))
		}
	}
	for k, l := range lists {
		*l.into = spread(*l.of, ends[k])
	}
	return p, nil
}

var gaugeKinds = []traces.Kind{
	smpev.Wake, smpev.Gives, smpev.SendIPI, smpev.Trap, smpev.Serialise, smpev.Return, smpev.Due, kpev.ApiEnter,
	kpev.Optimized,
}

// A gauge takes durations between events.
type gauge struct {
	m                  *smp.Machine
	costs              *cycles.Profile
	cpus               [sim.MaxCPUs]cpuGauge
	open               []syncCore // under way
	registering, fired sim.Time   // since when

	arrives, stopped, stops, syncs, answers, register, optimizer []float64
}

// cpuGauge is the state of a CPU.
type cpuGauge struct {
	woken, entered sim.Time // its stopper was
	kept           bool     // from a task that would have continued
	trapped        sim.Time // when it was interrupted by an IPI; 0: it wasn't
}

// A syncCore is one under way.
type syncCore struct {
	sent sim.Time // when its IPIs began to be sent: the event comes when their sending is paid for
	left uint64   // CPUs that haven't answered
}

func toCycles(t sim.Time) float64 { return float64(t) / cycles.Unit }

func (g *gauge) event(e *traces.Event, at sim.Time) {
	switch e.Kind {
	case smpev.Wake, smpev.Gives:
		g.stopper(e, at)
	case smpev.SendIPI, smpev.Trap, smpev.Serialise, smpev.Return:
		g.sync(e, at)
	case smpev.Due:
		if e.B == 1 {
			g.fired = at
		}
	case kpev.ApiEnter:
		if e.A == kpev.Register {
			g.registering = at
		}
	case kpev.Optimized:
		g.register = append(g.register, toCycles(at-g.registering))
		g.optimizer = append(g.optimizer, toCycles(at-g.fired))
	}
}

// stopper follows a CPU into its stopper and out of it. An idle CPU loses nothing; nor does CPU 0, which has
// requested it.
func (g *gauge) stopper(e *traces.Event, at sim.Time) {
	c := &g.cpus[e.CPU]
	switch stopper := uint64(g.m.Tasks().Stopper(int(e.CPU)).ID); {
	case e.Kind == smpev.Wake:
		if e.A == stopper {
			c.woken = at
		}
	case e.A == e.B:
	case e.B == stopper:
		c.entered, c.kept = at, e.C&smpev.GiveRests == 0 && e.CPU != 0
	case e.A == stopper && c.kept:
		g.arrives = append(g.arrives, toCycles(c.entered-c.woken))
		g.stopped = append(g.stopped, toCycles(at-c.entered))
		g.stops = append(g.stops, toCycles(at-c.woken))
	}
}

// sync follows the IPIs of sync_core.
func (g *gauge) sync(e *traces.Event, at sim.Time) {
	c := &g.cpus[e.CPU%sim.MaxCPUs]
	bit := uint64(1) << (e.CPU % sim.MaxCPUs)
	switch {
	case e.Kind == smpev.SendIPI && e.B == uint64(smp.IPICall) && e.A != 0:
		g.open = append(g.open, syncCore{sent: at - sim.Time(g.costs[cycles.SendIPI]), left: e.A})
	case e.Kind == smpev.Trap && e.A == smpev.VecCall:
		c.trapped = at
	case e.Kind == smpev.Serialise && c.trapped != 0:
		kept := g.open[:0]
		for _, s := range g.open {
			if s.left &^= bit; s.left != 0 {
				kept = append(kept, s)
				continue
			}
			g.syncs = append(g.syncs, toCycles(at-s.sent))
		}
		g.open = kept
	case e.Kind == smpev.Return && e.A == smpev.VecCall:
		g.answers = append(g.answers, toCycles(at-c.trapped))
		c.trapped = 0
	}
}
