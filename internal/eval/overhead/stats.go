package overhead

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Samples are the cycles of hits, by runs. Runs are independent of each other, hits of
// a run aren't.
type Samples [][]float64

// An Interval is one of confidence, at 95 %. An end is infinite where the samples give none.
type Interval struct{ Low, High float64 }

// MarshalJSON implements json.Marshaler. An infinite end is null.
func (i Interval) MarshalJSON() ([]byte, error) {
	end := func(v float64) *float64 {
		if math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	return json.Marshal(struct {
		Low  *float64 `json:"low"`
		High *float64 `json:"high"`
	}{end(i.Low), end(i.High)})
}

const confidence = 0.95

// quantiles are those of a Summary, except the largest.
var quantiles = [...]float64{0.5, 0.9, 0.99, 0.999}

// A Measure is a number of samples and its interval.
type Measure struct {
	Value    float64  `json:"value"`
	Interval Interval `json:"interval_95"`
}

// A Summary describes samples. The quantile q is the least sample such that a share of q of the
// samples isn't above it: the inverse of the ECDF (type 1 of Hyndman and Fan, stat.Empirical of
// gonum), so each quantile is a hit that was drawn.
type Summary struct {
	Runs       int        `json:"runs"`
	HitsPerRun int        `json:"hits_per_run"`
	Mean       Measure    `json:"mean_cycles"`
	SD         float64    `json:"sd_cycles"` // of all hits, with n-1
	CV         float64    `json:"cv"`        // SD by Mean
	Skew       float64    `json:"skew"`      // adjusted for n (stat.Skew); 0 if all hits are equal
	P50        Measure    `json:"p50_cycles"`
	P90        Measure    `json:"p90_cycles"`
	P99        Measure    `json:"p99_cycles"`
	P999       Measure    `json:"p99_9_cycles"`
	Max        float64    `json:"max_cycles"` // has no interval: samples don't bound it
	Within     BatchMeans `json:"batch_means_within_runs"`
}

// check returns an error if samples can't be summed up.
func (s Samples) check() error {
	if len(s) < 2 {
		return fmt.Errorf("%d run: an interval over runs takes 2 or more", len(s))
	}
	for i, r := range s {
		if len(r) != len(s[0]) || len(r) < 2 {
			return fmt.Errorf("run %d has %d hits: each run is to have the same number, 2 or more", i, len(r))
		}
		for _, v := range r {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("run %d has a hit of %v cycles", i, v)
			}
		}
	}
	return nil
}

// means returns the means of the runs.
func (s Samples) means() []float64 {
	list := make([]float64, len(s))
	for i, r := range s {
		list[i] = stat.Mean(r, nil)
	}
	return list
}

// Summarize sums samples up.
func Summarize(s Samples) (*Summary, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	all, runs := s.sorted()
	sum := &Summary{Runs: len(s), HitsPerRun: len(s[0]), Max: all[len(all)-1], Mean: meanOf(s.means())}
	sum.SD = stat.StdDev(all, nil)
	if sum.SD > 0 {
		sum.CV = sum.SD / sum.Mean.Value
		sum.Skew = stat.Skew(all, nil)
	}
	of := [...]*Measure{&sum.P50, &sum.P90, &sum.P99, &sum.P999}
	for k, q := range quantiles {
		*of[k] = quantileOf(all, runs, q)
	}
	sum.Within = s.batches()
	return sum, nil
}

// sorted returns all hits, and the hits of each run, in ascending order.
func (s Samples) sorted() (all []float64, runs [][]float64) {
	for _, r := range s {
		runs = append(runs, slices.Sorted(slices.Values(r)))
	}
	all = slices.Concat(runs...)
	slices.Sort(all)
	return all, runs
}

// BatchMeans says how far the mean of one run can be trusted: its hits are split into batches of the same length,
// whose means are nearly independent (Law and Kelton, Simulation Modeling and Analysis, "batch means").
type BatchMeans struct {
	Batches    int     `json:"batches"` // 0: the runs are too short
	HitsOfEach int     `json:"hits_of_each"`
	HalfWidth  float64 `json:"half_width_cycles"` // of a run's mean at 95 %, by Student's t; the mean over runs
	// variance of batch means, times their length, by that of hits: 1 if hits of a run are independent
	Correlation float64 `json:"correlation"`
}

// batchesMost is the number of batches of a run that is long enough: more don't help, shorter ones are correlated
// (Schmeiser, Batch Size Effects, 1982: 10 to 30).
const batchesMost, batchLeast = 20, 10

// batches ignores the rest at the end of a run.
func (s Samples) batches() (b BatchMeans) {
	if b.Batches = min(batchesMost, len(s[0])/batchLeast); b.Batches < 2 {
		return BatchMeans{}
	}
	b.HitsOfEach = len(s[0]) / b.Batches
	t := student(float64(b.Batches - 1))
	var batch, hit float64 // variances
	for _, r := range s {
		means := make([]float64, b.Batches)
		for i := range means {
			means[i] = stat.Mean(r[i*b.HitsOfEach:(i+1)*b.HitsOfEach], nil)
		}
		v := stat.Variance(means, nil)
		b.HalfWidth += t * math.Sqrt(v/float64(b.Batches)) / float64(len(s))
		batch += v
		hit += stat.Variance(r[:b.Batches*b.HitsOfEach], nil)
	}
	if hit > 0 {
		b.Correlation = batch * float64(b.HitsOfEach) / hit
	}
	return b
}

// A Comparison is of two sets of samples: how many times as long the second's hits are.
type Comparison struct {
	Ratio Measure `json:"ratio_of_means"`
}

// Compare compares b with a. The interval is Welch's, of the logarithm of the ratio.
func Compare(a, b Samples) (*Comparison, error) {
	for _, s := range [...]Samples{a, b} {
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	x, y := a.means(), b.means()
	if slices.Min(x) <= 0 {
		return nil, fmt.Errorf("a run takes %v cycles a hit in the mean: there is no ratio to it", slices.Min(x))
	}
	below, v := relative(x)
	above, w := relative(y)
	c := &Comparison{}
	c.Ratio = Measure{above / below, Interval{math.Inf(-1), math.Inf(1)}}
	if above <= 0 { // it has no logarithm
		return c, nil
	}
	half := 0.0
	if v+w > 0 {
		freedom := (v + w) * (v + w) / (v*v/float64(len(x)-1) + w*w/float64(len(y)-1))
		half = student(freedom) * math.Sqrt(v+w)
	}
	c.Ratio.Interval = Interval{c.Ratio.Value * math.Exp(-half), c.Ratio.Value * math.Exp(half)}
	return c, nil
}

// relative returns the mean, and the variance of its logarithm.
func relative(list []float64) (mean, variance float64) {
	mean, v := stat.MeanVariance(list, nil)
	return mean, v / (mean * mean * float64(len(list)))
}
