package pages

import (
	"fmt"
	"slices"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/page"
	"kpsim/internal/page/plot"
)

// What is drawn for a page.
const (
	pageSeed = 1
	pageRuns = 20
	pageHits = 2000 // of a run
)

// noise shows hits of a machine at work: their ECDFs, and a table.
func (o *htmlPage) noise() (page.Section, error) {
	n := &overhead.NominalNoise
	s := page.Section{ID: "noise", Title: "Hits with noise", Blocks: []page.Block{page.Text(fmt.Sprintf(
		"What a machine at work adds to a hit is assumed: nobody has measured it on these. Runs differ by %g %% (standard deviation), hits by %g %%; each access to a line of memory that others write too misses the caches with %g %%, and takes %g ns then in the mean; there are %g ticks a second, of %g ns in the mean. Drawn from seed %d: %d runs of %d hits of each probe.",
		100*n.RunCV, 100*n.JitterCV, 100*n.MissesPerAccess, n.MissNsec, n.TicksPerSec, n.TickNsec, pageSeed, pageRuns, pageHits))}}
	t := &page.Table{
		Caption: "The hits of " + page.LastFigure + " in numbers: nanoseconds. Warm is a hit without noise; the interval is that of the mean, at 95 %, by the bootstrap over runs.",
		Head:    []string{"probe", "warm", "mean", "interval", "CV %", "p50", "p90", "p99", "p99.9", "max"}, Text: 1,
	}
	var f *page.Figure
	measured, all := 0, 0
	for _, rows := range o.machines() {
		all += len(rows)
	}
	for _, rows := range o.machines() {
		if keys := keysOf(rows); f == nil || !slices.Equal(keys, f.Legend) { // other probes
			f = &page.Figure{Legend: keys, Caption: "The share of hits that are shorter than so many microseconds. Both scales are logarithmic: each further nine of the share is as far. The quantiles are in " + page.NextTable + "."}
			s.Blocks = append(s.Blocks, f)
		}
		name := rows[0][0].Name + " " + rows[0][0].Arch
		t.Groups = append(t.Groups, page.Group{Name: name})
		group := &t.Groups[len(t.Groups)-1]
		p := plot.New("µs a hit", "share of hits")
		for series, row := range rows {
			l := &row[0]
			o.at(measured, all, fmt.Sprintf("noise of %s on %s", l.Probe, l.Machine))
			measured++
			samples := n.DrawRuns(&l.hit, l.MHz, pageSeed, pageRuns, pageHits)
			sum, err := overhead.Summarize(samples, pageSeed)
			if err != nil {
				return s, err
			}
			group.Rows = append(group.Rows, noiseRow(l, sum))
			sorted := slices.Concat(samples...)
			slices.Sort(sorted)
			for i := range sorted {
				sorted[i] /= l.MHz
			}
			if err := p.AddLine(series, plot.Nines(sorted), true); err != nil {
				return s, err
			}
		}
		plot.LogAxis(&p.X)
		plot.NinesAxis(&p.Y)
		f.Plots = append(f.Plots, page.Plot{Title: name, Says: "ECDFs of hits by probe; " + page.NextTable + " has their quantiles.", Plot: p})
	}
	s.Blocks = append(s.Blocks, t)
	return s, nil
}

// keysOf is a legend of a machine's probes.
func keysOf(rows [][]lineJSON) (keys []page.Key) {
	for series, row := range rows {
		keys = append(keys, page.Key{Name: row[0].title(), Of: series})
	}
	return keys
}

func noiseRow(l *lineJSON, s *overhead.Summary) []page.Cell {
	ns := func(cycles float64) string { return fmt.Sprintf("%.1f", 1000*cycles/l.MHz) }
	return page.Row(l.title(), ns(l.Cycles), ns(s.Mean.Value), ns(s.Mean.Interval.Low)+" to "+ns(s.Mean.Interval.High),
		fmt.Sprintf("%.1f", 100*s.CV), ns(s.P50.Value), ns(s.P90.Value), ns(s.P99.Value), ns(s.P999.Value), ns(s.Max))
}
