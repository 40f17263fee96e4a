package pages

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/page/plot"
	"kpsim/kprobes/rules"
)

// scaling shows what becomes of hits with more CPUs, more probes, and more calls at a time
// than a return probe follows. What isn't of a probe that is asked for is left out.
func (o *htmlPage) scaling() (page.Section, error) {
	s := page.Section{ID: "scaling", Title: "More CPUs, more probes, more calls at a time"}
	for _, part := range []func() ([]page.Block, error){o.manyCPUs, o.manyProbes, o.manyCalls} {
		blocks, err := part()
		if err != nil {
			return s, err
		}
		s.Blocks = append(s.Blocks, blocks...)
	}
	if len(s.Blocks) > 0 {
		s.Blocks = append([]page.Block{page.Text("By " + o.subject.says() + ".")}, s.Blocks...)
	}
	return s, nil
}

// says names the machine whose costs are used.
func (m *paged) says() string {
	return fmt.Sprintf("the costs of %s at %g MHz (%s)", m.name, m.mhz, m.by)
}

// errors are the error bars of what is predicted: the interval of a hit's time, left out, which for a rate has
// nearly the same ratio to either side.
func (m *paged) errors(points plot.XYs) (list []plot.Error) {
	if m.margin == nil || m.margin.relative >= 1 {
		return nil
	}
	for _, at := range points {
		list = append(list, bar(at.Y, overhead.Predicted(at.Y, m.margin.relative), at.X))
	}
	return list
}

var scaledCPUs = []int{1, 2, 4, 8, 16, 32, 64}

// A scaledCurve is of a way to probe, in an edition.
type scaledCurve struct {
	name    string
	probe   overhead.Probe
	edition string
}

// curves are those of a sort of probe: k or r, as each edition has it; jumps are left out, to
// see how hits wait for each other.
func curves(name string) (list []scaledCurve) {
	for _, p := range overhead.Probes(false) {
		if p.Name != name {
			continue
		}
		for _, e := range rules.AllEditions() {
			if e == rules.EditionDocumented {
				continue // it is no kernel's
			}
			list = append(list,
				scaledCurve{e.String(), p, fmt.Sprintf("edition = %q, optprobes = False, ftrace = False", e)})
		}
	}
	return list
}

// manyCPUs is hits per second over CPUs.
func (o *htmlPage) manyCPUs() (blocks []page.Block, err error) {
	f := &page.Figure{Caption: "Hits per second of one probe that all CPUs hit all the time, by edition of the " +
		"kernel's document; detours are left out. Both axes are logarithmic: what doubles with the CPUs is a " +
		"straight line, and editions that do alike are one. The CPU whose clock is furthest behind runs next." +
		page.Text(o.subject.margin.bars())}
	t := &page.Table{Caption: "What " + page.LastFigure + " shows in numbers: million hits per second, by CPUs.",
		Head: []string{"edition"}, Text: 1}
	for _, n := range scaledCPUs {
		t.Head = append(t.Head, fmt.Sprint(n))
	}
	sorts := []struct{ name, title string }{{"r", "return probe (r)"}, {"k", "kprobe (k)"}}
	for i, sort := range sorts {
		if !o.wantsSort(sort.name) {
			continue
		}
		p := plot.New("CPUs", "million hits per second")
		group := page.Group{Name: sort.title}
		rates := curves(sort.name)
		for series, c := range rates {
			o.at(i*len(rates)+series, scalings*len(sorts)*len(rates),
				fmt.Sprintf("%s of edition %s on up to %d CPUs", sort.title, c.name, slices.Max(scaledCPUs)))
			scaled, err := c.probe.Scale(scaledCPUs, c.edition, o.subject.costs)
			if err != nil {
				return nil, err
			}
			var points plot.XYs
			row := page.Row(c.name)
			for _, s := range scaled {
				rate := s.Rate * o.subject.mhz
				row = append(row, page.Cell{Text: fmt.Sprintf("%.2f", rate)})
				if rate > 0 {
					points = append(points, plot.XY{X: float64(s.CPUs), Y: rate})
				}
			}
			group.Rows = append(group.Rows, row)
			if err := p.AddLine(series, points, false); err != nil {
				return nil, err
			}
			if err := p.AddErrors(series, o.subject.errors(points), false); err != nil {
				return nil, err
			}
			if len(f.Plots) == 0 {
				f.Legend = append(f.Legend, page.Key{Name: "edition " + c.name, Of: series})
			}
		}
		plot.DoublingAxis(&p.X, slices.Max(scaledCPUs))
		plot.LogAxis(&p.Y)
		t.Groups = append(t.Groups, group)
		f.Plots = append(f.Plots, page.Plot{Title: sort.title, Says: "Hits per second over 1 to 64 CPUs by edition; " +
			page.NextTable + " has the numbers.", Plot: p})
	}
	if len(f.Plots) == 0 {
		return nil, nil
	}
	return []page.Block{f, t}, nil
}

// wantsSort reports whether a kprobe or a return probe is asked for, in any way that it can
// be hit.
func (o *htmlPage) wantsSort(name string) bool {
	return len(o.c.Probes) == 0 || slices.ContainsFunc(o.c.Probes, func(p string) bool {
		return strings.Contains(p, "r") == (name == "r") && !strings.HasPrefix(p, "j")
	})
}

var scaledProbes = []int{1, 10, 100, 1000, 10_000, 100_000}

// scalings is how many parts there are: with many CPUs, many probes and many calls.
const scalings = 3

// simulatedProbes is up to how many probes are simulated: ten times as many would take half
// a minute.
const simulatedProbes = 10_000

// manyProbes is the cost of a hit over how many probes there are.
func (o *htmlPage) manyProbes() ([]page.Block, error) {
	f := &page.Figure{Caption: page.Text(fmt.Sprintf("What a hit takes with more probes in the kernel's table, "+
		"which has %d chains. A lookup goes by more nodes of its chain, which is simulated with up to %s "+
		"probes, and beyond is a model's; what a node costs that isn't in the nearest cache is assumed.%s",
		overhead.Chains, plot.Thousands(simulatedProbes), o.subject.margin.bars()))}
	machines := o.machines()
	subject := machines[len(machines)-1]
	t := &page.Table{Caption: page.Text("What " + page.LastFigure +
		" shows in numbers: microseconds a hit, by the number of probes; and how many nodes a hit of " +
		subject[0][0].title() + " goes by in the mean if all are hit in turn."), Over: []page.Over{{Columns: 2}},
		Head: []string{"probes", "nodes"}}
	one, all := plot.New("probes", "µs a hit"), plot.New("probes", "µs a hit")
	rows := make([][]page.Cell, len(scaledProbes))
	for series, row := range subject {
		l := &row[0]
		o.at(len(subject)+series, scalings*len(subject), "more probes, "+l.Says)
		f.Legend = append(f.Legend, page.Key{Name: l.title(), Of: series})
		t.Over = append(t.Over, page.Over{Name: l.title(), Columns: 2})
		t.Head = append(t.Head, "one hit", "all hit")
		var ones, alls plot.XYs
		for i, n := range scaledProbes {
			scale, by := l.probe.ScaleProbes, ""
			if n > simulatedProbes {
				scale, by = l.probe.ModelProbes, ", by the model"
			}
			k, err := scale(n, l.costs, overhead.NominalCache)
			if err != nil {
				return nil, err
			}
			if series == 0 {
				rows[i] = page.Row(plot.Thousands(float64(n))+by, fmt.Sprintf("%.1f", k.AllNodes))
			}
			a, b := k.OneHitCycles/l.MHz, k.AllHitCycles/l.MHz
			rows[i] = append(rows[i], page.Row(fmt.Sprintf("%.2f", a), fmt.Sprintf("%.2f", b))...)
			if a > 0 {
				ones, alls = append(ones, plot.XY{X: float64(n), Y: a}), append(alls, plot.XY{X: float64(n), Y: b})
			}
		}
		for _, of := range []struct {
			plot   *plot.Plot
			points plot.XYs
		}{{one, ones}, {all, alls}} {
			if err := of.plot.AddLine(series, of.points, false); err != nil {
				return nil, err
			}
			if err := of.plot.AddErrors(series, o.subject.errors(of.points), false); err != nil {
				return nil, err
			}
		}
	}
	t.Groups = []page.Group{{Rows: rows}}
	for _, p := range []*page.Plot{{Title: "one probe is hit over and over", Plot: one},
		{Title: "all probes are hit in turn", Plot: all}} {
		p.Plot.Y.Min *= 0.9 // an optimized kprobe's line isn't on the axis
		plot.LogAxis(&p.Plot.X)
		plot.LogAxis(&p.Plot.Y)
		p.Says = "Microseconds a hit over 1 to 100,000 probes, by the probe that is hit; " + page.NextTable +
			" has the numbers."
		f.Plots = append(f.Plots, *p)
	}
	return []page.Block{f, t}, nil
}

// Texts about calls that overlap.
const (
	overlapEdition = "6.9"
	overlapCalls   = 8
	overlapRuns    = 5
)

var (
	overlapTasks     = []int{2, 4, 8, 16}
	overlapMaxactive = []int{1, 2, 4, 8, 16}
)

// manyCalls is the share of calls that a return probe misses.
func (o *htmlPage) manyCalls() ([]page.Block, error) {
	if !o.wantsSort("r") {
		return nil, nil
	}
	f := &page.Figure{Caption: page.Text(fmt.Sprintf("Calls that a return probe misses because as many as "+
		"maxactive says are being followed, by how many CPUs call the function all the time. Counted in %d "+
		"runs of the engine of edition %s, from seed %d, with nominal costs. A bar is the interval at 95 %%, "+
		"by the shares of the runs.", overlapRuns, overlapEdition, pageSeed))}
	t := &page.Table{Caption: "What " + page.LastFigure + " shows in numbers: percent of the calls, by maxactive.",
		Head: []string{"CPUs that call"}, Text: 0}
	for _, m := range overlapMaxactive {
		t.Head = append(t.Head, fmt.Sprint(m))
	}
	p := plot.New("maxactive", "% of calls missed")
	for series, n := range overlapTasks {
		o.at(2*len(overlapTasks)+series, scalings*len(overlapTasks), fmt.Sprintf("missed calls of %d CPUs", n))
		row := page.Row(fmt.Sprint(n))
		var points plot.XYs
		var bars []plot.Error
		for _, m := range overlapMaxactive {
			k, err := overhead.OverlapConfig{Tasks: n, Maxactive: m, Calls: overlapCalls, Edition: overlapEdition,
				Schedule: overhead.Timed, Runs: overlapRuns, Seed: pageSeed}.Measure()
			if err != nil {
				return nil, err
			}
			share := 100 * k.Share
			points = append(points, plot.XY{X: float64(m), Y: share})
			bars = append(bars, plot.Error{At: share, Low: 100 * k.Within.Low, High: 100 * k.Within.High,
				Other: float64(m)})
			row = append(row, page.Cell{Text: fmt.Sprintf("%.1f", share)})
		}
		t.Add(row...)
		f.Legend = append(f.Legend, page.Key{Name: fmt.Sprintf("%d CPUs", n), Of: series})
		if err := p.AddLine(series, points, false); err != nil {
			return nil, err
		}
		if err := p.AddErrors(series, bars, false); err != nil {
			return nil, err
		}
	}
	plot.DoublingAxis(&p.X, slices.Max(overlapMaxactive))
	p.Y.Min, p.Y.Max = 0, 100
	f.Plots = []page.Plot{{Title: "missed calls", Says: "Percent of calls missed over maxactive 1 to 16, by CPUs; " +
		page.NextTable + " has the numbers.", Plot: p}}
	return []page.Block{f, t}, nil
}
