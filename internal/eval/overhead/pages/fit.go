package pages

import (
	"fmt"
	"math"

	"kpsim/internal/cli"
	"kpsim/internal/eval/overhead"
	"kpsim/internal/table"
)

type Fit struct {
	JSON     bool `name:"json" xor:"form" help:"Print one JSON object a line."`
	Markdown bool `xor:"form" help:"Print tables in Markdown."`
}

// What --json prints, each with its kind.
type (
	fittedNumber struct {
		Kind   string  `json:"kind"` // number
		Tier   string  `json:"tier"`
		Of     string  `json:"of"` // core or machine
		Name   string  `json:"name"`
		Cycles float64 `json:"cycles"`
		Mark   string  `json:"mark,omitempty"` // it is at its bound, or below 0
	}
	fittedFigure struct {
		Kind        string  `json:"kind"` // residual
		Machine     string  `json:"machine"`
		Probe       string  `json:"probe"`
		Documented  float64 `json:"documented_us"`
		Calibrated  float64 `json:"calibrated_us"`
		Mechanistic float64 `json:"mechanistic_us"`
		LeftOut     float64 `json:"left_out_error"` // mechanistic, as those that follow
		NoMachine   float64 `json:"left_out_machine_error"`
		NoArch      float64 `json:"left_out_architecture_error"`
		Repeated    float64 `json:"calibrated_left_out_error"`
	}
	fittedLeast struct {
		Kind    string  `json:"kind"` // consistency
		Of      string  `json:"of"`
		Figures int     `json:"figures"`
		Numbers int     `json:"numbers"`
		Least   float64 `json:"least_largest_error_us"`
		Says    string  `json:"says"`
	}
	fittedSum struct {
		Kind    string  `json:"kind"` // summary
		Tier    string  `json:"tier"`
		Numbers int     `json:"numbers"`
		Apart   int     `json:"told_apart"` // numbers, by the figures
		Figures int     `json:"figures"`
		Machine string  `json:"worst_machine"`
		Probe   string  `json:"worst_probe"`
		Worst   float64 `json:"worst_error"`
		Mean    float64 `json:"mean_error"`
		Within1 int     `json:"within_1_percent"`
		Within5 int     `json:"within_5_percent"`
	}
	fittedContrast struct {
		Kind    string    `json:"kind"` // contrast
		Machine string    `json:"machine"`
		Probes  [4]string `json:"probes"`
		Usec    float64   `json:"us"`
		Says    string    `json:"says"`
	}
	fittedPrediction struct {
		Kind      string  `json:"kind"` // prediction
		Says      string  `json:"says"`
		How       string  `json:"how"`
		Usec      float64 `json:"published_us"`
		Predicted float64 `json:"predicted_us"`
		Low       float64 `json:"low_us"`
		High      float64 `json:"high_us"`
		Error     float64 `json:"error"`
	}
)

// A fitPart is a table of overhead fit.
type fitPart struct {
	title   string
	grid    table.Grid
	objects []any // what --json prints
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
			for _, v := range part.objects {
				if err := p.PrintJSON(v); err != nil {
					return 0, err
				}
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
	consistency, err := fittedConsistency(o)
	if err != nil {
		return nil, err
	}
	summary, err := fittedSummary(o)
	if err != nil {
		return nil, err
	}
	return []fitPart{summary, fittedNumbers(o), residuals, consistency, fittedContrasts(o), fittedPredictions()}, nil
}

// fittedSummary says how well each tier fits.
func fittedSummary(o *overhead.Model) (part fitPart, err error) {
	g := table.Grid{Head: []string{"tier", "worst", "worst %", "mean %", "within 1 %", "within 5 %", "numbers", "told apart"}, Text: 2}
	var objects []any
	add := func(t overhead.Tier, left string, lines []overhead.Line, errors []float64) {
		tier := t.String() + left
		sum := fittedSum{Kind: "summary", Tier: tier, Numbers: o.Fits(t), Apart: o.Numbers(t), Figures: len(lines)}
		for i, e := range errors {
			if l := &lines[i]; i == 0 || math.Abs(e) > math.Abs(sum.Worst) {
				sum.Worst, sum.Machine, sum.Probe = e, l.Machine.ID(), l.Probe.Name
			}
			sum.Mean += math.Abs(e) / float64(len(errors))
			if math.Abs(e) <= 0.01 {
				sum.Within1++
			}
			if math.Abs(e) <= 0.05 {
				sum.Within5++
			}
		}
		worst := sum.Machine
		for i := range lines {
			if l := &lines[i]; l.Machine.ID() == sum.Machine && l.Probe.Name == sum.Probe {
				worst += " " + l.Probe.Title()
			}
		}
		of := func(n int) string { return fmt.Sprintf("%d of %d", n, len(lines)) }
		g.Add(tier, worst, table.PerCent(sum.Worst), fmt.Sprintf("%.2f", 100*sum.Mean), of(sum.Within1), of(sum.Within5), fmt.Sprint(sum.Numbers), fmt.Sprint(sum.Apart))
		objects = append(objects, &sum)
	}
	for _, t := range []overhead.Tier{overhead.Calibrated, overhead.Mechanistic} {
		lines, err := o.Table(t)
		if err != nil {
			return part, err
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
				return part, err
			}
			add(t, says, lines, errors)
		}
	}
	return fitPart{"Summary: how far off the fitted tiers are from the documents' figures; left out: each figure by a fit without it, without all figures of its processor, or of its architecture:", g, objects}, nil
}

func fittedNumbers(o *overhead.Model) fitPart {
	g := table.Grid{Head: []string{"tier", "of", "what", "which is", "cycles"}, Text: 4}
	var objects []any
	add := func(t overhead.Tier, of string, terms []overhead.Term) {
		for _, term := range terms {
			g.Add(t.String(), of, term.Of, term.Mark, table.Signless(fmt.Sprintf("%.2f", term.Each)))
			objects = append(objects, &fittedNumber{"number", t.String(), of, term.Of, term.Each, term.Mark})
		}
	}
	for _, m := range o.CoreOwners() {
		add(overhead.Mechanistic, m.Name, o.Fitted(m))
	}
	for _, m := range o.Machines() {
		add(overhead.Calibrated, m.ID(), o.Calibration(m))
	}
	n := o.Fits(overhead.Mechanistic)
	title := fmt.Sprintf("The numbers that are fitted: %d of the mechanistic tier, for a core each; the calibrated one has these and %d more, which come on top of an event's cost:",
		n, o.Fits(overhead.Calibrated)-n)
	return fitPart{title, g, objects}
}

func fittedResiduals(o *overhead.Model) (part fitPart, err error) {
	calibrated, err := o.Table(overhead.Calibrated)
	if err != nil {
		return part, err
	}
	mechanistic, err := o.Table(overhead.Mechanistic)
	if err != nil {
		return part, err
	}
	repeated, err := o.LeaveOut(overhead.Calibrated, overhead.LeftFigure)
	if err != nil {
		return part, err
	}
	var left [3][]float64
	for l := range left {
		if left[l], err = o.LeaveOut(overhead.Mechanistic, overhead.Left(l)); err != nil {
			return part, err
		}
	}
	g := table.Grid{Head: []string{"machine", "probe", "documented µs", "calibrated: ns more", "%", "left out %", "mechanistic: ns more", "%", "left out %", "machine out %", "arch out %"}, Text: 2}
	var objects []any
	for i := range calibrated {
		a, b := &calibrated[i], &mechanistic[i]
		ns := func(l *overhead.Line) string { return table.Signless(fmt.Sprintf("%.1f", 1000*(l.Ours-l.Usec))) }
		figure, machine, arch := left[overhead.LeftFigure][i], left[overhead.LeftMachine][i], left[overhead.LeftArch][i]
		g.Add(a.Machine.ID(), a.Probe.Title(), fmt.Sprintf("%.2f", a.Usec), ns(a), table.PerCent(a.Error), table.PerCent(repeated[i]),
			ns(b), table.PerCent(b.Error), table.PerCent(figure), table.PerCent(machine), table.PerCent(arch))
		objects = append(objects, &fittedFigure{"residual", a.Machine.ID(), a.Probe.Name, a.Usec, a.Ours, b.Ours, figure, machine, arch, repeated[i]})
	}
	return fitPart{"What is left, and the error for each figure when the fit is without it, its processor or its architecture:", g, objects}, nil
}

func fittedConsistency(o *overhead.Model) (part fitPart, err error) {
	list, err := o.Consistencies()
	if err != nil {
		return part, err
	}
	g := table.Grid{Head: []string{"of", "rounded to 5 ns", "figures", "numbers", "at least ns"}, Text: 2}
	var objects []any
	for _, k := range list {
		says := "agree"
		switch {
		case k.Beyond():
			says = "can't all be right"
		case k.AtLimit():
			says = "just agree, some at 5 ns"
		}
		g.Add(k.Of, says, fmt.Sprint(k.Figures), fmt.Sprint(k.Numbers), table.Signless(fmt.Sprintf("%.2f", 1000*k.Least)))
		objects = append(objects, &fittedLeast{"consistency", k.Of, k.Figures, k.Numbers, k.Least, says})
	}
	return fitPart{"How far off the worst figure is at least, whatever the costs are (a core: of both its machines, what goes along with an exception being the core's):", g, objects}, nil
}

func fittedContrasts(o *overhead.Model) fitPart {
	g := table.Grid{Head: []string{"machine", "figures", "rounded to 0.01", "µs"}, Text: 3}
	var objects []any
	for _, k := range o.Contrasts() {
		says := "agree"
		if k.AtLimit() {
			says = "only if all four are rounded by 0.005"
		}
		g.Add(k.Machine.ID(), k.String(), says, table.Signless(fmt.Sprintf("%.2f", k.Usec)))
		objects = append(objects, &fittedContrast{"contrast", k.Machine.ID(), k.Probes, k.Usec, says})
	}
	return fitPart{"Sums of figures in whose hits the same happens:", g, objects}
}

func fittedPredictions() fitPart {
	g := table.Grid{Head: []string{"figure", "predicted as", "published µs", "predicted", "rounding leaves", "error %"}, Text: 2}
	var objects []any
	for _, k := range overhead.Booster() {
		g.Add(k.Says, k.How, fmt.Sprintf("%.1f", k.Usec), fmt.Sprintf("%.2f", k.Predicted), fmt.Sprintf("%.2f to %.2f", k.Low, k.High), table.PerCent(k.Error()))
		objects = append(objects, &fittedPrediction{"prediction", k.Says, k.How, k.Usec, k.Predicted, k.Low, k.High, k.Error()})
	}
	return fitPart{"Predicted, not fitted: Pentium 4 at 3.06 GHz, Linux 2.6.16-rc1 (Masami Hiramatsu, linux-kernel, 30 Jan 2006):", g, objects}
}
