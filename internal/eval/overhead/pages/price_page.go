package pages

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"kpsim/smp/cycles"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/page/plot"
)

// csv prints the rows, each with all columns.
func (a *priced) csv(p *cli.Program) error {
	w := csv.NewWriter(p.Out)
	head := strings.Split("machine,tier,scenario,row,what,cpus,n,cycles,cycles_low_95,cycles_high_95,ns,ns_low_95,"+
		"ns_high_95,source", ",")
	for part := range overhead.PatchParts {
		head = append(head, part.String()+"_cycles")
	}
	if err := w.Write(append(head, "other_cpus_cycles", "price_of_patch", "count", "cycles_each")); err != nil {
		return err
	}
	for i := range a.list {
		r := &a.list[i]
		line := []string{r.Machine, r.Costs, r.Scenario, r.Row, r.What, fmt.Sprint(r.CPUs), fmt.Sprint(r.N)}
		for _, v := range []float64{r.Cycles, r.Low, r.High, r.Nsec, r.NsecLow, r.NsecHigh} {
			line = append(line, fmt.Sprintf("%.3f", v))
		}
		line = append(line, r.Source)
		for part := range overhead.PatchParts {
			line = append(line, cell(r.Row == "patch", r.Parts[part.String()]))
		}
		price := r.Row == "price"
		line = append(line, cell(r.Row == "patch", r.Others), r.PartOf, cell(price, r.Count), cell(price, r.Each))
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// cell writes a number, nothing if a row has none.
func cell(has bool, v float64) string {
	if !has {
		return ""
	}
	return fmt.Sprintf("%.3f", v)
}

// page writes the page.
func (c *Price) page(p *cli.Program, a *priced) error {
	words := cli.WithFlags([]string{"kpsim", "overhead", "price", cli.FileName(c.Scenario).Base()}, "--machine",
		value(c.Machine, ""), "--tier", value(c.Tier, ""), "--profile", c.Profile.Base())
	if c.Runs != 20 {
		words = append(words, "--runs", fmt.Sprint(c.Runs))
	}
	if c.Seed != 1 {
		words = append(words, "--seed", fmt.Sprint(c.Seed))
	}
	if c.CPUs != nil {
		var list []string
		for _, q := range a.patches {
			list = append(list, fmt.Sprint(q.CPUs))
		}
		words = append(words, "--cpus", strings.Join(list, ","))
	}
	if c.Claim {
		words = append(words, "--claim")
	}
	d := &page.Document{Title: "What a patch costs: " + a.s.Name, Command: cli.Line(append(words, "--html",
		c.HTML.Base())...), Foot: cli.WrittenBy}
	d.Lead = []page.Text{page.Text(a.title(c) + "."), page.Text(a.s.Says)}
	s := page.Section{ID: "patches", Title: "By the number of CPUs"}
	if f := a.figure(); f != nil {
		s.Blocks = append(s.Blocks, f)
	}
	for _, part := range a.parts() {
		s.Blocks = append(s.Blocks, part.grid.Page(page.Text(part.title+".")))
	}
	var notes page.List
	for _, n := range a.notes() {
		notes = append(notes, page.Text(n))
	}
	s.Blocks = append(s.Blocks, notes)
	d.Sections = []page.Section{s}
	return p.WritePage(c.HTML, d, cli.Number(len(a.list), "row"))
}

// figure draws patches and calls by CPUs; nil with one number of CPUs.
func (a *priced) figure() *page.Figure {
	if len(a.patches) < 2 {
		return nil
	}
	f := &page.Figure{Caption: "Nanoseconds of a patch, and of a call before, during and after the patches, by the " +
		"number of CPUs. A bar is drawn 95 %: Student's interval over runs; an error of the prices isn't in it. The " +
		"tables below have the numbers."}
	for _, kind := range []struct{ row, title string }{{"patch", "a patch"}, {"call", "a call"}} {
		rows := a.of(kind.row)
		if len(rows) == 0 {
			continue
		}
		var names []string
		for _, r := range rows {
			if !slices.Contains(names, r.What) {
				names = append(names, r.What)
			}
		}
		drawing := plot.New("CPUs", "ns, "+kind.title)
		for series, name := range names[:min(len(names), mostSeries)] {
			var points plot.XYs
			var bars []plot.Error
			for _, r := range rows {
				if r.What == name {
					points = append(points, plot.XY{X: float64(r.CPUs), Y: r.Nsec})
					within := overhead.Interval{Low: r.NsecLow, High: r.NsecHigh}
					bars = append(bars, bar(r.Nsec, within, float64(r.CPUs)))
				}
			}
			cli.Must(drawing.AddLine(series, points, false))
			cli.Must(drawing.AddErrors(series, bars, false))
			f.Legend = append(f.Legend, page.Key{Name: kind.title + ": " + name, Of: series})
		}
		drawing.Y.Min = min(drawing.Y.Min, 0) // what differs by a fifth doesn't look like a leap
		plot.DoublingAxis(&drawing.X, a.patches[len(a.patches)-1].CPUs)
		f.Plots = append(f.Plots, page.Plot{Title: kind.title, Says: kind.title + " in ns, by the number of CPUs; " +
			"the tables below have the numbers.", Plot: drawing})
	}
	return f
}

// mostSeries is how many kinds of patch a plot has.
const mostSeries = 5

// claim says in one sentence, for a mail, what a patch of one kind costs: how long its task takes on how many CPUs, of
// what that consists, what the other CPUs lose, and by which prices, with those that are assumed.
func (a *priced) claim(q *overhead.Patches, of *overhead.Patch, r *priceRow) string {
	what := of.What
	if r.Steps != "" {
		what += ": " + r.Steps
	}
	text := fmt.Sprintf("A patch of %s (%s) takes its task %.1f ns (%.0f cycles at %g MHz) with %s", a.s.Name, what,
		r.Nsec, r.Cycles, a.m.MHz, cli.Number(q.CPUs, "CPU"))
	if parts := r.shares(); parts != nil {
		text += ": " + cli.List(parts)
	}
	if q.CPUs > 1 {
		text += fmt.Sprintf("; it interrupts all other CPUs together for %.0f cycles", r.Others)
	}
	text += fmt.Sprintf("; mean of %s of kpsim (seed %d)", cli.Number(q.Runs, "simulated run"), q.Seed)
	if i := r.interval(); i == "all alike" {
		text += ", all alike"
	} else {
		text += fmt.Sprintf(", drawn 95 %% %s ns", i)
	}
	if q.Bad > 0 {
		text += fmt.Sprintf(", of which %d broke %s", q.Bad, strings.Join(q.Broke, ", "))
	}
	return text + "; " + a.pricedBy(of) + "."
}

// shares are the parts of a patch in percent of its cycles, the largest first. Those below half a percent are left out.
func (r *priceRow) shares() (list []string) {
	var parts []overhead.PatchPart
	for part := range overhead.PatchParts {
		if r.Parts[part.String()] >= r.Cycles/200 && r.Cycles > 0 {
			parts = append(parts, part)
		}
	}
	slices.SortStableFunc(parts, func(x, y overhead.PatchPart) int {
		return cmp.Compare(r.Parts[y.String()], r.Parts[x.String()])
	})
	for _, part := range parts {
		list = append(list, fmt.Sprintf("%s %.0f %%", part.Says(), 100*r.Parts[part.String()]/r.Cycles))
	}
	return list
}

// answers are the events of a CPU that an IPI interrupts, on which the patcher's waiting depends.
var answers = []cycles.Event{cycles.Trap, cycles.Iret, cycles.SyncCore}

// pricedBy says by whose prices a patch is priced, and which of them are assumed: prices of events of the patcher's
// CPU, and of those of the CPUs that it interrupts.
func (a *priced) pricedBy(of *overhead.Patch) string {
	by := fmt.Sprintf("prices in cycles by %s of %s", costsOf(a.m.by), a.m.ID())
	if a.c.Profile != "" {
		by = fmt.Sprintf("prices in cycles by the profile %s of %s", a.c.Profile.Base(), a.m.ID())
	}
	var known, assumed []string
	for _, e := range cycles.All() {
		if of.Events[e] == 0 && (of.Others == 0 || !slices.Contains(answers, e)) {
			continue
		}
		price := fmt.Sprintf("%s %s", e, overhead.CyclesOf(a.m.Costs[e]))
		switch from := a.source(e); {
		case overhead.AssumedSource(from):
			assumed = append(assumed, price)
		case a.m.own() != nil && from != overhead.GivenInProfile:
			known = append(known, fmt.Sprintf("%s (%s)", price, from))
		default:
			known = append(known, price)
		}
	}
	if known != nil {
		by += ": " + strings.Join(known, ", ")
	}
	if assumed != nil {
		by += "; assumed: " + strings.Join(assumed, ", ")
	}
	return by
}
