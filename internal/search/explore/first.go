package explore

import (
	"slices"

	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/traces"
)

// FirstSeeds is with how many seeds it is asked how soon a search finds what it
// finds: the fewest for which the 6th and the 15th bound the median with more
// than 95 %.
const FirstSeeds = 20

// A First is how many schedules it took to break a property, over seeds.
type First struct {
	Property string   `json:"property"`
	Seeds    int      `json:"seeds"`
	Bound    uint64   `json:"bound"` // how many schedules each seed was given
	Found    []uint64 `json:"found"` // by which schedule, from 1, it was broken: of those seeds that did, sorted
}

// MedianSeeds is how many seeds bound a median at least.
const MedianSeeds = 6

// Median returns the median over the seeds and the interval that holds the true one with 95 % at
// least, which makes no assumption on how the numbers are distributed. 0 stands for more than
// Bound. Fewer than MedianSeeds bound nothing: the interval is 1 to more than Bound.
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

// medianRank is the largest k such that the values number k and n+1-k of n, in
// their order, hold the median between them with probability 0.95 at least; 0 if
// there is none. The median is below number k if fewer than k of n fair coins
// show heads.
func medianRank(n int) int {
	p, sum := 1.0, 0.0 // of 0 heads, times 2^n; of fewer than k
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

// FirstWitness makes FirstSeeds searches, each with a seed of its own that
// depends on the spec's, and says how soon each of the properties is broken.
// Each search ends when all of them are, or after bound schedules. The result is
// nil if it was cancelled; it doesn't depend on how many workers there are.
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

// firstOf is one search: by which schedule each property was broken, 0 if it
// wasn't.
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
