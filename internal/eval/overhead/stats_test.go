package overhead

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
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
		sum, err := Summarize(c.s)
		require.NoError(t, err)
		require.Equal(t, c.want, [4]float64{sum.P50.Value, sum.P90.Value, sum.P99.Value, sum.P999.Value})
	}
	thousand := Samples{make([]float64, 500), make([]float64, 500)}
	for i := range 1000 {
		thousand[i%2][i/2] = float64(i + 1)
	}
	sum, err := Summarize(thousand)
	require.NoError(t, err)
	require.Equal(t, [5]float64{500, 900, 990, 999, 1000},
		[5]float64{sum.P50.Value, sum.P90.Value, sum.P99.Value, sum.P999.Value, sum.Max})
}

// By hand: deviations -3, -2, -1, 6 from 4; their squares sum to 50, their cubes to 180.
func TestMoments(t *testing.T) {
	sum, err := Summarize(Samples{{1, 2}, {10, 3}})
	require.NoError(t, err)
	require.Equal(t, 4.0, sum.Mean.Value)
	require.InDelta(t, math.Sqrt(50.0/3), sum.SD, 1e-12)
	require.InDelta(t, math.Sqrt(50.0/3)/4, sum.CV, 1e-12)
	require.InDelta(t, 4.0/6*180/math.Pow(50.0/3, 1.5), sum.Skew, 1e-12)
	// Student's t for one degree, and the error of 1.5 and 6.5
	require.InDelta(t, 4-12.7062*2.5, sum.Mean.Interval.Low, 1e-3)
	require.InDelta(t, 4+12.7062*2.5, sum.Mean.Interval.High, 1e-3)
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

func drawSamples(t *rapid.T) Samples {
	hits := rapid.SampledFrom([]int{2, 3, 30, 256, 512}).Draw(t, "hits")
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

// Quantiles are monotone, each is a hit; intervals are about their values; the order of runs and of hits changes
// nothing.
func TestSummaryRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSamples(t)
		sum, err := Summarize(s)
		require.NoError(t, err)
		last := 0.0
		for _, m := range []Measure{sum.P50, sum.P90, sum.P99, sum.P999} {
			require.LessOrEqual(t, last, m.Value)
			require.LessOrEqual(t, m.Interval.Low, m.Value)
			require.LessOrEqual(t, m.Value, m.Interval.High)
			last = m.Value
		}
		require.LessOrEqual(t, last, sum.Max)
		require.LessOrEqual(t, sum.Mean.Interval.Low, sum.Mean.Value)
		require.GreaterOrEqual(t, sum.Mean.Interval.High, sum.Mean.Value)
		slices.Reverse(s)
		for _, r := range s {
			slices.Reverse(r)
		}
		again, err := Summarize(s)
		require.NoError(t, err)
		require.InEpsilon(t, sum.Mean.Value, again.Mean.Value, 1e-12)
		require.Equal(t, [4]Measure{sum.P50, sum.P90, sum.P99, sum.P999},
			[4]Measure{again.P50, again.P90, again.P99, again.P999})
	})
}

// The ratio of what is scaled is the scale, whatever was drawn; that of two lists swapped is its inverse, and so is its
// interval.
func TestCompareRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSamples(t), drawSamples(t)
		x, err := Compare(a, b)
		require.NoError(t, err)
		y, err := Compare(b, a)
		require.NoError(t, err)
		require.InEpsilon(t, 1, x.Ratio.Value*y.Ratio.Value, 1e-9)
		require.LessOrEqual(t, x.Ratio.Interval.Low, x.Ratio.Value)
		require.LessOrEqual(t, x.Ratio.Value, x.Ratio.Interval.High)
		if h := x.Ratio.Interval.High; h < 1e9 {
			require.InEpsilon(t, 1, h*y.Ratio.Interval.Low, 1e-9)
		}
		same, err := Compare(a, a)
		require.NoError(t, err)
		require.Equal(t, 1.0, same.Ratio.Value)
	})
}

// An end that samples don't give is null.
func TestIntervalJSON(t *testing.T) {
	sum, err := Summarize(Samples{{1, 2, 3}, {2, 3, 4}})
	require.NoError(t, err)
	b, err := json.Marshal(sum.P999)
	require.NoError(t, err)
	require.Contains(t, string(b), `"high":null`)
	require.Equal(t, math.Inf(1), sum.P999.Interval.High)
}

// What can't be summed up is said to be.
func TestSamplesCheck(t *testing.T) {
	for want, s := range map[string]Samples{
		"1 run: an interval over runs takes 2 or more": {{1, 2}},
		"run 1 has 1 hits: each run":                   {{1, 2}, {3}},
		"run 0 has 1 hits: each run":                   {{1}, {3}},
		"run 1 has a hit of NaN cycles":                {{1, 2}, {3, math.NaN()}},
	} {
		_, err := Summarize(s)
		require.ErrorContains(t, err, want)
		_, err = Compare(Samples{{1, 2}, {1, 2}}, s)
		require.ErrorContains(t, err, want)
	}
	_, err := Compare(Samples{{0, 0}, {1, 1}}, Samples{{1, 1}, {1, 1}})
	require.ErrorContains(t, err, "no ratio")
	none, err := Compare(Samples{{1, 1}, {1, 1}}, Samples{{0, 0}, {0, 0}})
	require.NoError(t, err)
	require.Zero(t, none.Ratio.Value)
}
