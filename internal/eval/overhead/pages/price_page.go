package pages

import (
	"encoding/csv"
	"fmt"
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
		"numbers are in " + page.NextTable + "."}
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
		plot.DoublingAxis(&drawing.X, a.patches[len(a.patches)-1].CPUs)
		f.Plots = append(f.Plots, page.Plot{Title: kind.title, Says: kind.title + " in ns, by the number of CPUs; " +
			page.NextTable + " has the numbers.", Plot: drawing})
	}
	return f
}

// mostSeries is how many kinds of patch a plot has.
const mostSeries = 5
