package pages

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/table"
)

// printNoise prints tables of what all hits have.
func printNoise(p *cli.Program, rows []noiseRowJSON, editions, markdown bool) {
	section := func(title string, head []string, cells func(r *noiseRowJSON) []string) {
		g := table.Grid{Head: []string{"machine", "arch", "probe"}, Text: 3}
		if editions {
			g.Head, g.Text = []string{"machine", "arch", "edition", "probe"}, 4
		}
		g.Head = append(g.Head, head...)
		for i := range rows {
			r := &rows[i]
			of := []string{r.Name, r.Arch, r.title()}
			if editions {
				of = []string{r.Name, r.Arch, r.Edition, r.title()}
			}
			if more := cells(r); more != nil {
				g.Add(append(of, more...)...)
			}
		}
		if len(g.Rows) > 0 {
			fmt.Fprintf(p.Out, "%s:\n\n", title)
			g.Print(p, markdown)
			fmt.Fprintln(p.Out)
		}
	}
	r := &rows[0]
	section(fmt.Sprintf("Hits with noise, %s of %s each, in µs, by %s; warm: without", cli.Number(r.Runs, "run"),
		cli.Number(r.HitsPerRun, "hit"), costsOf(r.Costs)),
		slices.Concat([]string{"documented µs", "warm µs", "mean µs", "drawn 95 %"}, r.margin.head(),
			[]string{"sd µs", "CV %", "skew", "max µs"}),
		func(r *noiseRowJSON) []string {
			return slices.Concat([]string{documentedCell(r.Documented), fmt.Sprintf("%.3f", r.WarmUsec)},
				measured("%.3f", r.MeanUsec), r.margin.cell("%.3f", r.MeanUsec.Value),
				[]string{fmt.Sprintf("%.3f", r.SDUsec), table.PerCent(r.CV), fmt.Sprintf("%.1f", r.Skew),
					fmt.Sprintf("%.3f", r.MaxUsec)})
		})
	quantiles := []string{"p50", "95 %", "p90", "95 %", "p99", "95 %", "p99.9", "95 %"}
	section("Quantiles of these hits in µs", quantiles, func(r *noiseRowJSON) []string {
		return measured("%.3f", r.P50Usec, r.P90Usec, r.P99Usec, r.P999Usec)
	})
	section("The same in cycles", append(append([]string{"warm", "mean", "95 %", "sd"}, quantiles...), "max"),
		func(r *noiseRowJSON) []string {
			cells := append([]string{fmt.Sprintf("%.0f", r.Warm)}, measured("%.0f", r.Mean)...)
			cells = append(append(cells, fmt.Sprintf("%.0f", r.SD)), measured("%.0f", r.P50, r.P90, r.P99, r.P999)...)
			return append(cells, fmt.Sprintf("%.0f", r.Max))
		})
	section("What noise adds in the mean, in cycles, by what is worked out and by what was drawn; and how far "+
		"the mean of a single run can be trusted, by the means of its batches",
		[]string{"misses", "ticks", "SMIs", "together %", "drawn %", "batches", "of hits", "half width", "correlation"},
		func(r *noiseRowJSON) []string {
			return []string{
				fmt.Sprintf("%.2f", r.Misses), fmt.Sprintf("%.2f", r.Ticks), fmt.Sprintf("%.2f", r.SMIs),
				fmt.Sprintf("%.2f", 100*(r.Misses+r.Ticks+r.SMIs)/r.Warm),
				fmt.Sprintf("%.2f", 100*(r.Mean.Value/r.Warm-1)),
				fmt.Sprint(r.Within.Batches), fmt.Sprint(r.Within.HitsOfEach), fmt.Sprintf("%.1f", r.Within.HalfWidth),
				fmt.Sprintf("%.2f", r.Within.Correlation),
			}
		})
	section("How many times as long as the hits of the first probe of each machine",
		[]string{"times", "95 %"}, func(r *noiseRowJSON) []string {
			if r.With == nil {
				return nil
			}
			return measured("%.3f", r.With.Ratio)
		})
	n := &r.Noise
	whose := "All of it is assumed: nobody has measured it on these machines"
	if r.NoiseFrom != "assumed" {
		whose = "As " + r.NoiseFrom + " has it"
	}
	misses := "no access misses the caches"
	if n.MissesPerAccess > 0 {
		misses = fmt.Sprintf("one access in %.4g misses the caches and takes %g ns more", 1/n.MissesPerAccess,
			n.MissNsec)
	}
	fmt.Fprintf(p.Out, "Noise: runs differ by %s %%, hits by %s %% (standard deviations); %s; %g ticks a second take "+
		"%g ns each; %g SMIs a second. %s.\n", table.PerCent(n.RunCV), table.PerCent(n.JitterCV), misses, n.TicksPerSec,
		n.TickNsec, n.SMIsPerSec, whose)
	fmt.Fprintf(p.Out, "Intervals of what was drawn are by Student's t over runs, those of quantiles by the "+
		"shares of each run (Woodruff); seed %d.\n", r.Seed)
	fmt.Fprintln(p.Out, "They are the sampling error of the assumed noise alone. "+r.margin.says())
	for i := range rows {
		if r := &rows[i]; len(r.Rare) > 0 {
			fmt.Fprintf(p.Out,
				"%s %s: so few %s come in %s of %d hits that the interval of the mean holds less than 95 %%; "+
					"draw more.\n", r.Machine, r.title(), strings.Join(r.Rare, " and "), cli.Number(r.Runs, "run"),
				r.HitsPerRun)
		}
	}
}

// measured are the cells of numbers and their intervals.
func measured(format string, list ...overhead.Measure) (cells []string) {
	for _, m := range list {
		cells = append(cells, fmt.Sprintf(format, m.Value), intervalCell(format, m.Interval))
	}
	return cells
}

// intervalCell writes an interval, whose ends may be infinite.
func intervalCell(format string, i overhead.Interval) string {
	low, high := math.IsInf(i.Low, 0), math.IsInf(i.High, 0)
	switch {
	case low && high:
		return "-"
	case low:
		return fmt.Sprintf("≤ "+format, i.High)
	case high:
		return fmt.Sprintf("≥ "+format, i.Low)
	}
	return fmt.Sprintf(format+" to "+format, i.Low, i.High)
}
