package pages

import (
	"fmt"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/scenario"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/drawable"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/table"
	"kpsim/sim"
)

// Maxactive is kpsim overhead maxactive.
type Maxactive struct {
	Editions  []string      `name:"edition" placeholder:"NAME" help:"With the engine of this edition: ${editions}, documented. May be given many times. Default: those whose return probes keep track of calls in different ways."`
	Tasks     []inputs.Span `default:"2,4,8" placeholder:"LIST" help:"How many tasks call, each on a CPU of its own, as 2,4,8 or 1-8; 64 at most. Default: 2,4,8."`
	Maxactive []inputs.Span `default:"1,2,4" placeholder:"LIST" help:"How many calls the return probe follows at a time, as 1,2,4 or 1-8. Default: 1,2,4."`
	Calls     int           `range:"1..100" default:"5" placeholder:"N" help:"How many calls the first task makes in a run; the others go on for as long. Default: 5."`
	drawn     `set:"draws=10"`
	JSON      bool `name:"json" xor:"form" help:"Print one JSON object a line."`
	Markdown  bool `xor:"form" help:"Print a table in Markdown."`
}

// Help implements kong.HelpProvider.
func (*Maxactive) Help() string {
	return `How many calls a return probe misses, by its maxactive and how many tasks call.

A return probe follows as many calls at a time as its maxactive says; one more is missed, and counted in nmissed. Tasks call its function, which takes some 30 instructions, and do something else that is longer in between. Printed is which share of the calls is missed.

--json has it by how many calls were in the function at a time, too.

Examples:

  kpsim overhead maxactive
  kpsim overhead maxactive --edition 6.9 --tasks 1-16 --maxactive 1-8
  kpsim overhead maxactive --schedule sticky --seed 7
  kpsim overhead maxactive --json | jq 'select(.missed_share > 0.1)'

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

func (c *Maxactive) Run(p *cli.Program) (int, error) {
	list, columns, err := c.configs()
	if err != nil {
		return 0, err
	}
	overlaps := make([]*overhead.Overlap, len(list))
	err = inParts(p, "maxactive", len(list), func(i int) (err error) {
		overlaps[i], err = list[i].Measure()
		return err
	})
	if err != nil {
		return 0, err
	}
	if !c.JSON {
		c.print(p, overlaps, columns)
		return cli.OK, nil
	}
	for _, o := range overlaps {
		if err := p.PrintJSON(o); err != nil {
			return 0, err
		}
	}
	return cli.OK, nil
}

// configs returns what is measured, and how many of it are a row.
func (c *Maxactive) configs() (list []overhead.OverlapConfig, columns int, err error) {
	editions, err := inputs.Once("edition", "edition", c.Editions, drawable.Editions())
	if err != nil {
		return nil, 0, err
	}
	tasks, err := inputs.Numbers("tasks", "numbers of tasks", c.Tasks, 1, sim.MaxCPUs)
	if err != nil {
		return nil, 0, err
	}
	maxactives, err := inputs.Numbers("maxactive", "numbers of calls", c.Maxactive, 1, scenario.MaxRet)
	if err != nil {
		return nil, 0, err
	}
	if err := c.drawn.check(); err != nil {
		return nil, 0, err
	}
	if len(editions) == 0 {
		editions = differing()
	}
	for _, e := range editions {
		for _, t := range tasks {
			for _, m := range maxactives {
				list = append(list, overhead.OverlapConfig{Tasks: t, Maxactive: m, Calls: c.Calls, Edition: e,
					Schedule: c.Schedule, Runs: c.Runs, Seed: c.Seed})
			}
		}
	}
	return list, len(maxactives), nil
}

func (c *Maxactive) print(p *cli.Program, overlaps []*overhead.Overlap, columns int) {
	fmt.Fprintf(p.Out, "Missed of the calls of a function with a return probe, in %%, by maxactive, in %s (%s, "+
		"seed %d):\n\n", cli.Number(c.Runs, "run"), c.Schedule, c.Seed)
	g := table.Grid{Head: []string{"edition", "tasks", "calls"}, Text: 1}
	for i, o := range overlaps {
		if i < columns {
			g.Head = append(g.Head, fmt.Sprint(o.Maxactive))
		}
		if i%columns == 0 {
			g.Add(o.Edition, fmt.Sprint(o.Tasks), fmt.Sprint(o.Called))
		}
		last := &g.Rows[len(g.Rows)-1]
		*last = append(*last, page.Cell{Text: table.PerCent(o.Share)})
	}
	g.Print(p, c.Markdown)
	fmt.Fprintln(p.Out, "\ncalls: with the least maxactive. As many at a time as maxactive are never missed. How long calls take is by nominal costs.")
}
