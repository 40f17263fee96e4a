package pages

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/table"
	"kpsim/smp/cycles"
)

// A machineJSON is whose costs a figure is by, as --json prints it.
type machineJSON struct {
	Machine string  `json:"machine"`
	Name    string  `json:"name"`
	Arch    string  `json:"arch"`
	MHz     float64 `json:"mhz"`
}

// A hitJSON is what a figure is of, as --json prints it.
type hitJSON struct {
	machineJSON
	// Edition is the engine's; "": that of the machine's figures, without --edition.
	Edition string `json:"edition,omitempty"`
	Probe   string `json:"probe"`
	Says    string `json:"says"`
	Costs   string `json:"tier"` // or profile
}

// title is the probe's full name, and the documents' in brackets.
func (h *hitJSON) title() string { return h.Says + " (" + h.Probe + ")" }

// A lineJSON is a figure in one tier, as --json prints it.
type lineJSON struct {
	hitJSON
	Documented *float64 `json:"documented_us"`
	Usec       float64  `json:"us"`
	Cycles     float64  `json:"cycles"`
	Error      *float64 `json:"error"`
	Beyond     *float64 `json:"error_beyond_rounding"`
	// printed with two decimals it is the figure
	Same    *bool    `json:"same"`
	LeftOut *float64 `json:"left_out_error"` // by a fit without this figure
	// without its processor's, of the mechanistic tier
	NoMachine *float64           `json:"left_out_machine_error,omitempty"`
	NoArch    *float64           `json:"left_out_architecture_error,omitempty"` // without its architecture's, likewise
	Predicted *overhead.Interval `json:"left_out_us_95"`                        // null: a profile's
	Largest   *overhead.Interval `json:"largest_left_out_us,omitempty"`         // a profile's
	Events    map[string]float64 `json:"events"`
	Parts     map[string]float64 `json:"part_cycles"`
	Prices    map[string]float64 `json:"event_cycles"`
	From      map[string]string  `json:"event_from,omitempty"` // a profile's comments
	Guessed   []string           `json:"events_in_no_figure,omitempty"`

	figureEdition string // the engine's
	margin        *margin
	shares        [overhead.Parts]float64
	probe         overhead.Probe
	hit           overhead.Hit
	costs         *cycles.Profile
}

// A report is what overhead prints.
type report struct {
	tiers   []overhead.Tier
	rows    [][]lineJSON // a figure each, in each tier
	of      int          // figures there are
	numbers []string     // fitted in each tier
	source  string       // the file, if it is a profile's
	margin  *margin      // a profile's
	profile *overhead.UserProfile
}

// report makes the table.
func (c *Table) report(o *overhead.Model) (*report, error) {
	r := &report{of: len(o.Samples)}
	r.tiers, _ = tiersOf(c.Tier)
	for k, t := range r.tiers {
		r.numbers = append(r.numbers, numbersOf(o, t))
		var left [3][]float64
		for l := range left {
			var err error
			if left[l], err = o.LeaveOut(t, overhead.Left(l)); err != nil {
				return nil, err
			}
		}
		relative, err := o.Margin(t)
		if err != nil {
			return nil, err
		}
		off := &margin{relative: relative, figures: len(o.Samples)}
		lines, err := o.Table(t)
		if err != nil {
			return nil, err
		}
		at := 0
		for i := range lines {
			l := &lines[i]
			if !c.wants(l.Machine, l.Probe.Name) {
				continue
			}
			costs, err := o.Profile(l.Machine, t)
			if err != nil {
				return nil, err
			}
			row := lineOfHit(l.Machine.Name, l.Machine.Arch, l.Machine.MHz, l.Probe, &l.Hit, costs)
			same, beyond := l.Same(), l.Beyond()
			row.Costs, row.Documented, row.Error, row.Beyond, row.Same = t.String(), &l.Usec, &l.Error, &beyond, &same
			row.LeftOut = &left[overhead.LeftFigure][i]
			if t == overhead.Mechanistic {
				row.NoMachine, row.NoArch = &left[overhead.LeftMachine][i], &left[overhead.LeftArch][i]
			}
			row.margin, row.Predicted = off, off.around(row.Usec).Predicted
			row.figureEdition = l.Machine.Edition()
			if k == 0 {
				r.rows = append(r.rows, nil)
			}
			r.rows[at] = append(r.rows[at], row)
			at++
		}
	}
	if len(r.rows) == 0 {
		return nil, c.nothing()
	}
	return r, nil
}

func lineOfHit(name, arch string, mhz float64, q *overhead.Probe, h *overhead.Hit, costs *cycles.Profile) lineJSON {
	l := lineJSON{
		hitJSON: hitJSON{
			machineJSON: machineJSON{(&overhead.Machine{Name: name, Arch: arch}).ID(), name, arch, mhz}, Probe: q.Name,
			Says: q.Says,
		},
		Usec: h.Cycles / mhz, Cycles: h.Cycles, shares: h.Shares(costs), probe: *q, hit: *h, costs: costs,
		Events: make(map[string]float64), Parts: make(map[string]float64), Prices: make(map[string]float64),
	}
	for e, n := range h.Events {
		if n != 0 {
			l.Events[cycles.Event(e).String()] = n
			l.Prices[cycles.Event(e).String()] = float64(costs[e]) / cycles.Unit
		}
	}
	for part, v := range l.shares {
		l.Parts[strings.ReplaceAll(overhead.Part(part).String(), " ", "_")] = v
	}
	return l
}

// priced prints what probes cost by a user's profile.
func (c *Table) priced(p *cli.Program) error {
	r, _, err := c.pricedReport()
	if err != nil {
		return err
	}
	return r.print(p, c)
}

// pricedReport makes the table of a user's profile.
func (c *Table) pricedReport() (*report, *overhead.UserProfile, error) {
	u, err := readProbes(string(c.Profile))
	if err != nil {
		return nil, nil, err
	}
	r := &report{source: string(c.Profile), margin: marginOf(u), profile: u}
	for _, q := range u.Probes() {
		if !c.wants(nil, q.Name) {
			continue
		}
		h, err := q.Measure(&u.Costs)
		if err != nil {
			return nil, nil, err
		}
		l := lineOfHit(u.Name, u.Arch, u.MHz, &q, &h, &u.Costs)
		l.Costs = "profile"
		l.From = make(map[string]string)
		for _, e := range cycles.All() {
			if h.Events[e] != 0 {
				l.From[e.String()] = u.From(e)
			}
		}
		l.margin = r.margin
		l.Largest = l.margin.around(l.Usec).Largest
		r.rows = append(r.rows, []lineJSON{l})
	}
	if len(r.rows) == 0 {
		return nil, nil, fmt.Errorf("--probe: in edition %s there is no %s; kpsim overhead --profile %s prints "+
			"all there are", u.Edition, strings.Join(c.Probes, " or "), c.Profile)
	}
	return r, u, nil
}

func (r *report) print(p *cli.Program, c *Table) error {
	switch {
	case c.JSON:
		for _, row := range r.rows {
			for i := range row {
				if err := p.PrintJSON(&row[i]); err != nil {
					return err
				}
			}
		}
	case c.Bench:
		r.bench(p)
	default:
		r.figures(p, c.Markdown)
		r.attribution(p, c.Markdown)
	}
	return nil
}

// columns are a figure's: the documents' beside ours, or ours alone. Pages have the first two above a machine's rows.
func (r *report) columns() table.Columns[[]lineJSON] {
	type row = []lineJSON
	list := table.Columns[row]{
		{Head: "machine", Value: func(l row) any { return l[0].Name }},
		{Head: "arch", Value: func(l row) any { return l[0].Arch }},
		{Head: "probe", Value: func(l row) any { return l[0].title() }},
		{Head: "documented µs", Form: "%.2f", Value: func(l row) any { return l[0].Documented }},
	}
	if r.source != "" {
		list = append(list[:3],
			table.Column[row]{Head: "µs", Form: "%.3f", Value: func(l row) any { return l[0].Usec }},
			table.Column[row]{Head: "cycles", Form: "%.0f", Value: func(l row) any { return l[0].Cycles }})
		if r.margin != nil {
			list = slices.Insert(list, 4, r.margin.column(true, func(l row) float64 { return l[0].Usec }))
		}
	}
	for i, t := range r.tiers {
		for k, head := range headsOf(t) {
			c := table.Column[row]{Head: head, Form: "%.3f", Value: func(l row) any { return l[i].Usec }}
			if k > 0 {
				c.Form, c.Times = "%.1f", 100
				c.Value = func(l row) any { return l[i].errors(t)[k-1] }
				c.Mark = func(l row) string { return farOff(l[i].errors(t)[k-1]) }
			}
			list = append(list, c)
		}
	}
	return list
}

// farOff marks a relative error that is large.
func farOff(v float64) string {
	if math.Abs(v) > 0.05 {
		return "more than 5 % off"
	}
	return ""
}

// figures prints them, and what holds of all.
func (r *report) figures(p *cli.Program, markdown bool) {
	r.columns().Grid(r.rows).Print(p, markdown)
	if len(r.tiers) > 0 {
		fmt.Fprintln(p.Out)
	}
	for i := range r.tiers {
		line := r.summary(i)
		if markdown {
			line = "- " + line
		}
		fmt.Fprintf(p.Out, "%s; %s fitted to all %d figures\n", line, r.numbers[i], r.of)
	}
	if len(r.tiers) > 0 {
		fmt.Fprintln(p.Out, "\n"+leftOutWords)
	}
	if r.source != "" {
		fmt.Fprintln(p.Out)
		p.Indented("", r.margin.says())
	}
	for _, row := range r.rows {
		if l := &row[0]; r.source == "" && l.Arch == "ppc64" {
			fmt.Fprintln(p.Out, "\nppc64's events are those of its own engine, of ppc64le; its kernel's instructions "+
				"are put at x86_64's.")
			break
		}
	}
}

// leftOutWords says what is left out.
const leftOutWords = "Left out: the error for a figure by a fit without it. Machine out, arch out: by a fit " +
	"without all figures of its processor, or of its architecture; a core without figures has the numbers of " +
	"one that is fitted to all the others."

// headsOf are the columns of a tier.
func headsOf(t overhead.Tier) []string {
	heads := []string{t.String() + " µs", "error %", "left out %"}
	if t == overhead.Mechanistic {
		heads = append(heads, "machine out %", "arch out %")
	}
	return heads
}

// errors are those of a figure, in the order of headsOf.
func (l *lineJSON) errors(t overhead.Tier) []float64 {
	list := []float64{*l.Error, *l.LeftOut}
	if t == overhead.Mechanistic {
		list = append(list, *l.NoMachine, *l.NoArch)
	}
	return list
}

// numbersOf says how many numbers a tier fits.
func numbersOf(o *overhead.Model, t overhead.Tier) string {
	n, apart := o.Fits(t), o.Numbers(t)
	if n == apart {
		return cli.Number(n, "number")
	}
	return fmt.Sprintf("%s (the figures tell %d apart)", cli.Number(n, "number"), apart)
}

// summary says how far off a tier is.
func (r *report) summary(tier int) string {
	var mean float64
	var left [3]struct{ mean, most float64 } // by what is left out
	same := 0
	worst, beyond := &r.rows[0][tier], &r.rows[0][tier]
	for _, row := range r.rows {
		l := &row[tier]
		mean += math.Abs(*l.Error) / float64(len(r.rows))
		if math.Abs(*l.Error) > math.Abs(*worst.Error) {
			worst = l
		}
		if *l.Beyond > *beyond.Beyond {
			beyond = l
		}
		if *l.Same {
			same++
		}
		for k, e := range l.errors(r.tiers[tier])[1:] {
			left[k].mean += math.Abs(e) / float64(len(r.rows))
			left[k].most = max(left[k].most, math.Abs(e))
		}
	}
	text := fmt.Sprintf("%s: mean error %.2f %%, largest %.2f %% (%s %s), beyond rounding %.2f %% (%s %s)",
		r.tiers[tier],
		100*mean, 100*math.Abs(*worst.Error), worst.Machine, worst.title(), 100**beyond.Beyond, beyond.Machine,
		beyond.title())
	if *beyond.Beyond == 0 {
		text = fmt.Sprintf("%s: mean error %.2f %%, largest %.2f %% (%s %s), all within rounding", r.tiers[tier],
			100*mean, 100*math.Abs(*worst.Error), worst.Machine, worst.title())
	}
	for k, what := range headsOf(r.tiers[tier])[2:] {
		text += fmt.Sprintf(", %s %.2f %%, largest %.2f %%", strings.TrimSuffix(what, " %"), 100*left[k].mean,
			100*left[k].most)
	}
	return fmt.Sprintf("%s; %d of %d print alike", text, same, len(r.rows))
}

// shares is what hits are spent on, by the last of the tiers: how a cost is shared out is
// what the mechanistic one is of.
func (r *report) shares() *table.Grid {
	g := &table.Grid{Head: []string{"machine", "arch", "probe", "cycles"}, Text: 3}
	editions := r.rows[0][0].Edition != ""
	if editions {
		g.Head, g.Text = slices.Insert(g.Head, 2, "edition"), 4
	}
	for part := range overhead.Parts {
		g.Head = append(g.Head, part.String()+" %")
	}
	for _, row := range r.rows {
		l := &row[len(row)-1]
		cells := []string{l.Name, l.Arch, l.title(), fmt.Sprintf("%.0f", l.Cycles)}
		if editions {
			cells = slices.Insert(cells, 2, l.Edition)
		}
		for _, v := range l.shares {
			cells = append(cells, table.PerCent(v/max(l.Cycles, 1))) // a profile's costs may be nothing
		}
		g.Add(cells...)
	}
	return g
}

// attribution prints it.
func (r *report) attribution(p *cli.Program, markdown bool) {
	by := "the profile"
	if r.source == "" {
		by = "the " + r.tiers[len(r.tiers)-1].String() + " costs"
	}
	fmt.Fprintf(p.Out, "\nWhat a hit is spent on, by %s:\n\n", by)
	r.shares().Print(p, markdown)
	if r.profile != nil {
		fmt.Fprint(p.Out, "\nWhat each event of these hits costs, by the profile:\n\n")
		profileColumns.Grid(profileCosts(r.profile, r.events())).Print(p, markdown)
	}
}

// events are those of the hits.
func (r *report) events() []cycles.Event {
	return slices.DeleteFunc(cycles.All(), func(e cycles.Event) bool {
		return !slices.ContainsFunc(r.rows, func(row []lineJSON) bool { return row[0].hit.Events[e] != 0 })
	})
}

// bench prints what benchstat reads: a tier is a key of the configuration.
func (r *report) bench(p *cli.Program) {
	fmt.Fprintln(p.Out, "pkg: kpsim/properties/overhead")
	for i := range r.rows[0] {
		fmt.Fprintf(p.Out, "costs: %s\n", r.rows[0][i].Costs)
		for _, row := range r.rows {
			l := &row[i]
			fmt.Fprintf(p.Out, "%s 1 %.1f ns/op %.1f cycles/hit\n", benchName(l.Machine, l.Edition, l.Probe),
				1000*l.Usec, l.Cycles)
		}
	}
}

// benchName is the name of a benchmark.
func benchName(machine, edition, probe string) string {
	name := "BenchmarkHit/machine=" + strings.Map(benchRune, machine)
	if edition != "" {
		name += "/edition=" + edition
	}
	return name + "/probe=" + probe
}

// benchRune keeps what isn't taken for the end of a name's part.
func benchRune(r rune) rune {
	if strings.ContainsRune("/= \t", r) {
		return '_'
	}
	return r
}
