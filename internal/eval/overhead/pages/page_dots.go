package pages

import (
	"fmt"
	"slices"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/page/plot"
	"kpsim/internal/ui/table"
)

// The series of the dot plots.
const (
	dotDocumented = iota
	dotCalibrated
	dotPredicted
	dotMachine
	dotArch
)

var dotNames = []string{"documented", "calibrated", "predicted without the figure", "without its processor",
	"without its architecture"}

// dots shows all figures at once: documented, calibrated, and predicted without them; beside it predicted without all
// figures of their processor, or architecture.
func (o *htmlPage) dots() (*page.Figure, error) {
	f := &page.Figure{Caption: "Each figure, in microseconds, on a logarithmic axis. First: documented, with a bar " +
		"for its rounding to two decimals; by the calibrated costs, which repeat the figures and have no interval; and " +
		"predicted by a fit without it, with the interval left out 95 %. Second: predicted by fits without all " +
		"figures of its processor, or of its architecture; four processors are too few for an interval." + barsAre}
	var rows []plot.Row
	var left, right []plot.Dot
	for _, lines := range o.machines() {
		rows = append(rows, plot.Row{Name: lines[0][0].Name + " " + lines[0][0].Arch, Head: true})
		for _, l := range lines {
			a, b := dotsOf(l, o.r.tiers, len(rows))
			rows = append(rows, plot.Row{Name: l[0].Probe})
			left, right = append(left, a...), append(right, b...)
		}
	}
	summary := o.r.summary(len(o.r.tiers) - 1)
	for _, of := range []struct {
		title string
		dots  []plot.Dot
	}{{"documented, calibrated, predicted", left}, {"without its processor or architecture", right}} {
		if len(of.dots) == 0 {
			continue
		}
		p := plot.New("µs a hit", "")
		if err := p.AddDots(rows, of.dots); err != nil {
			return nil, err
		}
		plot.LogAxis(&p.X)
		f.Plots = append(f.Plots, page.Plot{Title: of.title, Plot: p, Height: plot.DotsHeight(len(rows)),
			Says: fmt.Sprintf("%d figures by machine, %s. %s.", len(o.r.rows), of.title, summary)})
		for _, d := range of.dots {
			if k := (page.Key{Name: dotNames[d.Series], Of: d.Series, Dot: true}); !slices.Contains(f.Legend, k) {
				f.Legend = append(f.Legend, k)
			}
		}
	}
	slices.SortFunc(f.Legend, func(a, b page.Key) int { return a.Of - b.Of })
	return f, nil
}

// dotsOf are the dots of a figure, whose line has a cell for each tier.
func dotsOf(l []lineJSON, tiers []overhead.Tier, row int) (left, right []plot.Dot) {
	known := *l[0].Documented
	dot := func(series int, at float64, within overhead.Interval) plot.Dot {
		return plot.Dot{Series: series, Row: row, At: at, Low: within.Low, High: within.High}
	}
	documented := dot(dotDocumented, known,
		overhead.Interval{Low: known - overhead.Rounding, High: known + overhead.Rounding})
	left = append(left, documented)
	predictor := &l[len(l)-1] // the mechanistic tier, if it is there
	for i, t := range tiers {
		if t == overhead.Calibrated {
			left = append(left, dot(dotCalibrated, l[i].Usec, overhead.Interval{Low: l[i].Usec, High: l[i].Usec}))
		}
		if t != overhead.Mechanistic {
			continue
		}
		predictor = &l[i]
		right = append(right, documented)
		for k, e := range []*float64{l[i].NoMachine, l[i].NoArch} {
			us := known * (1 + *e)
			right = append(right, dot(dotMachine+k, us, overhead.Interval{Low: us, High: us}))
		}
	}
	us := known * (1 + *predictor.LeftOut)
	return append(left, dot(dotPredicted, us, overhead.Predicted(us, predictor.margin.relative))), right
}

// assumptions shows what each of them moves: a tornado plot for each result.
func (o *htmlPage) assumptions() (page.Section, error) {
	s := page.Section{ID: "assumptions", Title: "What each assumption moves"}
	if o.o == nil {
		return s, nil
	}
	l := &o.r.rows[len(o.r.rows)-1][0]
	for _, row := range o.r.rows { // the first probe of the last machine
		if row[0].Machine == l.Machine {
			l = &row[0]
			break
		}
	}
	f := &page.Figure{
		Caption: page.Text(fmt.Sprintf("What becomes of a hit of %s on %s if one assumption is at its low or at its "+
			"high, and everything is fitted again by the mechanistic tier: cycles from the literature 40 %% lower or "+
			"higher, counts of instructions 20 %%. The widest is on top. What the fit makes up for moves little. The "+
			"line is the value as assumed; the numbers are in %s.", l.title(), o.subject.name, page.NextTable)),
		Legend: []page.Key{{Name: "at its low", Of: 0, Piece: true}, {Name: "at its high", Of: 1, Piece: true}},
	}
	t := &page.Table{Caption: "What " + page.LastFigure + " shows in numbers.", Text: 2,
		Head: []string{"assumption", "source", "value", "low", "high", "at its low", "at its high"}}
	for _, of := range []struct {
		result      overhead.Result
		title, axis string
		times       float64
		form        string
	}{
		{overhead.LeftOutUsec, "predicted without its figure", "µs a hit", 1, "%.4f"},
		{overhead.HardwareShare, "the hardware's share of it", "% of a hit's cycles", 100, "%.1f"},
	} {
		for _, m := range o.o.Machines() {
			if m.ID() != l.Machine {
				continue
			}
			base, swings, err := o.o.Swings(m, l.Probe, of.result)
			if err != nil {
				return s, err
			}
			write := func(v float64) string { return table.Signless(fmt.Sprintf(of.form, of.times*v)) }
			group := page.Group{Name: fmt.Sprintf("%s, %s: %s", of.title, of.axis, write(base))}
			var names []string
			var list []plot.Swing
			for _, w := range swings {
				names = append(names, w.Name)
				list = append(list, plot.Swing{Low: of.times * w.Low, High: of.times * w.High})
				cells := []string{w.Name, w.Source.String()}
				for _, v := range []float64{w.Value, w.Value * (1 - w.By), w.Value * (1 + w.By)} {
					cells = append(cells, fmt.Sprintf("%.1f", v))
				}
				group.Rows = append(group.Rows, page.Row(append(cells, write(w.Low), write(w.High))...))
			}
			t.Groups = append(t.Groups, group)
			p := plot.New(of.axis, "")
			if err := p.AddSwings(names, of.times*base, list); err != nil {
				return s, err
			}
			f.Plots = append(f.Plots, page.Plot{Title: of.title, Plot: p, Height: plot.SwingsHeight(len(names)),
				Says: fmt.Sprintf("A tornado plot: %s moves it most, from %s to %s; %s has all.", names[0],
					write(swings[0].Low), write(swings[0].High), page.NextTable)})
		}
	}
	s.Blocks = []page.Block{f, t}
	return s, nil
}
