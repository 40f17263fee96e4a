package overhead

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// Hyndman and Fan's type 1 is the nearest rank; these are the examples of its article in
// Wikipedia ("Percentile"), as two runs each.
func TestQuantiles(t *testing.T) {
	for _, c := range []struct {
		s    Samples
		want [4]float64
	}{
		{Samples{{15, 50, 35}, {20, 40, 60}}, [4]float64{35, 60, 60, 60}},
		{Samples{{3, 6, 7, 8, 8}, {10, 13, 15, 16, 20}}, [4]float64{8, 16, 20, 20}},
	} {
		sum, err := Summarize(c.s, 1)
		require.NoError(t, err)
		require.Equal(t, c.want, [4]float64{sum.P50.Value, sum.P90.Value, sum.P99.Value, sum.P999.Value})
	}
	thousand := Samples{make([]float64, 500), make([]float64, 500)}
	for i := range 1000 {
		thousand[i%2][i/2] = float64(i + 1)
	}
	sum, err := Summarize(thousand, 1)
	require.NoError(t, err)
	require.Equal(t, [5]float64{500, 900, 990, 999, 1000}, [5]float64{sum.P50.Value, sum.P90.Value, sum.P99.Value, sum.P999.Value, sum.Max})
}

// By hand: deviations -3, -2, -1, 6 from 4; their squares sum to 50, their cubes to 180.
func TestMoments(t *testing.T) {
	sum, err := Summarize(Samples{{1, 2}, {10, 3}}, 1)
	require.NoError(t, err)
	require.Equal(t, 4.0, sum.Mean.Value)
	require.InDelta(t, math.Sqrt(50.0/3), sum.SD, 1e-12)
	require.InDelta(t, math.Sqrt(50.0/3)/4, sum.CV, 1e-12)
	require.InDelta(t, 4.0/6*180/math.Pow(50.0/3, 1.5), sum.Skew, 1e-12)
	require.Equal(t, Interval{1.5, 6.5}, sum.Mean.Interval) // the same run twice comes in a quarter of cases each
	require.Equal(t, 10.0, sum.Max)
	require.Zero(t, sum.Within)
}

// Two runs of twenty hits, two batches of ten, of each run: the means are 1 and 3, so
// that their variance is 2; Student's t for one degree is 12.7062.
func TestBatchMeans(t *testing.T) {
	run := func() (r []float64) {
		for i := range 20 {
			r = append(r, float64(i%2*2+i/10*2)) // 0, 2, 0, 2, … and 2, 4, 2, 4, …
		}
		return r
	}
	b := Samples{run(), run()}.batches()
	require.Equal(t, 2, b.Batches)
	require.Equal(t, 10, b.HitsOfEach)
	require.InDelta(t, 12.7062, b.HalfWidth, 1e-4)
	require.InDelta(t, 2*10/(40.0/19), b.Correlation, 1e-12) // squares about 2: ten 0s of 4, ten of 0 and 20 in all 40
}

// Published values: the rest by counting.
func TestMannWhitney(t *testing.T) {
	for name, c := range map[string]struct {
		x, y []float64
		want float64
	}{
		"all of three below": {[]float64{1, 2, 3}, []float64{4, 5, 6}, 2.0 / 20},
		"alike":              {[]float64{1, 2, 3}, []float64{1, 2, 3}, 1},
		"all the same":       {[]float64{5, 5}, []float64{5, 5, 5}, 1},
		// Mann and Whitney's table: n=4, m=4: U<=1 comes in 2 of 70 ways.
		"one out of place": {[]float64{1, 2, 3, 5}, []float64{4, 6, 7, 8}, 4.0 / 70},
		// The two 2s are tied: 1, 2.5 against 2.5, 4, 5; of ten ways two have a rank sum
		// of 3.5, none less; and above the mean 6 are one of 9 and two of 7.5 and 6.5.
		"a tie": {[]float64{1, 2}, []float64{2, 4, 5}, 3.0 / 10},
		// Hollander and Wolfe, permeability of the chorioamnion, as in R's
		// help(wilcox.test): W = 35, one-sided 0.1272, of 3003 ways.
		"permeability": {
			[]float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}, []float64{1.15, 0.88, 0.90, 0.74, 1.21}, 2 * 382.0 / 3003},
	} {
		require.InDelta(t, c.want, MannWhitney(c.x, c.y), 1e-12, name)
		require.InDelta(t, c.want, MannWhitney(c.y, c.x), 1e-12, name)
	}
}

// Of many values the normal approximation, with ties: worked out by hand. x is 30 times
// 1 and 10 times 2, y 10 times 1 and 30 times 2: the ranks are 20.5 and 60.5, the sum of
// x is 1220, its mean 1620, so U is off by 400; the variance is 1600/12 * (81 -
// 2*(40^3-40)/(80*79)).
func TestMannWhitneyOfMany(t *testing.T) {
	x, y := slices.Concat(slices.Repeat([]float64{1}, 30), slices.Repeat([]float64{2}, 10)), slices.Concat(slices.Repeat([]float64{1}, 10), slices.Repeat([]float64{2}, 30))
	z := 399.5 / math.Sqrt(1600.0/12*(81-2*(64000.0-40)/(80*79)))
	require.InEpsilon(t, math.Erfc(z/math.Sqrt2), MannWhitney(x, y), 1e-9)

	// Where the exact one ends the two are nearly the same.
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		x, y = nil, nil
		for range mannWhitneyExact / 2 {
			x, y = append(x, math.Round(4*rng.NormFloat64())), append(y, math.Round(4*rng.NormFloat64()+1))
		}
		rank, ties := ranks(x, y)
		off := -len(x) * (len(rank) + 1)
		for _, r := range rank[:len(x)] {
			off += r
		}
		off = max(off, -off)
		require.InDelta(t, rankSumExact(rank, len(x), off), rankSumNormal(len(x), len(y), off, ties), 0.01)
	}
}

func drawSamples(t *rapid.T) Samples {
	hits := rapid.SampledFrom([]int{2, 3, 30, poolBlock / 2, poolBlock}).Draw(t, "hits")
	runs := rapid.IntRange(2, 6).Draw(t, "runs")
	s := make(Samples, runs)
	for i := range s {
		rng := rand.New(rand.NewPCG(rapid.Uint64Range(0, 3).Draw(t, "run"), 0)) // alike, some
		for range hits {
			s[i] = append(s[i], 1+math.Round(1000*rng.ExpFloat64())/10)
		}
	}
	return s
}

// Quantiles are monotone, each is a hit; intervals are about their values; the order of
// runs and of hits changes none of them but by the bootstrap's own draws.
func TestSummaryRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSamples(t)
		sum, err := Summarize(s, 1)
		require.NoError(t, err)
		last := 0.0
		for _, m := range []Measure{sum.P50, sum.P90, sum.P99, sum.P999} {
			require.LessOrEqual(t, last, m.Value)
			require.LessOrEqual(t, m.Interval.Low, m.Interval.High)
			require.LessOrEqual(t, m.Interval.High, sum.Max)
			last = m.Value
		}
		require.LessOrEqual(t, last, sum.Max)
		require.LessOrEqual(t, sum.Mean.Interval.Low, sum.Mean.Value*(1+1e-9))
		require.GreaterOrEqual(t, sum.Mean.Interval.High, sum.Mean.Value*(1-1e-9))
		again, err := Summarize(s, 1)
		require.NoError(t, err)
		require.Equal(t, sum, again)
	})
}

// The quantiles of a resample are gonum's, of hits with weights.
func TestPoolRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSamples(t)
		means, times := s.means(), make([]int, len(s))
		resample(means, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), times)
		p := s.pool()
		weights := make([]float64, len(p.run))
		for i, r := range p.run {
			weights[i] = float64(times[r])
		}
		for k, v := range p.quantiles(times) {
			require.Equal(t, stat.Quantile(quantiles[k], stat.Empirical, p.cycles, weights), v)
		}
	})
}

// The ratio of what is scaled is the scale, whatever was drawn; that of two lists swapped
// is its inverse, and no list differs from itself.
func TestCompareRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSamples(t), drawSamples(t)
		x, err := Compare(a, b, 1)
		require.NoError(t, err)
		y, err := Compare(b, a, 1)
		require.NoError(t, err)
		require.InEpsilon(t, 1, x.Ratio.Value*y.Ratio.Value, 1e-9)
		require.InDelta(t, x.P, y.P, 1e-12)
		require.LessOrEqual(t, x.Ratio.Interval.Low, x.Ratio.Interval.High)
		same, err := Compare(a, a, 1)
		require.NoError(t, err)
		require.Equal(t, 1.0, same.Ratio.Value)
		require.Equal(t, 1.0, same.P)
	})
}

// An interval of 95 % holds the true mean in 93 to 97 of 100 experiments: of runs that
// differ by more than their hits do, and are skewed. Batch means say so of one run whose
// hits are independent.
func TestCoverage(t *testing.T) {
	const experiments, runs, hits, truth = 400, 60, 20, 1010.0
	// The median of an exponential distribution, and what a Gaussian of variance v moves
	// it by: -v/2 f'/f of its density f.
	const middle = 1000 + 10*math.Ln2 + 1.0/2/10
	rng := rand.New(rand.NewPCG(5, 5))
	var mean, median, batch int
	for range experiments {
		s := make(Samples, runs)
		for i := range s {
			of := 1000 + 10*rng.ExpFloat64() // of the run
			for range hits {
				s[i] = append(s[i], of+rng.NormFloat64())
			}
		}
		sum, err := Summarize(s, rng.Uint64())
		require.NoError(t, err)
		if i := sum.Mean.Interval; i.Low <= truth && truth <= i.High {
			mean++
		}
		if i := sum.P50.Interval; i.Low <= middle && middle <= i.High {
			median++
		}
		var one []float64
		for range 400 {
			one = append(one, truth+10*rng.NormFloat64())
		}
		if b := (Samples{one}).batches(); math.Abs(stat.Mean(one, nil)-truth) <= b.HalfWidth {
			batch++
		}
	}
	t.Logf("of %d: mean %d, median %d, batch means %d", experiments, mean, median, batch)
	for name, n := range map[string]int{"mean": mean, "median": median, "batch means": batch} {
		require.GreaterOrEqual(t, n, experiments*93/100, name)
		require.LessOrEqual(t, n, experiments*97/100, name)
	}
}

// What can't be summed up is said to be.
func TestSamplesCheck(t *testing.T) {
	for want, s := range map[string]Samples{
		"1 run: an interval over runs takes 2 or more": {{1, 2}},
		"run 1 has 1 hits: each run":                   {{1, 2}, {3}},
		"run 0 has 1 hits: each run":                   {{1}, {3}},
		"run 1 has a hit of NaN cycles":                {{1, 2}, {3, math.NaN()}},
	} {
		_, err := Summarize(s, 1)
		require.ErrorContains(t, err, want)
		_, err = Compare(Samples{{1, 2}, {1, 2}}, s, 1)
		require.ErrorContains(t, err, want)
	}
	_, err := Compare(Samples{{0, 0}, {1, 1}}, Samples{{1, 1}, {1, 1}}, 1)
	require.ErrorContains(t, err, "no ratio")
}
