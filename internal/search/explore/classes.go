package explore

import (
	"encoding/json"
	"math"
	"slices"
)

// Classes is how often each behaviour was met in a sample of runs: runs that
// differ only in the order of steps that don't touch each other are one
// behaviour. It gets hashes, and counts to three: met once, twice, and more
// often is all that an estimate of what is still unseen is made of.
type Classes struct {
	met map[uint64]uint8 // by hash, 1 to manyTimes
}

const manyTimes = 3

// Add counts a run of the class.
func (c *Classes) Add(hash uint64) { c.add(hash, 1) }

func (c *Classes) add(hash uint64, times uint8) {
	if c.met == nil {
		c.met = make(map[uint64]uint8)
	}
	c.met[hash] = min(c.met[hash]+times, manyTimes)
}

// Join adds what another part has met.
func (c *Classes) Join(d *Classes) {
	for h, n := range d.met {
		c.add(h, n)
	}
}

// count returns how many classes there are, and how many of them were met once
// and twice.
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

// MarshalJSON implements json.Marshaler: the hashes of those met once, twice, and
// more often, sorted.
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

// A Chance is an estimated probability, with its interval of 95 %.
type Chance struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// unseen estimates the chance that one more run is of a class that the sample
// hasn't: of n runs once and twice say how many classes were met once and twice.
//
// The estimate is Good and Turing's: the share of the runs that have met a class
// that no other has (I. J. Good, "The population frequencies of species and the
// estimation of population parameters", Biometrika 40, 1953).
//
// The interval is Esty's ("A normal limit law for a nonparametric estimator of the
// coverage of a random sample", Annals of Statistics 11, 1983): the variance of
// what the estimate misses by is f1(1-f1/n)+2f2 over n², where f1 and f2 are the
// expected numbers of classes met once and twice. With the numbers that were met
// in their stead it covers less than it says where those are small. So both are
// taken at their exact upper limits (F. Garwood, "Fiducial limits for the Poisson
// distribution", Biometrika 28, 1936), that of f1 from the side on which it is the
// nearer to n/2. A bound that holds without a limit law (McAllester and Schapire,
// "On the convergence rate of Good-Turing estimators", COLT 2000) is 30 points
// wide on either side at 1,000 runs. TestUnseen measures what this one covers.
//
// It takes the runs for independent draws, which those of a strategy that plans
// ahead are not quite, and is about the sample: all runs together have seen more.
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
	deviations = 1.96 // of 95 %, two-sided
	missesMean = 0.01 // how often upperMean is too low
)

// upperMean is Garwood's upper limit of the mean of a count that was k: the mean with which
// a count of k or less has the chance missesMean. Of a sum of rare events, which varies less
// than Poisson's, it is one all the more.
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
