package mutants

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/page/plot"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
)

// html writes the page, and prints the summary that it begins with.
func (c *Mutants) html(p *cli.Program, rows []mutantRow, summary string, wrong []string) error {
	d := &page.Document{
		Title:   "What the suite notices",
		Command: c.command(),
		Foot:    cli.SameFigures,
		Lead: []page.Text{
			page.Text(fmt.Sprintf("Found by `kpsim mutants`, written on %s. No line of it is written by hand.",
				cli.Today())),
			"A mutant leaves out, doubles or swaps one step of a protocol. It is searched for in the scenario " +
				"where it shows, and the property that is named for it must notice.",
			page.Text(summary + "."),
		},
		Sections: []page.Section{c.killed(rows, wrong), c.soon(rows), whatTheyDo(rows)},
	}
	if s := equivalents(rows); len(s.Blocks) > 0 {
		d.Sections = append(d.Sections, s)
	}
	if len(c.Mutants) == 0 {
		d.Sections = append(d.Sections, whoNotices(rows), withoutMutant())
	}
	if err := p.WritePage(c.HTML, d, cli.Number(len(rows), "mutant")); err != nil {
		return err
	}
	fmt.Fprintln(p.Out, summary)
	return nil
}

// command is the line that makes the page.
func (c *Mutants) command() string {
	words := append([]string{"kpsim", "mutants"}, c.Mutants...)
	if c.Seeds != 20 {
		words = append(words, fmt.Sprintf("--seeds=%d", c.Seeds))
	}
	if c.Most != 100_000 {
		words = append(words, fmt.Sprintf("--most=%d", c.Most))
	}
	if c.Seed != 1 {
		words = append(words, fmt.Sprintf("--seed=%d", c.Seed))
	}
	if c.Blind {
		words = append(words, "--blind")
	}
	return cli.Line(append(words, "--html", c.HTML.Base())...)
}

// killed is the table, and what is wrong.
func (c *Mutants) killed(rows []mutantRow, wrong []string) page.Section {
	t := &page.Table{
		Caption: page.Text(fmt.Sprintf("How many schedules it takes to kill each, and deviations of the "+
			"witness: in %s from seed %d on, at most %d schedules each. ✓: by a property that is to notice it. "+
			"Of several, the number is in how many searches a property was first.", searches(c.Seeds), c.Seed, c.Most)),
		Text: 4, Head: []string{"mutant", "named after", "scenario", "noticed by", "median", "95 %", "slowest",
			"witness"},
	}
	var faults page.List
	for i := range rows {
		r := &rows[i]
		texts := r.cells()
		cells := page.Row(texts[0], r.source, texts[1], texts[2], texts[3], texts[4], texts[5], "-")
		cells[0].To, cells[3].Is = r.id(), page.Good
		if r.Deviations != nil {
			cells[7].Text = fmt.Sprint(*r.Deviations)
		}
		switch {
		case r.Fault != "":
			cells[3].Is = page.Bad
			faults = append(faults, page.Text(r.Mutant+": "+r.Fault))
		case r.Equivalent != "":
			cells[3].Is, cells[3].Text = page.Neither, "nobody: equivalent"
		}
		t.Add(cells...)
	}
	for _, w := range wrong {
		faults = append(faults, page.Text(w))
	}
	s := page.Section{ID: "killed", Title: "Which are killed, by whom"}
	if len(faults) > 0 {
		s.Blocks = append(s.Blocks, page.Text("Wrong:"), faults)
	}
	s.Blocks = append(s.Blocks, t, &page.Details{Summary: "What the columns are", Blocks: []page.Block{page.List{
		"named after: the row of history that it brings back, the kernels that were shipped with it, or the " +
			"rule that it breaks.",
		"noticed by: which property was broken first.",
		"median: how many schedules a search takes; the next column holds the true median with 95 % or more.",
		"witness: what is left of the shortest of three when they have been shrunk, in deviations from the " +
			"default schedule.",
	}}})
	return s
}

// id is what links to what a mutant does end in.
func (r *mutantRow) id() string { return "mutant-" + strings.ToLower(r.Mutant) }

// bounded is a number of schedules to be drawn: those that are more than most, at most.
func (r *mutantRow) bounded(n uint64) float64 {
	if n == 0 {
		n = r.Most
	}
	return float64(n)
}

// soon draws how soon they are killed.
func (c *Mutants) soon(rows []mutantRow) page.Section {
	var (
		names           []string
		ranges          []plot.Range
		median, slowest []float64
	)
	for i := range rows {
		r := &rows[i]
		if r.Equivalent != "" {
			continue
		}
		names = append(names, r.Mutant)
		ranges = append(ranges, plot.Range{Low: r.bounded(r.Low), Middle: r.bounded(r.Median), High: r.bounded(r.High),
			Farthest: r.bounded(r.Slowest)})
		if r.Median > 0 {
			median = append(median, float64(r.Median))
		}
		if r.Slowest > 0 {
			slowest = append(slowest, float64(r.Slowest))
		}
	}
	slices.Sort(median)
	slices.Sort(slowest)
	each, all := plot.New("schedules", ""), plot.New("schedules", "mutants killed")
	cli.Must(each.AddRanges(names, ranges))
	plot.LogAxis(&each.X)
	cli.Must(all.AddLine(1, plot.ECDF(median, len(names)), true))
	cli.Must(all.AddLine(2, plot.ECDF(slowest, len(names)), true))
	plot.LogAxis(&all.X)
	plot.SharesAxis(&all.Y)
	return page.Section{ID: "soon", Title: "How soon", Blocks: []page.Block{
		&page.Figure{
			Caption: page.Text(fmt.Sprintf("Schedules until each mutant is killed, on a logarithmic axis: the "+
				"median of %s as a dot on the interval that holds the true one with 95 %% or more, the slowest "+
				"as an upright line; and the share of mutants that are killed within a number of schedules. "+
				"What takes more than %d stands at %d on the left, and isn't counted on the right.",
				searches(c.Seeds), c.Most, c.Most)),
			Legend: []page.Key{{Name: "by the median search", Of: 1}, {Name: "by the slowest search", Of: 2}},
			Plots: []page.Plot{
				{Title: "Each mutant",
					Says: fmt.Sprintf("Schedules to kill each of %s; the table above has the numbers.",
						cli.Number(len(names), "mutant")), Plot: each, Height: plot.RangesHeight(len(names))},
				{Title: "All of them",
					Says: fmt.Sprintf("The median search kills %d of %d mutants, half of those in %s schedules "+
						"or fewer; the slowest kills %d, half of those in %s or fewer.",
						len(median), len(names), middleOf(median), len(slowest), middleOf(slowest)), Plot: all},
			},
		},
	}}
}

// middleOf is the (lower) median of a list in ascending order.
func middleOf(list []float64) string {
	if len(list) == 0 {
		return "0"
	}
	return plot.Thousands(list[(len(list)-1)/2])
}

func searches(n int) string {
	if n == 1 {
		return "1 search"
	}
	return fmt.Sprintf("%d searches", n)
}

func whatTheyDo(rows []mutantRow) page.Section {
	t := &page.Table{Caption: "What each mutant does, and a line that lets one look at it.", Text: 3,
		Head: []string{"mutant", "does", "to look at it"}}
	for i := range rows {
		r := &rows[i]
		cells := page.Row(r.Mutant, r.says, cli.Line("kpsim", "explore", r.Scenario, "--mutant", r.Mutant))
		cells[0].ID, cells[2].Code = r.id(), true
		t.Add(cells...)
	}
	return page.Section{ID: "do", Title: "What they do", Blocks: []page.Block{t}}
}

func equivalents(rows []mutantRow) page.Section {
	s := page.Section{ID: "equivalent", Title: "What nobody can notice"}
	for i := range rows {
		if r := &rows[i]; r.Equivalent != "" {
			s.Blocks = append(s.Blocks, page.Text(r.Mutant+": "+r.Equivalent))
		}
	}
	return s
}

func whoNotices(rows []mutantRow) page.Section {
	t := &page.Table{Caption: "The properties: how many mutants are named for each, and in how many searches " +
		"it was first.", Text: 2, Head: []string{"property", "says", "mutants that are its own",
		"searches in which it was first"}}
	for _, q := range properties.All {
		if q.OfKernel() {
			continue
		}
		own, first := shareIn(rows, q.Name)
		t.Add(page.Row(q.ID+" "+q.Name, q.Says, fmt.Sprint(own), fmt.Sprint(first))...)
	}
	return page.Section{ID: "who", Title: "Who notices", Blocks: []page.Block{t}}
}

func withoutMutant() page.Section {
	var list page.List
	for _, s := range mutants.Absent {
		list = append(list, page.Text(s.Row+". "+strings.TrimSpace(s.Why)))
	}
	return page.Section{ID: "absent", Title: "Rows of history without a mutant", Blocks: []page.Block{list}}
}
