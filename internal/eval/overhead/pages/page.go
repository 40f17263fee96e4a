package pages

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/page/plot"
	"kpsim/smp/cycles"
)

// A htmlPage is what --html writes.
type htmlPage struct {
	c       *Table
	r       *report
	o       *overhead.Model       // nil if it is a profile's
	u       *overhead.UserProfile // nil if it isn't
	subject paged
	within  map[string]overhead.Interval // between what hardware's share of a hit lies, by machine and probe
	// reports that n of all parts of a section are done, and which one is measured now
	at func(n, of int, says string)
}

// A paged is the machine by whose costs scaling and pauses are measured.
type paged struct {
	name   string
	mhz    float64
	costs  *cycles.Profile
	by     string // the machine whose costs are used
	margin *margin
}

// usec writes cycles as microseconds.
func (m *paged) usec(cycles float64) float64 { return cycles / m.mhz }

// html writes the page.
func (c *Table) html(p *cli.Program) error {
	if err := c.HTML.CheckPage(string(c.Profile)); err != nil {
		return err
	}
	p.ExitAtInterrupt("no page was written")
	o := &htmlPage{c: c}
	sections := o.sections()
	g := p.WatchParts("overhead", 1+len(sections), "section")
	defer g.Clear()
	o.at = func(n, of int, says string) {
		p.Doing = says
		g.Far(float64(n)/float64(of), says)
	}
	g.Part("the figures", 1)
	if err := o.measure(); err != nil {
		return err
	}
	d, err := o.document(sections, g)
	if err != nil {
		return err
	}
	g.Complete()
	return p.WritePage(c.HTML, d, fmt.Sprintf("%s of what probes cost, %s", cli.Number(len(d.Sections), "section"),
		cli.Number(len(o.r.rows), "figure")))
}

// measure makes the table, and picks the machine of all that isn't in it.
func (o *htmlPage) measure() (err error) {
	if o.c.Profile != "" {
		o.r, o.u, err = o.c.pricedReport()
		if err == nil {
			o.subject = paged{name: o.u.Name + " " + o.u.Arch, mhz: o.u.MHz, costs: &o.u.Costs, by: "the profile",
				margin: o.r.margin}
		}
		return err
	}
	if o.o, err = overhead.Fit(overhead.Figures()); err != nil {
		return err
	}
	if o.r, err = o.c.report(o.o); err != nil {
		return err
	}
	l := &o.r.rows[len(o.r.rows)-1][0]
	for i := range overhead.Machines {
		if m := &overhead.Machines[i]; m.ID() == l.Machine {
			costs, err := o.o.Profile(m, o.r.tiers[0])
			o.subject = paged{m.Name + " " + m.Arch, m.MHz, costs, "its " + o.r.tiers[0].String() + " costs", l.margin}
			return err
		}
	}
	return nil
}

// command is the line that makes the page. It has no folders: a reader of the
// page may not have them.
func (o *htmlPage) command() string {
	words := []string{"kpsim", "overhead"}
	for _, m := range o.c.Machines {
		words = append(words, "--machine", m)
	}
	for _, q := range o.c.Probes {
		words = append(words, "--probe", q)
	}
	words = cli.WithFlags(words, "--tier", o.c.Tier, "--profile", o.c.Profile.Base(), "--kernel", o.c.Kernel.Base())
	for _, f := range o.c.Objects {
		words = append(words, "--objects", f.Base())
	}
	return cli.Line(append(words, "--html", o.c.HTML.Base())...)
}

// A section is a part of the page, in the order in which they are measured.
type section struct {
	says string
	make func() (page.Section, error)
}

func (o *htmlPage) sections() []section {
	return []section{
		{"the figures", o.figures}, {"what a hit is spent on", o.attribution}, {"the kernel's own code", o.kernel},
		{"noise", o.noise},
		{"scaling", o.scaling}, {"pauses", o.pauses}, {"assumptions", o.assumptions}, {"provenance", o.provenance},
		{"limits", o.limits},
	}
}

// printed are the sections that paper has: with the others it would be 18 sheets.
var printed = []string{"figures", "attribution", "kernel", "limits"}

func (o *htmlPage) document(sections []section, g *cli.Progress) (*page.Document, error) {
	d := &page.Document{Title: "What probes cost", Command: o.command(), Lead: o.lead(),
		Foot: cli.WrittenBy}
	for _, part := range sections {
		g.Part(part.says, 1)
		s, err := part.make()
		if err != nil {
			return nil, err
		}
		s.Screen = !slices.Contains(printed, s.ID)
		if len(s.Blocks) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	return d, nil
}

// figuresFrom names the documents of the figures.
const figuresFrom = "The figures of Pentium M, Opteron 246 and POWER5 are those of the kernel's " +
	"`Documentation/kprobes.txt` of 2005, those of the Xeon E5410 came into it in 2010; today it is " +
	"`Documentation/trace/kprobes.rst`. Measuring needs Linux on x86 (`kpsim overhead script`); without it prices are " +
	"typed by hand (`kpsim overhead nominal`)."

// barsAre says of the figures' bars what they are.
const barsAre = " A bar is an interval, neither the spread of measurements nor the worst case: left out 95 % is by " +
	"jackknife over the 27 figures' errors, and contained the true value in 96 % of simulated sets."

// lead is two paragraphs.
func (o *htmlPage) lead() []page.Text {
	if o.u != nil {
		return []page.Text{page.Text(fmt.Sprintf("What a hit of each probe costs on %s at %g MHz, by a profile "+
			"of that machine. What happens in a hit is counted in simulated runs of the probes' engine: "+
			"exceptions, single steps, instructions, locks, copies. Each such event has the price that the "+
			"profile gives it.",
			o.subject.name, o.u.MHz))}
	}
	return []page.Text{page.Text(fmt.Sprintf("The kernel's documents end in %d figures of what a hit of a "+
		"probe takes; this page has ours beside them. What happens in a hit is counted in simulated runs of "+
		"the probes' engine: exceptions, single steps, instructions, locks, copies. Each such event has a "+
		"price on each machine, which is fitted to the figures.",
		o.r.of)), figuresFrom}
}

// figures is the table of overhead.
func (o *htmlPage) figures() (page.Section, error) {
	s := page.Section{ID: "figures", Title: "The documents' figures, and ours"}
	caption := page.Text("Microseconds that a call takes longer with a probe: documented, and by our costs. " +
		"“!” marks an error of more than 5 %; a documented 0.05 µs may be off by 10 % for its rounding alone.")
	if o.u != nil {
		s.Title = "What a hit takes"
		caption = page.Text("Microseconds and cycles that a call takes longer with a probe. " + o.r.margin.says())
	}
	t := o.r.columns().Grid(o.r.rows).Grouped(caption, 2, func(i int) string {
		l := &o.r.rows[i][0]
		return fmt.Sprintf("%s, %s, %g MHz", l.Name, l.Arch, l.MHz)
	})
	t.Whole = true
	s.Blocks = append(s.Blocks, t)
	var sums page.List
	for i := range o.r.tiers {
		sums = append(sums, page.Text(fmt.Sprintf("%s; %s fitted to all %d figures.", o.r.summary(i), o.r.numbers[i],
			o.r.of)))
	}
	if o.u == nil {
		f, err := o.dots()
		if err != nil {
			return s, err
		}
		s.Blocks = append(s.Blocks, f, sums,
			page.Text("The calibrated costs say what the figures say: they have more numbers than there are figures. "+
				leftOutWords+" A figure has two decimals; beyond rounding is how far ours is outside of what "+
				"is rounded to it."))
	}
	return s, nil
}

// attribution shows what hits are spent on.
func (o *htmlPage) attribution() (page.Section, error) {
	by := "the profile"
	if o.u == nil {
		by = "the " + o.r.tiers[len(o.r.tiers)-1].String() + " costs"
	}
	f := &page.Figure{Screen: true, Caption: page.Text("What a hit is spent on, by " + by +
		": how its cycles are shared out, and how long it is. Hardware: exceptions, returns from them, " +
		"mispredicted branches, flags, instructions of text. Dispatch: to the probe and back, steps, detours. " +
		"The numbers are in " + page.NextTable + ".")}
	for part := range overhead.Parts {
		f.Legend = append(f.Legend, page.Key{Name: part.String(), Of: int(part), Piece: true})
	}
	if o.o != nil {
		shares, err := o.o.Shares(o.r.tiers[len(o.r.tiers)-1], overhead.Hardware)
		if err != nil {
			return page.Section{}, err
		}
		o.within = make(map[string]overhead.Interval)
		for i := range o.o.Samples {
			s := &o.o.Samples[i]
			o.within[s.Machine.ID()+" "+s.Probe.Name] = shares[i]
		}
		f.Caption += " A bar at the end of a time is its interval, left out 95 %; one in a share is between " +
			"which values hardware's lies when each figure is left out of the fit in turn."
	}
	if o.u != nil {
		f.Caption += page.Text(o.subject.margin.bars())
	}
	for _, rows := range o.machines() {
		if err := o.addAttribution(f, rows); err != nil {
			return page.Section{}, err
		}
	}
	g := o.r.shares()
	return page.Section{ID: "attribution", Title: "What a hit is spent on", Blocks: []page.Block{
		f, g.Page("What " + page.LastFigure + " shows in numbers: shares of a hit's cycles, by " + page.Text(by) + "."),
	}}, nil
}

// machines are the rows of each machine.
func (o *htmlPage) machines() (list [][][]lineJSON) {
	for i, row := range o.r.rows {
		if i == 0 || row[0].Machine != o.r.rows[i-1][0].Machine {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], row)
	}
	return list
}

// addAttribution adds the two plots of a machine.
func (o *htmlPage) addAttribution(f *page.Figure, rows [][]lineJSON) error {
	var names []string
	share, long := make([][]float64, overhead.Parts), make([][]float64, overhead.Parts)
	var says []string
	var ofShare, ofTime []plot.Error
	for k, row := range rows {
		l := &row[len(row)-1]
		at := float64(len(rows) - 1 - k) // the axis goes upwards
		if i, ok := o.within[l.Machine+" "+l.Probe]; ok {
			ofShare = append(ofShare, plot.Error{At: 100 * l.shares[overhead.Hardware] / max(l.Cycles, 1),
				Low: 100 * i.Low, High: 100 * i.High, Other: at})
		}
		if within := cmp.Or(l.Predicted, l.Largest); within != nil && !math.IsInf(within.High, 0) {
			ofTime = append(ofTime, bar(l.Usec, *within, at))
		}
		names = append(names, l.title())
		most := 0
		for part, v := range l.shares {
			share[part] = append(share[part], 100*v/max(l.Cycles, 1))
			long[part] = append(long[part], v/l.MHz)
			if v > l.shares[most] {
				most = part
			}
		}
		says = append(says, fmt.Sprintf("%s %.2f µs, %.0f %% of it %s", l.title(), l.Usec,
			100*l.shares[most]/max(l.Cycles, 1), overhead.Part(most)))
	}
	l := &rows[0][0]
	for _, kind := range []struct {
		of, axis string
		pieces   [][]float64
		bars     []plot.Error
	}{{"shares", "% of a hit's cycles", share, ofShare}, {"time", "µs a hit", long, ofTime}} {
		p := plot.New(kind.axis, "")
		if err := p.AddBars(names, kind.pieces); err != nil {
			return err
		}
		if err := p.AddErrors(0, kind.bars, true); err != nil {
			return err
		}
		p.X.Max *= 1.02
		f.Plots = append(f.Plots, page.Plot{
			Title: fmt.Sprintf("%s %s: %s", l.Name, l.Arch, kind.of), Says: strings.Join(says, "; ") + ".",
			Plot: p, Height: plot.BarsHeight(len(names)),
		})
	}
	return nil
}

// bar is an interval as an error bar.
func bar(v float64, i overhead.Interval, other float64) plot.Error {
	return plot.Error{At: v, Low: i.Low, High: i.High, Other: other}
}
