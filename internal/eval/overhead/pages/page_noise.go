package pages

import (
	"fmt"
	"math"
	"slices"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/page/plot"
)

// pageSeed is what the runs of a page are drawn from.
const pageSeed = noiseSeed

// noise shows hits of a machine at work: their ECDFs, and a table.
func (o *htmlPage) noise() (page.Section, error) {
	n := &overhead.NominalNoise
	s := page.Section{ID: "noise", Title: "Hits with noise", Blocks: []page.Block{page.Text(fmt.Sprintf(
		"What a machine at work adds to a hit is assumed: nobody has measured it on these. Runs differ by %g "+
			"%% (standard deviation), hits by %g %%; each access to a line of memory that others write too "+
			"misses the caches with %g %%, and takes %g ns then in the mean; there are %g ticks a second, of "+
			"%g ns in the mean. Drawn from seed %d: %d runs of %d hits of each probe.",
		100*n.RunCV, 100*n.JitterCV, 100*n.MissesPerAccess, n.MissNsec, n.TicksPerSec, n.TickNsec, pageSeed, noiseRuns,
		noiseHits))}}
	t := &page.Table{
		Caption: "The hits of " + page.LastFigure +
			" in numbers: nanoseconds. Warm is a hit without noise. Drawn 95 %: the interval of the mean, by " +
			"Student's t over runs, which is the sampling error of the assumed noise alone; those of quantiles " +
			"are the bars of the figure, by the share of each run. " + page.Text(o.subject.margin.says()),
		Head: slices.Concat([]string{"probe", "warm", "mean", "drawn 95 %"}, o.subject.margin.head(),
			[]string{"CV %", "p50", "p90", "p99", "p99.9", "max"}), Text: 1,
	}
	var f *page.Figure
	measured, all := 0, 0
	for _, rows := range o.machines() {
		all += len(rows)
	}
	for _, rows := range o.machines() {
		if keys := keysOf(rows); f == nil || !slices.Equal(keys, f.Legend) { // other probes
			f = &page.Figure{Legend: keys,
				Caption: "The share of hits that are shorter than the time on the axis, in microseconds. Both " +
					"axes are logarithmic; 90 %, 99 % and 99.9 % are equally spaced. A bar is the interval of " +
					"a quantile at 95 %, open where the hits don't bound it. The quantiles are in " +
					page.NextTable + "."}
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
			drawn := noiseRowJSON{hitJSON: l.hitJSON, Noise: *n, Seed: pageSeed}
			drawn.Edition = l.figureEdition
			if err := drawn.draw(&l.hit, l.margin, noiseRuns, noiseHits); err != nil {
				return s, err
			}
			group.Rows = append(group.Rows, drawn.cells())
			sorted := slices.Concat(drawn.samples...)
			slices.Sort(sorted)
			for i := range sorted {
				sorted[i] /= l.MHz
			}
			if err := p.AddLine(series, plot.Nines(sorted), true); err != nil {
				return s, err
			}
			if err := p.AddErrors(series, drawn.bars(), true); err != nil {
				return s, err
			}
		}
		plot.LogAxis(&p.X)
		plot.NinesAxis(&p.Y)
		f.Plots = append(f.Plots, page.Plot{Title: name, Says: "ECDFs of hits by probe; " + page.NextTable +
			" has their quantiles.", Plot: p})
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

// cells is a row of the page's table.
func (r *noiseRowJSON) cells() []page.Cell {
	ns := func(m overhead.Measure) overhead.Measure { return m.Over(1.0 / 1000) }
	const format = "%.1f"
	write := func(usec float64) string { return fmt.Sprintf(format, 1000*usec) }
	row := append([]string{r.title(), write(r.WarmUsec)}, measured(format, ns(r.MeanUsec))...)
	row = append(row, r.margin.cell(format, 1000*r.MeanUsec.Value)...)
	row = append(row, fmt.Sprintf("%.1f", 100*r.CV))
	return page.Row(append(row, write(r.P50Usec.Value), write(r.P90Usec.Value), write(r.P99Usec.Value),
		write(r.P999Usec.Value), write(r.MaxUsec))...)
}

// bars are the intervals of the quantiles, on the ECDF.
func (r *noiseRowJSON) bars() (list []plot.Error) {
	for _, q := range []struct {
		share float64
		at    overhead.Measure
	}{{0.5, r.P50Usec}, {0.9, r.P90Usec}, {0.99, r.P99Usec}, {0.999, r.P999Usec}} {
		list = append(list, barOf(q.share, q.at)...)
	}
	return list
}

// barOf is the interval of a quantile on an ECDF. An end that the samples don't give is open. A logarithmic axis has
// none of what takes no time.
func barOf(share float64, m overhead.Measure) []plot.Error {
	if m.Value <= 0 {
		return nil
	}
	i := m.Interval
	if i.Low <= 0 {
		i.Low = math.Inf(-1)
	}
	return []plot.Error{{At: m.Value, Low: i.Low, High: i.High, Other: plot.Nine(share)}}
}
