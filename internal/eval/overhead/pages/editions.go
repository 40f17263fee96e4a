package pages

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/table"
)

// editions prints what hits cost with the engines of editions.
func (c *Table) editions(p *cli.Program) error {
	r := &report{source: string(c.Profile)}
	tiers, _ := tiersOf(c.Tier)
	if c.Profile != "" {
		tiers = tiers[:1]
	}
	var guesses []string
	var machines []pricedMachine
	for k, t := range tiers {
		var err error
		machines, err = probeMachines(c.Machines, t, c.Profile)
		if err != nil {
			return err
		}
		hits, err := c.hits(machines, c.Editions)
		if err != nil {
			return err
		}
		if k == 0 {
			r.rows = make([][]lineJSON, len(hits))
		}
		if c.Profile == "" {
			r.tiers = append(r.tiers, t)
		}
		for i := range hits {
			h := &hits[i]
			hit, err := h.probe.Measure(&h.Costs)
			if err != nil {
				return err
			}
			l := lineOfHit(h.Name, h.Arch, h.MHz, &h.probe, &hit, &h.Costs)
			off := h.margin.around(l.Usec)
			l.margin, l.Predicted, l.Largest = h.margin, off.Predicted, off.Largest
			l.Edition, l.Costs, l.Documented, l.Guessed = h.edition, h.by, h.documented(), h.guessed(&hit)
			if l.Documented != nil {
				off := l.Usec / *l.Documented - 1
				l.Error = &off
			}
			r.rows[i] = append(r.rows[i], l)
			if g := fmt.Sprintf("%s on %s: %s", h.edition, h.ID(), strings.Join(l.Guessed, ", ")); len(l.Guessed) > 0 &&
				!slices.Contains(guesses, g) {
				guesses = append(guesses, g)
			}
		}
	}
	if c.JSON || c.Bench {
		return r.print(p, c)
	}
	r.byEdition(p, c.Markdown)
	r.attribution(p, c.Markdown)
	fmt.Fprintln(p.Out)
	whose := "The documents' figures are of editions 2.6 and 4.15. Of others it is"
	if u := machines[0]; r.source != "" {
		whose = "The profile is of edition " + u.Edition + ". Of others it is"
	}
	p.Indented("", whose+" what the same machine would take, by the same costs. "+r.rows[0][0].margin.says())
	for _, g := range guesses {
		fmt.Fprintf(p.Out, "No figure has these events, whose costs are a guess: %s\n", g)
	}
	return nil
}

// byEdition prints the hits.
func (r *report) byEdition(p *cli.Program, markdown bool) {
	type row = []lineJSON
	list := table.Columns[row]{
		{Head: "machine", Value: func(l row) any { return l[0].Name }},
		{Head: "arch", Value: func(l row) any { return l[0].Arch }},
		{Head: "edition", Value: func(l row) any { return l[0].Edition }},
		{Head: "probe", Value: func(l row) any { return l[0].title() }},
	}
	if r.source == "" {
		list = append(list, table.Column[row]{Head: "documented µs", Form: "%.2f", Value: func(l row) any {
			return l[0].Documented
		}})
	}
	for i := range r.rows[0] {
		list = append(list,
			table.Column[row]{Head: r.rows[0][i].Costs + " µs", Form: "%.3f", Value: func(l row) any {
				return l[i].Usec
			}})
		if off := r.rows[0][i].margin; off != nil {
			list = append(list, off.column(false, func(l row) float64 { return l[i].Usec }))
		}
		list = append(list,
			table.Column[row]{Head: "cycles", Form: "%.0f", Value: func(l row) any { return l[i].Cycles }})
	}
	list.Grid(r.rows).Print(p, markdown)
}

// documentedCell is a figure of the documents, or none.
func documentedCell(usec *float64) string {
	if usec == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *usec)
}
