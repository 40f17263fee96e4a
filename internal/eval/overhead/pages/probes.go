package pages

import (
	"fmt"
	"slices"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/table"
)

// probesMost is the largest table.
const probesMost = 100_000

// Probes is kpsim overhead probes.
type Probes struct {
	costs
	Probe    []string      `default:"k" placeholder:"NAME" help:"A hit of which probe. May be given many times. Default: k."`
	Count    []inputs.Span `default:"1,10,100,1000,10000,100000" placeholder:"LIST" help:"How many probes there are, as 1,10,100. Default: 1, 10, … to 100000."`
	JSON     bool          `name:"json" xor:"form" help:"Print one JSON object a line."`
	Markdown bool          `xor:"form" help:"Print tables in Markdown."`
}

// Help implements kong.HelpProvider.
func (*Probes) Help() string {
	return `What a hit costs with up to 100,000 probes in the kernel's table.

The kernel finds a probe in a table of 64 hash chains. This prints what a hit costs with each number of probes, on functions 16 to 256 bytes apart, and how many nodes of a chain it looks at. Two cases are printed: one probe, registered in the middle, is hit over and over; or all are hit in turn, so that caches don't hold them. A jump needs no lookup.

Examples:

  kpsim overhead probes
  kpsim overhead probes --probe k,b,o --count 1,64,4096
  kpsim overhead probes --machine pentium-m/i386
  kpsim overhead probes --json | jq 'select(.all_probes_hit_cycles > 2 * .one_probe_hit_cycles)'

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

// A probesRow is what a hit costs with so many probes, as --json prints it.
type probesRow struct {
	hitJSON
	overhead.ProbesPoint
}

var probesColumns = table.Columns[*probesRow]{
	{Head: "probe", Value: func(r *probesRow) any { return r.title() }},
	{Head: "probes", Form: "%d", Value: func(r *probesRow) any { return r.Probes }},
	{Head: "µs", Form: "%.3f", Value: func(r *probesRow) any { return r.OneHitCycles / r.MHz }},
	{Head: "nodes", Form: "%.2f", Value: func(r *probesRow) any { return r.OneNodes }},
	{Head: "cycles a node", Form: "%.1f", Value: func(r *probesRow) any { return r.OneNodeCycles }},
	{Head: "µs, all in turn", Form: "%.3f", Value: func(r *probesRow) any { return r.AllHitCycles / r.MHz }},
	{Head: "nodes", Form: "%.2f", Value: func(r *probesRow) any { return r.AllNodes }},
	{Head: "most nodes", Form: "%d", Value: func(r *probesRow) any { return r.Longest }},
	{Head: "cycles a node", Form: "%.1f", Value: func(r *probesRow) any { return r.AllNodeCycles }},
}

func (c *Probes) Run(p *cli.Program) (int, error) {
	counts, err := inputs.Numbers("count", "numbers of probes", c.Count, 1, probesMost)
	if err != nil {
		return 0, err
	}
	m, err := c.loadProbes()
	if err != nil {
		return 0, err
	}
	probes, err := c.probes(m)
	if err != nil {
		return 0, err
	}
	rows := make([]*probesRow, len(probes)*len(counts))
	err = inParts(p, "tables of probes", len(rows), func(i int) error {
		q := &probes[i/len(counts)]
		point, err := q.ScaleProbes(counts[i%len(counts)], &m.Costs, overhead.NominalCache)
		rows[i] = &probesRow{(&pricedHit{m, "", *q}).shown(), point}
		return err
	})
	if err != nil {
		return 0, err
	}
	if !c.JSON {
		c.print(p, m, rows)
		return cli.OK, nil
	}
	for i := range rows {
		if err := p.PrintJSON(rows[i]); err != nil {
			return 0, err
		}
	}
	return cli.OK, nil
}

// probes returns those of the machine that are asked for.
func (c *Probes) probes(m *pricedMachine) (list []overhead.Probe, err error) {
	var has []string
	for _, q := range m.Probes() {
		has = append(has, q.Name)
	}
	names, err := inputs.Once("probe", "probe of "+m.ID(), c.Probe, has)
	if err != nil {
		return nil, err
	}
	for _, q := range m.Probes() {
		if slices.Contains(names, q.Name) {
			list = append(list, q)
		}
	}
	return list, nil
}

func (c *Probes) print(p *cli.Program, m *pricedMachine, rows []*probesRow) {
	fmt.Fprintf(p.Out, "Hits by the number of probes in 64 hash chains on %s, by %s (%s):\n\n", m.ID(), costsOf(m.by),
		rows[len(rows)-1].Provenance)
	probesColumns.Grid(rows).Print(p, c.Markdown)
	k := overhead.NominalCache
	fmt.Fprintf(p.Out, "\nAssumed: a probe is a line of %g bytes; in L1 (%g KiB) it costs %g cycles, in L2 (%g KiB) %g, in memory %g.\n",
		k.NodeBytes, k.L1Bytes/1024, k.L1Cycles, k.L2Bytes/1024, k.L2Cycles, k.MemoryCycles)
}
