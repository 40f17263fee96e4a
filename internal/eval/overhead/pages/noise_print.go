package pages

import (
	"fmt"

	"kpsim/internal/cli"
	"kpsim/internal/eval/overhead"
)

// printNoise prints tables of what all hits have.
func printNoise(p *cli.Program, rows []noiseRowJSON, editions, markdown bool) {
	section := func(title string, head []string, cells func(r *noiseRowJSON) []string) {
		g := cli.Table{Head: []string{"machine", "arch", "probe"}, Text: 3}
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
	section(fmt.Sprintf("Hits with noise, %s of %s each, in µs, by %s; warm: without", cli.Number(r.Runs, "run"), cli.Number(r.HitsPerRun, "hit"), costsOf(r.Costs)),
		[]string{"documented", "warm", "mean", "95 %", "sd", "CV %", "skew", "max"}, func(r *noiseRowJSON) []string {
			return append(append([]string{documentedCell(r.Documented), fmt.Sprintf("%.3f", r.WarmUsec)}, measured("%.3f", r.MeanUsec)...),
				fmt.Sprintf("%.3f", r.SDUsec), cli.PerCent(r.CV), fmt.Sprintf("%.1f", r.Skew), fmt.Sprintf("%.3f", r.MaxUsec))
		})
	quantiles := []string{"p50", "95 %", "p90", "95 %", "p99", "95 %", "p99.9", "95 %"}
	section("Quantiles of these hits in µs", quantiles, func(r *noiseRowJSON) []string {
		return measured("%.3f", r.P50Usec, r.P90Usec, r.P99Usec, r.P999Usec)
	})
	section("The same in cycles", append(append([]string{"warm", "mean", "95 %", "sd"}, quantiles...), "max"), func(r *noiseRowJSON) []string {
		cells := append([]string{fmt.Sprintf("%.0f", r.Warm)}, measured("%.0f", r.Mean)...)
		cells = append(append(cells, fmt.Sprintf("%.0f", r.SD)), measured("%.0f", r.P50, r.P90, r.P99, r.P999)...)
		return append(cells, fmt.Sprintf("%.0f", r.Max))
	})
	section("What noise adds in the mean, in cycles, by what is worked out and by what was drawn; and how far the mean of a single run can be trusted, by the means of its batches",
		[]string{"misses", "ticks", "SMIs", "together %", "drawn %", "batches", "of hits", "half width", "correlation"}, func(r *noiseRowJSON) []string {
			return []string{
				fmt.Sprintf("%.2f", r.Misses), fmt.Sprintf("%.2f", r.Ticks), fmt.Sprintf("%.2f", r.SMIs),
				fmt.Sprintf("%.2f", 100*(r.Misses+r.Ticks+r.SMIs)/r.Warm), fmt.Sprintf("%.2f", 100*(r.Mean.Value/r.Warm-1)),
				fmt.Sprint(r.Within.Batches), fmt.Sprint(r.Within.HitsOfEach), fmt.Sprintf("%.1f", r.Within.HalfWidth), fmt.Sprintf("%.2f", r.Within.Correlation),
			}
		})
	section("How many times as long as the hits of the first probe of each machine; p: the chance that the means of runs that are drawn alike differ as much (Mann and Whitney)",
		[]string{"times", "95 %", "p"}, func(r *noiseRowJSON) []string {
			if r.With == nil {
				return nil
			}
			return append(measured("%.3f", r.With.Ratio), fmt.Sprintf("%.2g", r.With.P))
		})
	n := &r.Noise
	whose := "All of it is assumed: nobody has measured it on these machines"
	if r.NoiseFrom != "assumed" {
		whose = "As " + r.NoiseFrom + " has it"
	}
	fmt.Fprintf(p.Out, "Noise: of a run %s %% (sd), of a hit %s %%; a miss in %.3g of a hit's accesses, of %g ns; %g ticks a second, of %g ns; %g SMIs. %s.\n",
		cli.PerCent(n.RunCV), cli.PerCent(n.JitterCV), n.MissesPerAccess, n.MissNsec, n.TicksPerSec, n.TickNsec, n.SMIsPerSec, whose)
	fmt.Fprintf(p.Out, "Intervals are of the bootstrap over runs, which is too narrow for few; seed %d.\n", r.Seed)
}

// measured are the cells of numbers and their intervals.
func measured(format string, list ...overhead.Measure) (cells []string) {
	for _, m := range list {
		cells = append(cells, fmt.Sprintf(format, m.Value), fmt.Sprintf(format+" to "+format, m.Interval.Low, m.Interval.High))
	}
	return cells
}
