package pages

import (
	"fmt"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/page/plot"
)

// A pagePause is a sort of pause that the page shows.
type pagePause struct {
	title, says string
	patch       string // how text is written
	of          func(p *overhead.Pauses) *overhead.Spread
}

var pagePauses = []pagePause{
	{"stop_machine, for a CPU", "from the request until a CPU that is stopped goes on", "stop_machine",
		func(p *overhead.Pauses) *overhead.Spread { return &p.StopEnds }},
	{"sync_core", "from when it begins to send its IPIs until the last CPU has serialised", "breakpoint",
		func(p *overhead.Pauses) *overhead.Spread { return &p.Sync }},
	{"optimizer, with stop_machine", "from its timer until the jump is written", "stop_machine",
		func(p *overhead.Pauses) *overhead.Spread { return &p.Optimizer }},
	{"optimizer, with a breakpoint", "from its timer until the jump is written", "breakpoint",
		func(p *overhead.Pauses) *overhead.Spread { return &p.Optimizer }},
}

// Texts about the pauses.
const (
	pauseRuns  = 20
	pauseCalls = 4
)

var pauseCPUs = []int{2, 4, 16}

// pauses shows how long CPUs and the optimizer wait for each other.
func (o *htmlPage) pauses() (page.Section, error) {
	f := &page.Figure{Caption: page.Text(fmt.Sprintf("Pauses while a probe is registered, optimized and "+
		"unregistered on one CPU and the others call its function, without preemption: the share of pauses "+
		"that are shorter than the time on the axis, in microseconds, by how many CPUs there are. A bar is the "+
		"interval of a quantile at 95 %%, open where the pauses don't bound it. %d runs each, from seed "+
		"%d. The quantiles are in %s.", pauseRuns, pageSeed, page.NextTable))}
	t := &page.Table{
		Caption: "The pauses of " + page.LastFigure + " in numbers: microseconds.",
		Head:    []string{"CPUs", "pauses", "mean", "sd", "p50", "p90", "p99", "max"}, Text: 1,
		Groups: make([]page.Group, len(pagePauses)),
	}
	plots := make([]*plot.Plot, len(pagePauses))
	for i, k := range pagePauses {
		plots[i] = plot.New("µs", "share of pauses")
		t.Groups[i].Name = k.title + ": " + k.says
	}
	for series, n := range pauseCPUs {
		f.Legend = append(f.Legend, page.Key{Name: fmt.Sprintf("%d CPUs", n), Of: series})
		measured := map[string]*overhead.Pauses{}
		for i, k := range pagePauses {
			if measured[k.patch] == nil {
				o.at(series*len(pagePauses)+i, len(pauseCPUs)*len(pagePauses),
					fmt.Sprintf("pauses of %s, %d CPUs", k.patch, n))
				var err error
				measured[k.patch], err = overhead.PauseConfig{
					CPUs: n, Patch: k.patch, Preempt: "none", Calls: pauseCalls, Schedule: overhead.Timed,
					Runs: pauseRuns, Seed: pageSeed, Costs: o.subject.costs,
				}.Measure()
				if err != nil {
					return page.Section{}, err
				}
			}
			s := k.of(measured[k.patch])
			us := func(cycles float64) string { return fmt.Sprintf("%.2f", o.subject.usec(cycles)) }
			t.Groups[i].Rows = append(t.Groups[i].Rows, page.Row(fmt.Sprint(n), fmt.Sprint(s.N), us(s.Mean), us(s.SD),
				us(s.P50), us(s.P90), us(s.P99), us(s.Max)))
			list := make([]float64, s.N)
			for j, v := range s.Cycles {
				list[j] = o.subject.usec(v)
			}
			if err := plots[i].AddLine(series, plot.Nines(list), true); err != nil {
				return page.Section{}, err
			}
			var bars []plot.Error
			for _, q := range []struct {
				share, at float64
				within    overhead.Interval
			}{{0.5, s.P50, s.At50}, {0.9, s.P90, s.At90}, {0.99, s.P99, s.At99}} {
				m := overhead.Measure{Value: q.at, Interval: q.within}
				bars = append(bars, barOf(q.share, m.Over(o.subject.mhz))...)
			}
			if err := plots[i].AddErrors(series, bars, true); err != nil {
				return page.Section{}, err
			}
		}
	}
	for i, k := range pagePauses {
		plot.LogAxis(&plots[i].X)
		plot.NinesAxis(&plots[i].Y)
		f.Plots = append(f.Plots, page.Plot{Title: k.title, Says: "ECDFs of pauses " + k.says +
			", by the number of CPUs; " + page.NextTable + " has their quantiles.", Plot: plots[i]})
	}
	return page.Section{ID: "pauses", Title: "Pauses of other CPUs", Blocks: []page.Block{o.pausesBy(), f, t}}, nil
}

// pausesBy says by which costs the pauses are, and which of these no figure has.
func (o *htmlPage) pausesBy() page.Text {
	return page.Text(fmt.Sprintf("By %s. %s The CPU whose clock is furthest behind runs next; what is drawn is when "+
		"each CPU begins.", o.subject.says(), overhead.Unfigured(o.u)))
}
