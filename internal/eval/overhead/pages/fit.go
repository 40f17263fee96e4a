package pages

import (
	"fmt"
	"math"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/table"
)

// Fit is kpsim overhead fit.
type Fit struct {
	JSON     bool `name:"json" xor:"form" help:"Print one JSON object a line."`
	Markdown bool `xor:"form" help:"Print tables in Markdown."`
}

// Help implements kong.HelpProvider.
func (*Fit) Help() string {
	return `Print the fitted numbers, the error of each figure, and which figures contradict each other.

Fits both tiers to the documents' 27 figures anew, and prints a summary; the numbers, and which of them are at their bound of 0 or below 0; how far off each figure is, and would be if it, its processor or its architecture were left out; and which figures contradict each other.

In the hits of k and rb together the same happens as in those of b and r, so their figures should have the same sum, whatever anything costs. So for any costs some figure of a machine is off by "at least" so much. A figure is rounded to 0.01 µs: it may be off by 0.005.

Last come figures of 2006 that nothing was fitted to, predicted from others of the same machine.

Examples:

  kpsim overhead fit
  kpsim overhead fit --json | jq 'select(.kind == "residual")'

Exit status: 0, 2 bad input, 3 a bug of the simulator.`
}

// A fitPart is a table of overhead fit.
type fitPart struct {
	title string
	grid  *table.Grid
	json  func(p *cli.Program) error
}

// fitTable makes a part whose objects in JSON have its kind.
func fitTable[R any](kind, title string, columns table.Columns[R], rows []R) fitPart {
	named := append(table.Columns[R]{{JSON: "kind", Value: func(R) any { return kind }}}, columns...)
	return fitPart{title, columns.Grid(rows), func(p *cli.Program) error { return named.PrintJSON(p, rows) }}
}

func (c *Fit) Run(p *cli.Program) (int, error) {
	o, err := overhead.Fit(overhead.Figures())
	if err != nil {
		return 0, err
	}
	parts, err := fitParts(o)
	if err != nil {
		return 0, err
	}
	for i, part := range parts {
		if c.JSON {
			if err := part.json(p); err != nil {
				return 0, err
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(p.Out)
		}
		p.Indented("", fmt.Sprintf("Table %d. %s", i+1, part.title))
		fmt.Fprintln(p.Out)
		part.grid.Print(p, c.Markdown)
	}
	return cli.OK, nil
}

// fitParts returns all tables.
func fitParts(o *overhead.Model) ([]fitPart, error) {
	residuals, err := fittedResiduals(o)
	if err != nil {
		return nil, err
	}
	consistency, err := o.Consistencies()
	if err != nil {
		return nil, err
	}
	summary, err := fittedSummary(o)
	if err != nil {
		return nil, err
	}
	return []fitPart{
		fitTable("summary", "Summary: how far off the fitted tiers are from the documents' figures; left out: "+
			"each figure by a fit without it, without all figures of its processor, or of its architecture:",
			sumColumns, summary),
		fittedNumbers(o),
		fitTable("residual", "What is left, and the error for each figure when the fit is without it, its "+
			"processor or its architecture:", residualColumns, residuals),
		fitTable("consistency", "How far off the worst figure is at least, whatever the costs are (a core: of "+
			"both its machines, what goes along with an exception being the core's):", consistencyColumns, consistency),
		fitTable("contrast", "Sums of figures in whose hits the same happens:", contrastColumns, o.Contrasts()),
		fitTable("prediction",
			"Predicted, not fitted: Pentium 4 at 3.06 GHz, Linux 2.6.16-rc1 (Masami Hiramatsu, linux-kernel, "+
				"30 Jan 2006):", predictionColumns, overhead.Booster()),
	}, nil
}

// A fittedSum says how well a tier fits.
type fittedSum struct {
	tier             string
	numbers, apart   int // apart: numbers, by the figures
	figures          int
	worst            *overhead.Line
	error, mean      float64
	within1, within5 int
}

func (s *fittedSum) of(n int) string { return fmt.Sprintf("%d of %d", n, s.figures) }

var sumColumns = table.Columns[*fittedSum]{
	{Head: "tier", JSON: "tier", Value: func(s *fittedSum) any { return s.tier }},
	{Head: "numbers", JSON: "numbers", Form: "%d", Late: true, Value: func(s *fittedSum) any { return s.numbers }},
	{Head: "told apart", JSON: "told_apart", Form: "%d", Late: true, Value: func(s *fittedSum) any { return s.apart }},
	{JSON: "figures", Value: func(s *fittedSum) any { return s.figures }},
	{Head: "worst", Text: func(s *fittedSum) string { return s.worst.Machine.ID() + " " + s.worst.Probe.Title() }},
	{JSON: "worst_machine", Value: func(s *fittedSum) any { return s.worst.Machine.ID() }},
	{JSON: "worst_probe", Value: func(s *fittedSum) any { return s.worst.Probe.Name }},
	{Head: "worst %", JSON: "worst_error", Form: "%.1f", Times: 100, Value: func(s *fittedSum) any { return s.error }},
	{Head: "mean %", JSON: "mean_error", Form: "%.2f", Times: 100, Value: func(s *fittedSum) any { return s.mean }},
	{Head: "within 1 %", JSON: "within_1_percent", Form: "%d",
		Value: func(s *fittedSum) any { return s.within1 }, Text: func(s *fittedSum) string { return s.of(s.within1) }},
	{Head: "within 5 %", JSON: "within_5_percent", Form: "%d",
		Value: func(s *fittedSum) any { return s.within5 }, Text: func(s *fittedSum) string { return s.of(s.within5) }},
}

// fittedSummary sums each tier up.
func fittedSummary(o *overhead.Model) (sums []*fittedSum, err error) {
	add := func(t overhead.Tier, left string, lines []overhead.Line, errors []float64) {
		sum := &fittedSum{tier: t.String() + left, numbers: o.Fits(t), apart: o.Numbers(t), figures: len(lines)}
		for i, e := range errors {
			if i == 0 || math.Abs(e) > math.Abs(sum.error) {
				sum.error, sum.worst = e, &lines[i]
			}
			sum.mean += math.Abs(e) / float64(len(errors))
			if math.Abs(e) <= 0.01 {
				sum.within1++
			}
			if math.Abs(e) <= 0.05 {
				sum.within5++
			}
		}
		sums = append(sums, sum)
	}
	for _, t := range []overhead.Tier{overhead.Calibrated, overhead.Mechanistic} {
		lines, err := o.Table(t)
		if err != nil {
			return nil, err
		}
		var errors []float64
		for i := range lines {
			errors = append(errors, lines[i].Error)
		}
		add(t, "", lines, errors)
		for l, says := range [...]string{", left out", ", machine left out", ", architecture left out"} {
			if t == overhead.Calibrated && l > 0 {
				break // a machine without figures has no calibration
			}
			errors, err := o.LeaveOut(t, overhead.Left(l))
			if err != nil {
				return nil, err
			}
			add(t, says, lines, errors)
		}
	}
	return sums, nil
}

// A fittedNumber is a term of a core's or a machine's costs.
type fittedNumber struct {
	tier overhead.Tier
	of   string // core or machine
	overhead.Term
}

var numberColumns = table.Columns[fittedNumber]{
	{Head: "tier", JSON: "tier", Value: func(n fittedNumber) any { return n.tier.String() }},
	{Head: "of", JSON: "of", Value: func(n fittedNumber) any { return n.of }},
	{Head: "what", JSON: "name", Value: func(n fittedNumber) any { return n.Of }},
	{Head: "cycles", JSON: "cycles", Form: "%.2f", Late: true, Value: func(n fittedNumber) any { return n.Each }},
	{Head: "which is", JSON: "mark,omitempty", Value: func(n fittedNumber) any { return n.Mark }},
}

func fittedNumbers(o *overhead.Model) fitPart {
	var rows []fittedNumber
	add := func(t overhead.Tier, of string, terms []overhead.Term) {
		for _, term := range terms {
			rows = append(rows, fittedNumber{t, of, term})
		}
	}
	for _, m := range o.CoreOwners() {
		add(overhead.Mechanistic, m.Name, o.Fitted(m))
	}
	for _, m := range o.Machines() {
		add(overhead.Calibrated, m.ID(), o.Calibration(m))
	}
	n := o.Fits(overhead.Mechanistic)
	title := fmt.Sprintf("The numbers that are fitted: %d of the mechanistic tier, for a core each; the "+
		"calibrated one has these and %d more, which come on top of an event's cost:",
		n, o.Fits(overhead.Calibrated)-n)
	return fitTable("number", title, numberColumns, rows)
}

// A residual is a figure in both tiers, and its errors when it is left out of the fit.
type residual struct {
	calibrated, mechanistic *overhead.Line
	repeated                float64    // of the calibrated tier
	left                    [3]float64 // of the mechanistic one
}

// more is by how much ours is longer, in ns.
func more(l *overhead.Line) string { return table.Signless(fmt.Sprintf("%.1f", 1000*(l.Ours-l.Usec))) }

var residualColumns = table.Columns[*residual]{
	{Head: "machine", JSON: "machine", Value: func(r *residual) any { return r.calibrated.Machine.ID() }},
	{Head: "probe", JSON: "probe",
		Value: func(r *residual) any { return r.calibrated.Probe.Name },
		Text:  func(r *residual) string { return r.calibrated.Probe.Title() }},
	{Head: "documented µs", JSON: "documented_us", Form: "%.2f",
		Value: func(r *residual) any { return r.calibrated.Usec }},
	{Head: "calibrated: ns more", JSON: "calibrated_us", Form: "%.1f",
		Value: func(r *residual) any { return r.calibrated.Ours },
		Text:  func(r *residual) string { return more(r.calibrated) }},
	{Head: "%", Form: "%.1f", Times: 100, Value: func(r *residual) any { return r.calibrated.Error }},
	{Head: "left out %", Form: "%.1f", Times: 100, Value: func(r *residual) any { return r.repeated }},
	{Head: "mechanistic: ns more", JSON: "mechanistic_us", Form: "%.1f",
		Value: func(r *residual) any { return r.mechanistic.Ours },
		Text:  func(r *residual) string { return more(r.mechanistic) }},
	{Head: "%", Form: "%.1f", Times: 100, Value: func(r *residual) any { return r.mechanistic.Error }},
	{Head: "left out %", JSON: "left_out_error", Form: "%.1f", Times: 100,
		Value: func(r *residual) any { return r.left[overhead.LeftFigure] }},
	{Head: "machine out %", JSON: "left_out_machine_error", Form: "%.1f", Times: 100,
		Value: func(r *residual) any { return r.left[overhead.LeftMachine] }},
	{Head: "arch out %", JSON: "left_out_architecture_error", Form: "%.1f", Times: 100,
		Value: func(r *residual) any { return r.left[overhead.LeftArch] }},
	{JSON: "calibrated_left_out_error", Value: func(r *residual) any { return r.repeated }},
}

func fittedResiduals(o *overhead.Model) (rows []*residual, err error) {
	calibrated, err := o.Table(overhead.Calibrated)
	if err != nil {
		return nil, err
	}
	mechanistic, err := o.Table(overhead.Mechanistic)
	if err != nil {
		return nil, err
	}
	repeated, err := o.LeaveOut(overhead.Calibrated, overhead.LeftFigure)
	if err != nil {
		return nil, err
	}
	for i := range calibrated {
		rows = append(rows, &residual{calibrated: &calibrated[i], mechanistic: &mechanistic[i], repeated: repeated[i]})
	}
	for l := range 3 {
		left, err := o.LeaveOut(overhead.Mechanistic, overhead.Left(l))
		if err != nil {
			return nil, err
		}
		for i, e := range left {
			rows[i].left[l] = e
		}
	}
	return rows, nil
}

var consistencyColumns = table.Columns[overhead.Consistency]{
	{Head: "of", JSON: "of", Value: func(k overhead.Consistency) any { return k.Of }},
	{Head: "figures", JSON: "figures", Form: "%d", Late: true,
		Value: func(k overhead.Consistency) any { return k.Figures }},
	{Head: "numbers", JSON: "numbers", Form: "%d", Late: true,
		Value: func(k overhead.Consistency) any { return k.Numbers }},
	{Head: "at least ns", JSON: "least_largest_error_us", Form: "%.2f", Times: 1000, Late: true,
		Value: func(k overhead.Consistency) any { return k.Least }},
	{Head: "rounded to 5 ns", JSON: "says", Value: func(k overhead.Consistency) any {
		switch {
		case k.Beyond():
			return "can't all be right"
		case k.AtLimit():
			return "just agree, some at 5 ns"
		}
		return "agree"
	}},
}

var contrastColumns = table.Columns[overhead.Contrast]{
	{Head: "machine", JSON: "machine", Value: func(k overhead.Contrast) any { return k.Machine.ID() }},
	{Head: "figures", JSON: "probes",
		Value: func(k overhead.Contrast) any { return k.Probes },
		Text:  func(k overhead.Contrast) string { return k.String() }},
	{Head: "µs", JSON: "us", Form: "%.2f", Late: true, Value: func(k overhead.Contrast) any { return k.Usec }},
	{Head: "rounded to 0.01", JSON: "says", Value: func(k overhead.Contrast) any {
		if k.AtLimit() {
			return "only if all four are rounded by 0.005"
		}
		return "agree"
	}},
}

var predictionColumns = table.Columns[overhead.Prediction]{
	{Head: "figure", JSON: "says", Value: func(k overhead.Prediction) any { return k.Says }},
	{Head: "predicted as", JSON: "how", Value: func(k overhead.Prediction) any { return k.How }},
	{Head: "published µs", JSON: "published_us", Form: "%.1f",
		Value: func(k overhead.Prediction) any { return k.Usec }},
	{Head: "predicted", JSON: "predicted_us", Form: "%.2f",
		Value: func(k overhead.Prediction) any { return k.Predicted }},
	{Head: "rounding leaves", JSON: "low_us", Form: "%.2f",
		Value: func(k overhead.Prediction) any { return k.Low },
		Text:  func(k overhead.Prediction) string { return fmt.Sprintf("%.2f to %.2f", k.Low, k.High) }},
	{JSON: "high_us", Value: func(k overhead.Prediction) any { return k.High }},
	{Head: "error %", JSON: "error", Form: "%.1f", Times: 100,
		Value: func(k overhead.Prediction) any { return k.Error() }},
}
