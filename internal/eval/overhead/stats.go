package overhead

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Samples are the cycles of hits, by runs. Runs are independent of each other, hits of
// a run aren't.
type Samples [][]float64

// An Interval is one of confidence, at 95 %.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

const confidence = 0.95

// quantiles are those that a Summary has, but for the largest.
var quantiles = [...]float64{0.5, 0.9, 0.99, 0.999}

// A Measure is a number of samples and its interval.
type Measure struct {
	Value    float64  `json:"value"`
	Interval Interval `json:"interval_95"`
}

// A Summary says what samples are like. Quantiles are the least sample that is not
// below so many of them: those of the inverse of the ECDF (type 1 of Hyndman and Fan,
// stat.Empirical of gonum), so that each is a hit that was drawn. Intervals are those
// of the percentile bootstrap over runs.
type Summary struct {
	Runs       int        `json:"runs"`
	HitsPerRun int        `json:"hits_per_run"`
	Mean       Measure    `json:"mean_cycles"`
	SD         float64    `json:"sd_cycles"` // of all hits, with n-1
	CV         float64    `json:"cv"`        // SD by Mean
	Skew       float64    `json:"skew"`      // adjusted for n (stat.Skew); 0 of hits that are all alike
	P50        Measure    `json:"p50_cycles"`
	P90        Measure    `json:"p90_cycles"`
	P99        Measure    `json:"p99_cycles"`
	P999       Measure    `json:"p99_9_cycles"`
	Max        float64    `json:"max_cycles"` // has no interval: no bootstrap draws more than was seen
	Within     BatchMeans `json:"batch_means_within_runs"`
}

// Bootstrapped is how many times runs are drawn again.
const Bootstrapped = 1000

// check returns what keeps samples from being summed up.
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

// means returns those of the runs.
func (s Samples) means() []float64 {
	list := make([]float64, len(s))
	for i, r := range s {
		list[i] = stat.Mean(r, nil)
	}
	return list
}

// A pool is all hits in ascending order, and whose they are.
type pool struct {
	cycles []float64
	run    []int
	before [][]int // of each block's beginning: how many hits of each run come before it
}

const poolBlock = 512

func (s Samples) pool() (p pool) {
	type hit struct {
		cycles float64
		run    int
	}
	var all []hit
	for i, r := range s {
		for _, v := range r {
			all = append(all, hit{v, i})
		}
	}
	slices.SortStableFunc(all, func(a, b hit) int { return cmp.Compare(a.cycles, b.cycles) })
	before := make([]int, len(s))
	for i, h := range all {
		if i%poolBlock == 0 {
			p.before = append(p.before, slices.Clone(before))
		}
		before[h.run]++
		p.cycles, p.run = append(p.cycles, h.cycles), append(p.run, h.run)
	}
	return p
}

// quantiles returns those of the pool in which each run is so many times. There are as
// many hits in it as in this one: each run has the same number.
func (p *pool) quantiles(times []int) (q [len(quantiles)]float64) {
	for k := range q {
		want := quantiles[k] * float64(len(p.run))
		n := 0
		i := sort.Search(len(p.before), func(b int) bool { return float64(weigh(p.before[b], times)) >= want }) - 1
		for n, i = weigh(p.before[i], times), i*poolBlock; ; i++ {
			if n += times[p.run[i]]; float64(n) >= want {
				break
			}
		}
		q[k] = p.cycles[i]
	}
	return q
}

func weigh(hits, times []int) (n int) {
	for r, h := range hits {
		n += h * times[r]
	}
	return n
}

// Summarize sums samples up; the seed is that of the bootstrap.
func Summarize(s Samples, seed uint64) (*Summary, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	p, means := s.pool(), s.means()
	sum := &Summary{Runs: len(s), HitsPerRun: len(s[0]), Max: p.cycles[len(p.cycles)-1]}
	sum.Mean.Value = stat.Mean(means, nil)
	sum.SD = stat.StdDev(p.cycles, nil)
	if sum.SD > 0 {
		sum.CV = sum.SD / sum.Mean.Value
		sum.Skew = stat.Skew(p.cycles, nil)
	}
	of := [...]*Measure{&sum.P50, &sum.P90, &sum.P99, &sum.P999}
	for k, q := range quantiles {
		of[k].Value = stat.Quantile(q, stat.Empirical, p.cycles, nil)
	}

	rng := rand.New(rand.NewPCG(seed, 0))
	times := make([]int, len(s))
	var mean [Bootstrapped]float64
	var drawn [len(quantiles)][Bootstrapped]float64
	for b := range mean {
		mean[b] = resample(means, rng, times)
		for k, v := range p.quantiles(times) {
			drawn[k][b] = v
		}
	}
	sum.Mean.Interval = middle(mean[:])
	for k := range drawn {
		of[k].Interval = middle(drawn[k][:])
	}
	sum.Within = s.batches()
	return sum, nil
}

// resample draws as many runs as there are, with replacement: the mean of their means,
// and how many times each was drawn.
func resample(means []float64, rng *rand.Rand, times []int) (mean float64) {
	clear(times)
	for range means {
		i := rng.IntN(len(means))
		times[i]++
		mean += means[i]
	}
	return mean / float64(len(means))
}

// middle returns the interval between the quantiles that leave out the same on either
// side: the percentile bootstrap (Efron and Tibshirani, An Introduction to the
// Bootstrap, 13.3). Of few runs it is too narrow: with 10 it holds what it should hold
// in about 90 of 100 cases, not in 95.
func middle(list []float64) Interval {
	slices.Sort(list)
	const tail = (1 - confidence) / 2
	return Interval{
		Low:  stat.Quantile(tail, stat.Empirical, list, nil),
		High: stat.Quantile(1-tail, stat.Empirical, list, nil),
	}
}

// BatchMeans says how far the mean of one run can be trusted: its hits are split into
// batches of the same length, whose means are nearly independent (Law and Kelton,
// Simulation Modeling and Analysis, "batch means").
type BatchMeans struct {
	Batches     int     `json:"batches"` // 0: the runs are too short
	HitsOfEach  int     `json:"hits_of_each"`
	HalfWidth   float64 `json:"half_width_cycles"` // of a run's mean at 95 %, by Student's t; the mean over runs
	Correlation float64 `json:"correlation"`       // variance of batch means, times their length, by that of hits: 1 if hits of a run are independent
}

// batchesMost is how many batches a run is split into if it is long enough: more don't
// help, shorter ones are correlated (Schmeiser, Batch Size Effects, 1982: 10 to 30).
const batchesMost, batchLeast = 20, 10

// batches leaves out what remains at the end of a run.
func (s Samples) batches() (b BatchMeans) {
	if b.Batches = min(batchesMost, len(s[0])/batchLeast); b.Batches < 2 {
		return BatchMeans{}
	}
	b.HitsOfEach = len(s[0]) / b.Batches
	t := distuv.StudentsT{Sigma: 1, Nu: float64(b.Batches - 1)}.Quantile((1 + confidence) / 2)
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
	P     float64 `json:"mann_whitney_p"` // of the runs' means, two-sided
}

// Compare compares b with a.
func Compare(a, b Samples, seed uint64) (*Comparison, error) {
	for _, s := range [...]Samples{a, b} {
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	x, y := a.means(), b.means()
	if slices.Min(x) <= 0 {
		return nil, fmt.Errorf("a run takes %v cycles a hit in the mean: there is no ratio to it", slices.Min(x))
	}
	c := &Comparison{P: MannWhitney(x, y)}
	c.Ratio.Value = stat.Mean(y, nil) / stat.Mean(x, nil)
	rng := rand.New(rand.NewPCG(seed, 0))
	drawn, times := make([]float64, Bootstrapped), make([]int, max(len(x), len(y)))
	for i := range drawn {
		below := resample(x, rng, times)
		drawn[i] = resample(y, rng, times) / below
	}
	c.Ratio.Interval = middle(drawn)
	return c, nil
}

// mannWhitneyExact is up to how many values together all ways to share them out are
// counted.
const mannWhitneyExact = 50

// MannWhitney returns how likely two lists would differ as much as these if they were
// drawn alike: the two-sided p of the rank sum test. Up to 50 values it is exact, ties
// or not; of more it is the normal approximation with corrections for ties and
// continuity.
func MannWhitney(x, y []float64) float64 {
	rank, ties := ranks(x, y)
	mid := len(x) * (len(rank) + 1) // the doubled rank sum of x in the mean
	off := -mid
	for _, r := range rank[:len(x)] {
		off += r
	}
	if off < 0 {
		off = -off
	}
	if len(rank) > mannWhitneyExact {
		return rankSumNormal(len(x), len(y), off, ties)
	}
	return rankSumExact(rank, len(x), off)
}

// rankSumExact returns how many of the ways to choose n ranks have a sum that is off from
// its mean by at least that much, relative.
func rankSumExact(rank []int, n, off int) float64 {
	most := 0
	for _, r := range rank {
		most += r
	}
	ways := make([][]float64, n+1) // of k of the ranks so far, by their sum
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, r := range rank {
		for k := n; k > 0; k-- {
			for s := r; s <= most; s++ {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	extreme, all := 0.0, 0.0
	for s, w := range ways[n] {
		all += w
		if d := s - n*(len(rank)+1); d >= off || d <= -off {
			extreme += w
		}
	}
	return extreme / all
}

// rankSumNormal is the approximation to it. off is twice what U is off by.
func rankSumNormal(nx, ny, off int, ties float64) float64 {
	m, k := float64(nx), float64(ny)
	v := m * k / 12 * (m + k + 1 - ties/((m+k)*(m+k-1)))
	if v == 0 {
		return 1
	}
	return math.Erfc(max(0, float64(off)/2-0.5) / math.Sqrt(2*v))
}

// ranks returns the doubled ranks of all values, those of x first, ties having the mean
// of theirs, and the sum of t³-t over the numbers of values that are tied.
func ranks(x, y []float64) (rank []int, ties float64) {
	all := slices.Concat(x, y)
	order := slices.Clone(all)
	slices.Sort(order)
	for _, v := range all {
		from, _ := slices.BinarySearch(order, v)
		t := 1
		for from+t < len(order) && order[from+t] == v {
			t++
		}
		rank = append(rank, 2*from+t+1) // twice the mean of from+1 to from+t
		ties += float64(t*t - 1)        // t of them: t³-t
	}
	return rank, ties
}
