package pages

import (
	"fmt"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/drawable"
	"kpsim/internal/ui/table"
	"kpsim/sim"
)

// Pauses is kpsim overhead pauses.
type Pauses struct {
	costs
	CPUs     []inputs.Span `name:"cpus" default:"2,4,8" placeholder:"LIST" help:"Numbers of CPUs, as 2,4,8 or 2-8; 64 at most. Default: 2,4,8."`
	Patch    []string      `default:"breakpoint,stop_machine" placeholder:"HOW" help:"How the jump is written: breakpoint, stop_machine. Default: both."`
	Preempt  []string      `default:"none" placeholder:"MODEL" help:"Models of preemption: ${preempts}. Default: none."`
	Calls    int           `range:"1..100" default:"4" placeholder:"N" help:"How many calls a task makes before it gives its CPU up. Default: 4."`
	drawn    `set:"draws=20"`
	JSON     bool `name:"json" xor:"form" help:"Print one JSON object a line."`
	Markdown bool `xor:"form" help:"Print tables in Markdown."`
}

// Help implements kong.HelpProvider.
func (*Pauses) Help() string {
	return `How long CPUs and probes wait while a jump is written: stop_machine, sync_core, the optimizer.

A probe is registered, optimized and unregistered on CPU 0 while the other CPUs call its function over and over. Printed is how long whom that keeps waiting, in each of the runs:

  stop_machine arrives   from its request until a CPU is in its stopper
  stop_machine stopped   from there until the CPU is let go
  stop_machine in all    both
  sync_core in all       from when it begins to send its IPIs until the last CPU has serialised
  sync_core interrupt    what one of these CPUs is interrupted for
  register to jump       from the call that registers the probe until its jump is written
  optimizer to jump      from when the optimizer's timer fires until then

What that timer takes, 5 jiffies, and what the kernel waits between two looks for the end of a grace period is in none of them.

Examples:

  kpsim overhead pauses
  kpsim overhead pauses --cpus 2,16,64 --patch stop_machine --preempt none,full
  kpsim overhead pauses --schedule sticky --runs 200 --seed 7
  kpsim overhead pauses --json | jq '.stop_machine_request_to_end.p99_cycles / .mhz'

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

// A pausesRow is what was measured of one machine, as --json prints it.
type pausesRow struct {
	machineJSON
	Costs string `json:"tier"` // or profile
	*overhead.Pauses
}

func (c *Pauses) Run(p *cli.Program) (int, error) {
	list, err := c.configs()
	if err != nil {
		return 0, err
	}
	m, err := c.loadProbes()
	if err != nil {
		return 0, err
	}
	pauses := make([]*overhead.Pauses, len(list))
	err = inParts(p, "pauses", len(list), func(i int) (err error) {
		list[i].Costs = &m.Costs
		pauses[i], err = list[i].Measure()
		return err
	})
	if err != nil {
		return 0, err
	}
	if !c.JSON {
		c.print(p, m, pauses)
		return cli.OK, nil
	}
	for _, q := range pauses {
		if err := p.PrintJSON(&pausesRow{m.shown(), m.by, q}); err != nil {
			return 0, err
		}
	}
	return cli.OK, nil
}

// configs returns what is measured.
func (c *Pauses) configs() (list []overhead.PauseConfig, err error) {
	cpus, err := inputs.Numbers("cpus", "numbers of CPUs", c.CPUs, 2, sim.MaxCPUs)
	if err != nil {
		return nil, err
	}
	if err := c.drawn.check(); err != nil {
		return nil, err
	}
	patches, err := inputs.Once("patch", "way to write a jump that keeps CPUs waiting", c.Patch, PatchNames())
	if err != nil {
		return nil, err
	}
	preempts, err := inputs.Once("preempt", "model of preemption", c.Preempt, drawable.Preempts())
	if err != nil {
		return nil, err
	}
	for _, patch := range patches {
		for _, preempt := range preempts {
			for _, n := range cpus {
				list = append(list, overhead.PauseConfig{CPUs: n, Patch: patch, Preempt: preempt, Calls: c.Calls,
					Schedule: c.Schedule, Runs: c.Runs, Seed: c.Seed})
			}
		}
	}
	return list, nil
}

func PatchNames() []string { return []string{"breakpoint", "stop_machine"} }

// pauseNames are the pauses in the order of the table.
var pauseNames = [...]struct {
	name string
	of   func(q *overhead.Pauses) *overhead.Spread
}{
	{"stop_machine arrives", func(q *overhead.Pauses) *overhead.Spread { return &q.StopArrives }},
	{"stop_machine stopped", func(q *overhead.Pauses) *overhead.Spread { return &q.Stopped }},
	{"stop_machine in all", func(q *overhead.Pauses) *overhead.Spread { return &q.StopEnds }},
	{"sync_core in all", func(q *overhead.Pauses) *overhead.Spread { return &q.Sync }},
	{"sync_core interrupt", func(q *overhead.Pauses) *overhead.Spread { return &q.SyncAnswer }},
	{"register to jump", func(q *overhead.Pauses) *overhead.Spread { return &q.Register }},
	{"optimizer to jump", func(q *overhead.Pauses) *overhead.Spread { return &q.Optimizer }},
}

func (c *Pauses) print(p *cli.Program, m *pricedMachine, pauses []*overhead.Pauses) {
	fmt.Fprintf(p.Out, "Pauses in µs on %s, by %s, in %s (%s, seed %d):\n\n", m.ID(), costsOf(m.by),
		cli.Number(c.Runs, "run"), c.Schedule, c.Seed)
	g := table.Grid{Head: []string{"pause", "patch", "preempt", "CPUs", "n", "mean", "sd", "p50", "p90", "p99", "max",
		"mean cycles"}, Text: 3}
	for _, of := range pauseNames {
		for _, q := range pauses {
			s := of.of(q)
			if s.N == 0 {
				continue
			}
			cells := []string{of.name, q.Patch, q.Preempt, fmt.Sprint(q.CPUs), fmt.Sprint(s.N)}
			for _, v := range [...]float64{s.Mean, s.SD, s.P50, s.P90, s.P99, s.Max} {
				cells = append(cells, fmt.Sprintf("%.3f", v/m.MHz))
			}
			g.Add(append(cells, fmt.Sprintf("%.0f", s.Mean))...)
		}
	}
	g.Print(p, c.Markdown)
	fmt.Fprintln(p.Out)
	p.Indented("", overhead.Unfigured(m.own()))
	if c.Schedule == overhead.Sticky {
		fmt.Fprintln(p.Out, "sticky: these are pauses of the strategy, which keeps CPUs standing, more than of "+
			"the kernel.")
	}
}
