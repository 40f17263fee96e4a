package explore

import (
	"encoding/json"
	"math"
	"slices"
)

// A Classes counts how often each behaviour was seen in a sample of runs. Runs that differ only
// in the order of independent steps are one behaviour, identified by a hash. Counts stop at three
// (once, twice, more often), which is all that the estimate of unseen behaviours needs.
type Classes struct {
	met map[uint64]uint8 // by hash, 1 to manyTimes
}

const manyTimes = 3

// Add counts one run of the behaviour.
func (c *Classes) Add(hash uint64) { c.add(hash, 1) }

func (c *Classes) add(hash uint64, times uint8) {
	if c.met == nil {
		c.met = make(map[uint64]uint8)
	}
	c.met[hash] = min(c.met[hash]+times, manyTimes)
}

// Join adds another part's counts.
func (c *Classes) Join(d *Classes) {
	for h, n := range d.met {
		c.add(h, n)
	}
}

// count returns the number of behaviours, and how many of them were seen once and twice.
func (c *Classes) count() (all, once, twice uint64) {
	for _, n := range c.met {
		all++
		switch n {
		case 1:
			once++
		case 2:
			twice++
		}
	}
	return all, once, twice
}

// MarshalJSON implements json.Marshaler. It writes the sorted hashes of the behaviours seen once,
// twice, and more often.
func (c Classes) MarshalJSON() ([]byte, error) {
	var lists [manyTimes][]uint64
	for h, n := range c.met {
		lists[n-1] = append(lists[n-1], h)
	}
	for i := range lists {
		slices.Sort(lists[i])
	}
	return json.Marshal(lists)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Classes) UnmarshalJSON(b []byte) error {
	var lists [manyTimes][]uint64
	if err := json.Unmarshal(b, &lists); err != nil {
		return err
	}
	*c = Classes{}
	for i, list := range lists {
		for _, h := range list {
			c.add(h, uint8(i+1))
		}
	}
	return nil
}

// A Chance is an estimated probability with its 95 % interval.
type Chance struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// unseen estimates the probability that one more run is of a behaviour not in the sample of n
// runs; once and twice are the numbers of behaviours seen once and twice.
//
// The estimate is Good and Turing's: the share of runs whose behaviour no other run has (I. J.
// Good, "The population frequencies of species and the estimation of population parameters",
// Biometrika 40, 1953).
//
// The interval is Esty's ("A normal limit law for a nonparametric estimator of the coverage of a
// random sample", Annals of Statistics 11, 1983): the estimate's error has variance
// f1(1-f1/n)+2f2 over n², where f1 and f2 are the expected numbers of behaviours seen once and
// twice. Putting the observed numbers in their place covers less than stated where they are
// small. So both are taken at their exact upper limits (F. Garwood, "Fiducial limits for the
// Poisson distribution", Biometrika 28, 1936), and f1 from the side on which it is nearer to n/2.
// A bound that needs no limit law (McAllester and Schapire, "On the convergence rate of
// Good-Turing estimators", COLT 2000) is 30 points wide on either side at 1,000 runs. TestUnseen
// measures the coverage of this interval.
//
// The runs are assumed to be independent draws, which is not quite true of strategies that plan
// ahead. The estimate is about the sample: all runs together have seen more.
func unseen(n, once, twice uint64) Chance {
	if n == 0 {
		return Chance{0, 0, 1}
	}
	runs := float64(n)
	once = min(once, n)
	c := Chance{Estimate: float64(once) / runs}
	f1 := min(upperMean(min(once, n-once)), runs/2)
	half := deviations * math.Sqrt(f1*(1-f1/runs)+2*upperMean(twice)) / runs
	c.Low, c.High = max(c.Estimate-half, 0), min(c.Estimate+half, 1)
	return c
}

const (
	deviations = 1.96 // for 95 %, two-sided
	missesMean = 0.01 // probability that upperMean is too low
)

// upperMean is Garwood's upper limit of the mean of a count observed to be k: with that mean, a
// count of k or less has probability missesMean. A sum of rare events varies less than a Poisson
// count, so the limit holds for it too.
func upperMean(k uint64) float64 {
	low, high := float64(k), 2*float64(k)+20
	for range 50 {
		mean := (low + high) / 2
		atMost := 0.0
		for i, term := k, 0.0; ; i-- {
			log, _ := math.Lgamma(float64(i) + 1)
			term = math.Exp(float64(i)*math.Log(mean) - mean - log)
			atMost += term
			if i == 0 || term < 1e-9*atMost {
				break
			}
		}
		if atMost > missesMean {
			low = mean
		} else {
			high = mean
		}
	}
	return high
}
