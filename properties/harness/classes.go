package harness

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Classes is how often each behaviour was met in a sample of runs: runs that
// differ only in the order of steps that don't touch each other are one
// behaviour. It is told hashes, and counts to three: met once, twice, and more
// often is all that an estimate of what is still unseen is made of.
//
// It keeps at most mostClasses hashes. When there are more it keeps those that
// end in so many zero bits that there aren't; that is a sample of the classes,
// not of the runs, so that how often they were met stays right. What is kept is
// a function of what was told, in whatever order, and by whatever parts.
type Classes struct {
	level int
	met   map[uint64]uint8 // by hash, 1 to manyTimes
}

const (
	manyTimes   = 3
	mostClasses = 1 << 14
)

// Add counts a run of the class.
func (c *Classes) Add(hash uint64) { c.add(hash, 1) }

func (c *Classes) add(hash uint64, times uint8) {
	if !c.keeps(hash) {
		return
	}
	if c.met == nil {
		c.met = make(map[uint64]uint8)
	}
	c.met[hash] = min(c.met[hash]+times, manyTimes)
	for len(c.met) > mostClasses {
		c.level++
		for h := range c.met {
			if !c.keeps(h) {
				delete(c.met, h)
			}
		}
	}
}

func (c *Classes) keeps(hash uint64) bool { return hash&(1<<c.level-1) == 0 }

// Join adds what another part has met.
func (c *Classes) Join(d *Classes) {
	for c.level < d.level {
		c.level++
		for h := range c.met {
			if !c.keeps(h) {
				delete(c.met, h)
			}
		}
	}
	for h, n := range d.met {
		c.add(h, n)
	}
}

// count returns how many classes there are, and how many of them were met once
// and twice. They are multiples of 1<<level: estimates, unless that is 1.
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
	return all << c.level, once << c.level, twice << c.level
}

// classesJSON is how Classes are written: sorted, so that equal ones are equal.
type classesJSON struct {
	Level int                 `json:"level"`
	Met   [manyTimes][]uint64 `json:"met"` // once, twice, more often
}

// MarshalJSON implements json.Marshaler.
func (c Classes) MarshalJSON() ([]byte, error) {
	j := classesJSON{Level: c.level}
	for h, n := range c.met {
		j.Met[n-1] = append(j.Met[n-1], h)
	}
	for i := range j.Met {
		slices.Sort(j.Met[i])
	}
	return json.Marshal(j)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Classes) UnmarshalJSON(b []byte) error {
	var j classesJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	if j.Level < 0 || j.Level > 63 {
		return fmt.Errorf("classes of level %d", j.Level)
	}
	*c = Classes{level: j.Level}
	for i, list := range j.Met {
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
