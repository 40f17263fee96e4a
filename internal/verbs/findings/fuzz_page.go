package findings

import (
	"cmp"
	"fmt"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/page/plot"
	"kpsim/kprobes/rules"
)

// A fuzzSample is a session's coverage after a batch.
type fuzzSample struct{ programs, features, estimated, blocks float64 }

// samplesMost is how many samples are kept: when it is exceeded, every other one is dropped.
const samplesMost = 600

// sample records a sample.
func (c *Fuzz) sample() {
	cov := c.session.Coverage()
	c.samples = append(c.samples, fuzzSample{float64(c.total.Programs), float64(cov.Features), float64(cov.Estimated),
		float64(cov.Blocks)})
	if len(c.samples) > samplesMost {
		for i := range samplesMost / 2 {
			c.samples[i] = c.samples[2*i+1]
		}
		c.samples = c.samples[:samplesMost/2]
	}
}

// html writes the page of a session.
func (c *Fuzz) html(p *cli.Program) error {
	command := c.command
	if command == "" {
		command = cli.Line(append(c.words(), "--html", c.HTML.Base())...)
	}
	d := &page.Document{
		Title:   "What drawn programs have shown",
		Command: command,
		Foot:    "Written by kpsim, which simulates live code patching on simulated machines.",
		Lead: []page.Text{
			page.Text(fmt.Sprintf("Found by `kpsim fuzz` on %s: %s, %s.", cli.Today(),
				cli.Number(int(c.total.Programs), "program"), cli.Number(int(c.total.Runs), "schedule"))),
			page.Text("Programs are drawn, and made from those that have shown something new. What they are " +
				"drawn from is sound: no schedule may break a property."),
			page.Text(c.featureLine()),
		},
		Sections: []page.Section{c.pageFinds(), c.pageCoverage(), c.pageEditions()},
	}
	if c.Unreached {
		d.Sections = append(d.Sections, pageUnreached(c))
	}
	return p.WritePage(c.HTML, d, cli.Number(int(c.total.Programs), "program"))
}

// pageFinds returns the section about what was broken.
func (c *Fuzz) pageFinds() page.Section {
	s := page.Section{ID: "finds", Title: "What was broken"}
	if len(c.causes.all) == 0 {
		s.Blocks = append(s.Blocks, page.Text("Nothing."))
		return s
	}
	t := &page.Table{
		Caption: "The first of each cause, shrunk; those that look like no known find first. `kpsim replay` " +
			"shows a trace.", Text: 5,
		Head: []string{"property", "looks like", "program", "what it says", "trace", "deviations"},
	}
	for _, f := range c.newFirst() {
		row := page.Row(f.find.Property, cmp.Or(strings.Join(f.find.Like, " or "), "no known find"), f.find.Program,
			f.find.Message, f.find.Trace, fmt.Sprint(f.find.Deviations))
		row[0].Is, row[4].Code = page.Bad, true
		t.Add(row...)
	}
	s.Blocks = append(s.Blocks, t)
	return s
}

// pageCoverage draws coverage against the number of programs.
func (c *Fuzz) pageCoverage() page.Section {
	line := func(of func(s *fuzzSample) float64) (points plot.XYs) {
		for i := range c.samples {
			points = append(points, plot.XY{X: c.samples[i].programs, Y: of(&c.samples[i])})
		}
		return points
	}
	features := plot.New("programs", "features")
	plot.CountsAxis(&features.X)
	plot.CountsAxis(&features.Y)
	features.Y.Min = 0
	cli.Must(features.AddLine(0, line(func(s *fuzzSample) float64 { return s.features }), false))
	cli.Must(features.AddLine(1, line(func(s *fuzzSample) float64 { return s.estimated }), false))
	f := &page.Figure{
		Caption: "A feature is an event with its small arguments, two events that come one after the other on " +
			"a CPU or on two, an instruction that is probed, two accesses of different CPUs to one object. How " +
			"many there are is guessed from those that one and two programs have shown (Chao), and is a lower bound.",
		Legend: []page.Key{{Name: "shown", Of: 0}, {Name: "guessed", Of: 1}},
		Plots:  []page.Plot{{Title: "Features", Says: c.featureLine(), Plot: features}},
	}
	if all := c.session.Coverage().BlocksAll; all > 0 {
		blocks := plot.New("programs", fmt.Sprintf("blocks of %d", all))
		plot.CountsAxis(&blocks.X)
		plot.CountsAxis(&blocks.Y)
		blocks.Y.Min, blocks.Y.Max = 0, float64(all)
		cli.Must(blocks.AddLine(0, line(func(s *fuzzSample) float64 { return s.blocks }), false))
		f.Plots = append(f.Plots, page.Plot{Title: "Basic blocks of the kernel's functions", Says: c.featureLine(),
			Plot: blocks})
	}
	return page.Section{ID: "coverage", Title: "What was shown", Blocks: []page.Block{f}}
}

// pageEditions returns the table by edition.
func (c *Fuzz) pageEditions() page.Section {
	t := &page.Table{Caption: "Of the schedules on machines that optimize kprobes: in how many a kprobe was " +
		"optimized while a task was in a call of its function.", Text: 1,
		Head: []string{"edition", "programs", "schedules", "points", "during a call", "broken"}}
	add := func(r *fuzzRow) {
		during := "-"
		if r.Optimizing > 0 {
			during = cli.Share(r.During, r.Optimizing)
		}
		row := page.Row(r.Edition, fmt.Sprint(r.Programs), fmt.Sprint(r.Runs), fmt.Sprint(r.Points), during,
			fmt.Sprint(r.Violations))
		if row[5].Is = page.Good; r.Violations > 0 {
			row[5].Is = page.Bad
		}
		t.Add(row...)
	}
	for _, e := range append(rules.AllEditions(), rules.EditionNone) {
		if of := c.of[e]; of != nil && c.Kernel.Kernel == "" {
			add(of)
		}
	}
	add(&c.total)
	s := page.Section{ID: "editions", Title: "By edition", Blocks: []page.Block{t}}
	if c.Mutant != "" {
		s.Blocks = append(s.Blocks, page.Text("The engine was broken on purpose: "+c.Mutant+"."))
	}
	return s
}
