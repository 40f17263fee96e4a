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
// estimation of population parameters", Biometrika 40, 1953). The interval is
// Esty's ("A normal limit law for a nonparametric estimator of the coverage of a
// random sample", Annals of Statistics 11, 1983). Where no class was met once, or
// each was, that is a point, and the rule of three stands in: what has a chance
// of 3/n a run is missed n times with probability exp(-3), one in twenty.
//
// It takes the runs for independent draws, which those of a strategy that plans
// ahead are not quite, and is about the sample: all runs together have seen more.
func unseen(n, once, twice uint64) Chance {
	if n == 0 {
		return Chance{0, 0, 1}
	}
	runs, f1, f2 := float64(n), min(float64(once), float64(n)), float64(twice)
	c := Chance{Estimate: f1 / runs}
	half := 1.96 * math.Sqrt(f1*(1-f1/runs)+2*f2) / runs
	c.Low = max(min(c.Estimate-half, 1-3/runs), 0)
	c.High = min(max(c.Estimate+half, 3/runs), 1)
	return c
}
