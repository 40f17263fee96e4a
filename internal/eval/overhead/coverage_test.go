package overhead

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"kpsim/internal/testkit/thorough"
)

// covered counts how many of some intervals hold the truth.
type covered struct{ held, all int }

func (c *covered) add(i Interval, truth float64) {
	c.all++
	if i.Low <= truth && truth <= i.High {
		c.held++
	}
}

// atLeast requires that this share of the intervals hold it, less three standard errors of the count.
func (c *covered) atLeast(t *testing.T, share float64, what string, args ...any) {
	t.Helper()
	what = fmt.Sprintf(what, args...)
	t.Logf("%s: %d of %d", what, c.held, c.all)
	n := float64(c.all)
	require.GreaterOrEqual(t, float64(c.held)/n, share-3*math.Sqrt(share*(1-share)/n), what)
}

// within requires that a share of the intervals between this one less 2 % and this one more 2 % hold it, give or take
// three standard errors of the count.
func (c *covered) within(t *testing.T, share float64, what string, args ...any) {
	t.Helper()
	what = fmt.Sprintf(what, args...)
	n := float64(c.all)
	got, give := float64(c.held)/n, 0.02+3*math.Sqrt(share*(1-share)/n)
	t.Logf("%s: %d of %d, %.3f", what, c.held, c.all, got)
	require.InDelta(t, share, got, give, what)
}

// hitOf is a hit of the Xeon in 64 bits by the calibrated costs.
func hitOf(t *testing.T, probe string) (*Hit, float64) {
	t.Helper()
	table, err := fitted(t).Table(Calibrated)
	require.NoError(t, err)
	for i := range table {
		if l := &table[i]; l.Machine.ID() == "xeon-e5410/x86_64" && l.Probe.Name == probe {
			return &l.Hit, l.Machine.MHz
		}
	}
	t.Fatal(probe)
	return nil, 0
}

// The interval of the mean holds the mean that is worked out for the noise, of 20 runs and of fewer: of a long hit by
// 2000 hits a run, of the shortest by as many as are drawn by default, and not where too few ticks are drawn, of which
// Rare warns.
func TestMeanCoverage(t *testing.T) {
	type sort struct {
		probe string
		hits  int
		rare  bool
	}
	for _, c := range []sort{{"k", 2000, false}, {"o", 20_000, false}, {"o", 2000, true}} {
		h, mhz := hitOf(t, c.probe)
		require.Equal(t, c.rare, len(NominalNoise.Rare(h, mhz, 20, c.hits)) > 0, c)
		misses, ticks, smis := NominalNoise.Expected(h, mhz)
		truth := h.Cycles + misses + ticks + smis
		means := NominalNoise.DrawRuns(h, mhz, 3, thorough.Of(4_000_000, 40_000_000)/c.hits, c.hits).means()
		rng := rand.New(rand.NewPCG(1, uint64(c.hits)))
		for _, runs := range []int{2, 5, 20} {
			var n covered
			for range 4000 {
				list := make([]float64, runs)
				for i := range list {
					list[i] = means[rng.IntN(len(means))]
				}
				n.add(meanOf(list).Interval, truth)
			}
			switch what := fmt.Sprintf("mean of %s in %d runs of %d", c.probe, runs, c.hits); {
			case !c.rare:
				n.within(t, 0.95, "%s", what)
			case runs == 20:
				t.Logf("%s: %d of %d", what, n.held, n.all)
				require.Less(t, n.held, n.all*92/100, "a warning of nothing")
			}
		}
	}
}

// No figure's mean is decided by too few ticks in what is drawn by default, 20 runs of 20,000 hits.
func TestDefaultsAreNotRare(t *testing.T) {
	table, err := fitted(t).Table(Calibrated)
	require.NoError(t, err)
	for i := range table {
		require.Empty(t, NominalNoise.Rare(&table[i].Hit, table[i].Machine.MHz, 20, 20_000), table[i].Probe.Name)
	}
	smis := NominalNoise
	smis.SMIsPerSec = 10
	require.Equal(t, []string{"SMIs"}, smis.Rare(&table[0].Hit, table[0].Machine.MHz, 20, 20_000))
}

// The interval of each quantile holds it, where hits of a run are alike (the median), and at the edge of what ticks
// add (the last nines).
func TestQuantileCoverage(t *testing.T) {
	for _, probe := range []string{"k", "o"} {
		h, mhz := hitOf(t, probe)
		hits := thorough.Of(2000, 20_000)
		all := NominalNoise.DrawRuns(h, mhz, 5, thorough.Of(2_000_000, 20_000_000)/hits, hits)
		sorted, _ := all.sorted()
		var truth [len(quantiles)]float64
		for k, q := range quantiles {
			truth[k] = stat.Quantile(q, stat.Empirical, sorted, nil)
		}
		rng := rand.New(rand.NewPCG(2, 2))
		for _, runs := range []int{2, 5, 20} {
			var n [len(quantiles)]covered
			for range thorough.Of(60, 400) {
				s := make(Samples, runs)
				for i := range s {
					s[i] = all[rng.IntN(len(all))]
				}
				sum, err := Summarize(s)
				require.NoError(t, err)
				for k, m := range []Measure{sum.P50, sum.P90, sum.P99, sum.P999} {
					n[k].add(m.Interval, truth[k])
				}
			}
			for k := range n {
				if says := fmt.Sprintf("p%g of %s in %d runs", 100*quantiles[k], probe, runs); runs < 20 {
					n[k].atLeast(t, 0.93, "%s", says)
				} else { // as by default
					n[k].within(t, 0.95, "%s", says)
				}
			}
		}
	}
}

// The interval of a ratio holds it, of as many runs or of fewer, alike in spread or not; and batch
// means say how far one run's mean can be trusted.
func TestRatioCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	draw := func(runs int, mean, sd float64) (s Samples) {
		for range runs {
			of := mean + sd*rng.NormFloat64()
			s = append(s, []float64{of - 1, of + 1})
		}
		return s
	}
	for _, c := range [][3]float64{{20, 20, 10}, {20, 20, 200}, {5, 5, 30}, {2, 2, 10}} {
		var n covered
		for range 2000 {
			k, err := Compare(draw(int(c[0]), 1000, 30), draw(int(c[1]), 2000, c[2]))
			require.NoError(t, err)
			n.add(k.Ratio.Interval, 2)
		}
		n.within(t, 0.95, "ratio of %v", c)
	}
	var n covered
	for range 2000 {
		var one []float64
		for range 400 {
			one = append(one, 1000+10*rng.NormFloat64())
		}
		mean, half := stat.Mean(one, nil), Samples{one}.batches().HalfWidth
		n.add(Interval{mean - half, mean + half}, 1000)
	}
	n.within(t, 0.95, "batch means")
}

// The interval of a share holds it, whether the calls of a run are missed alike or not: of 10 runs, as are drawn by
// default, of 5, as in the page, and of 2. Where a miss is so rare that many sets of runs have none, the interval is
// longer than it says.
func TestShareCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, runs := range []int{2, 5, 10} {
		for _, share := range []float64{0.003, 0.05, 0.3, 0.9} {
			for _, apart := range []float64{0, 0.05} {
				if share < 2*apart { // a share that is drawn is one
					continue
				}
				var n covered
				for range thorough.Of(400, 4000) {
					var part, of []float64
					for range runs {
						p, m := share+apart*rng.NormFloat64(), 30+rng.IntN(30)
						k := 0
						for range m {
							if rng.Float64() < p {
								k++
							}
						}
						part, of = append(part, float64(k)), append(of, float64(m))
					}
					n.add(shareOf(part, of).Interval, share)
				}
				says := fmt.Sprintf("share %g, apart %g, %d runs", share, apart, runs)
				if runs < 5 || share*float64(runs) < 1 {
					n.atLeast(t, 0.95, "%s", says)
				} else {
					n.within(t, 0.95, "%s", says)
				}
			}
		}
	}
	require.Equal(t, Measure{0.5, Interval{0, 1}}, shareOf([]float64{3}, []float64{6}),
		"one run says nothing of others")
	require.Equal(t, Interval{0, 1}, shareOf([]float64{0, 0}, []float64{0, 0}).Interval)
}

// So do those of the pauses and of the missed calls that runs of the engine show: what many runs have lies in the
// intervals of few.
func TestDrawnCoverage(t *testing.T) {
	thorough.Only(t, "a minute: TestQuantileCoverage and TestShareCoverage have the same of drawn numbers")
	c := PauseConfig{CPUs: 4, Patch: "stop_machine", Preempt: "none", Calls: 4, Schedule: Timed, Runs: 1000, Seed: 99}
	many := pauses(t, c)
	var p50, p90 covered
	for seed := range uint64(200) {
		c.Runs, c.Seed = 20, seed
		p := pauses(t, c)
		p50.add(p.StopEnds.At50, many.StopEnds.P50)
		p90.add(p.StopEnds.At90, many.StopEnds.P90)
	}
	p50.within(t, 0.95, "p50 of stop_machine")
	p90.within(t, 0.95, "p90 of stop_machine")

	o := OverlapConfig{Tasks: 4, Maxactive: 2, Calls: 8, Edition: "6.9", Schedule: Timed, Runs: 1000, Seed: 99}
	truth, err := o.Measure()
	require.NoError(t, err)
	var share covered
	for seed := range uint64(300) {
		o.Runs, o.Seed = 5, seed
		k, err := o.Measure()
		require.NoError(t, err)
		share.add(k.Within, truth.Share)
	}
	share.atLeast(t, 0.95, "missed calls")
}

// The interval of a prediction holds the figure that was left out, of both tiers: figures are drawn about the model's
// own, with an error and rounded as the documents' are, each is left out in turn, and the margin is by the others,
// which then are left out of the fit without it in turn.
func TestMarginCoverage(t *testing.T) {
	o := fitted(t)
	rng := rand.New(rand.NewPCG(8, 8))
	for tier, worlds := range map[Tier]int{Mechanistic: thorough.Of(8, 60), Calibrated: thorough.Of(2, 15)} {
		var n covered
		for range worlds {
			list := slices.Clone(o.Samples)
			for i := range list {
				s := &list[i]
				core := o.Cores[s.Machine.core]
				s.Usec = max(0.01, math.Round(100*core.predict(s)*math.Exp(0.03*rng.NormFloat64()))/100)
			}
			for i := range list {
				rest := slices.Delete(slices.Clone(list), i, i+1)
				usec, err := list[i].without(rest, tier)
				require.NoError(t, err)
				within, err := (&Model{Samples: rest}).Margin(tier)
				require.NoError(t, err)
				n.add(Predicted(usec, within), list[i].Usec)
			}
		}
		n.within(t, 0.95, "margin of the %v tier", tier)
	}
}

// The margin holds one more error with 95 %: it is the largest of 19 errors, and the largest but one of 39.
func TestMargin(t *testing.T) {
	var list []float64
	for i := range 39 {
		list = append(list, float64(i+1)*[]float64{1, -1}[i%2]/100)
	}
	require.Equal(t, 0.38, margin(list))
	require.Equal(t, 0.19, margin(list[:19]))
	require.True(t, math.IsInf(margin(list[:18]), 1))
	require.Equal(t, Interval{0.8, math.Inf(1)}, Predicted(1.6, 1))
	require.InDelta(t, 1/0.9, Predicted(1, 0.1).High, 1e-12)
	require.InDelta(t, 1/1.1, Predicted(1, 0.1).Low, 1e-12)
}
