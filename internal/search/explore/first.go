package explore

import (
	"slices"

	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/traces"
)

// FirstSeeds is the number of seeds that measure how soon a search finds a violation. 20 is the
// fewest for which the 6th and the 15th value bound the median with more than 95 % confidence.
const FirstSeeds = 20

// A First is the number of schedules until a property was broken, for several seeds.
type First struct {
	Property string `json:"property"`
	Seeds    int    `json:"seeds"`
	Bound    uint64 `json:"bound"` // maximum number of schedules for each seed
	// the number, from 1, of the breaking schedule, for the seeds that found one; sorted
	Found []uint64 `json:"found"`
}

// MedianSeeds is the fewest seeds that bound a median.
const MedianSeeds = 6

// Median returns the median over the seeds, and an interval that contains the true median with at
// least 95 % confidence, whatever the distribution. 0 stands for more than Bound. With fewer than
// MedianSeeds seeds the interval is everything: 1 to more than Bound.
func (f *First) Median() (median, low, high uint64) {
	at := func(rank int) uint64 { // from 1
		if rank <= len(f.Found) {
			return f.Found[rank-1]
		}
		return 0
	}
	if k := medianRank(f.Seeds); k > 0 {
		low, high = at(k), at(f.Seeds+1-k)
	} else {
		low, high = 1, 0
	}
	if a, b := at((f.Seeds+1)/2), at(f.Seeds/2+1); b != 0 {
		median = (a + b) / 2
	}
	return median, low, high
}

// medianRank returns the largest k such that the k-th smallest and the k-th largest of n values
// enclose the median with probability at least 0.95; 0 if there is none. The median is below the
// k-th smallest if fewer than k of n fair coins show heads.
func medianRank(n int) int {
	p, sum := 1.0, 0.0 // p: probability of 0 heads, times 2^n; sum: of fewer than k
	for range n {
		p /= 2
	}
	for k := 1; ; k++ {
		if sum += p; 2*sum > 0.05 {
			return k - 1
		}
		p = p * float64(n-k+1) / float64(k)
	}
}

// FirstWitness makes FirstSeeds searches and returns how soon each of the named properties is
// broken. Each search has a seed derived from the spec's, and ends when all properties are broken
// or after bound schedules. The result is nil if cancelled. It doesn't depend on the number of
// workers.
func FirstWitness(spec Spec, names []string, bound uint64) ([]First, error) {
	spec.fill()
	var (
		found [FirstSeeds][]uint64
		total = progress{spec: &spec}
	)
	err := searches(&spec, FirstSeeds, func(i int, rig *rig.Rig, shape *sched.Shape) (err error) {
		found[i], err = firstOf(&spec, rig, shape, names, bound, seedOf(spec.Seed, i), &total)
		return err
	})
	if err != nil {
		return nil, err
	}
	if total.stopped() {
		return nil, nil
	}
	var list []First
	for k, name := range names {
		f := First{Property: name, Seeds: FirstSeeds, Bound: bound, Found: []uint64{}}
		for i := range found {
			if n := found[i][k]; n > 0 {
				f.Found = append(f.Found, n)
			}
		}
		slices.Sort(f.Found)
		list = append(list, f)
	}
	return list, nil
}

// seedOf returns the seed of search number i.
func seedOf(seed uint64, i int) uint64 { return sim.Mix(sim.Mix(seed) + uint64(i)) }

// firstOf makes one search. It returns, for each property, the number of the schedule that broke
// it; 0 if none did.
func firstOf(spec *Spec, r *rig.Rig, shape *sched.Shape, names []string, bound, seed uint64, total *progress) ([]uint64,
	error) {
	found := make([]uint64, len(names))
	s, err := spec.strategy(sched.Params{Seed: seed, Shape: shape})
	if err != nil {
		return nil, err
	}
	left, told := len(names), uint64(0)
	err = r.Runs(s, bound, func(i uint64, run rig.Run) bool {
		run.EachBroken(func(q *properties.Property, _ *traces.Finding, _ properties.Set) {
			if k := slices.Index(names, q.Name); k >= 0 && found[k] == 0 {
				found[k] = i + 1
				left--
			}
		})
		if told++; told == progressEvery {
			total.add(told, 0)
			told = 0
		}
		return left > 0 && !total.stopped()
	})
	total.add(told, 0)
	return found, err
}
