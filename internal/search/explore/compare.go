package explore

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"kpsim/internal/scenario"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// A Ratio compares two races: the median number of runs of one over that of the other.
type Ratio struct {
	Times float64 `json:"times"`
	Low   float64 `json:"low,omitempty"`  // the true ratio is below it with probability 5 %
	High  float64 `json:"high,omitempty"` // the true ratio is above it with probability 5 %
}

// leastSeeds is the minimum number of seeds for bounds. With fewer, the bootstrap's bounds cover
// less than stated (with one, 50 %).
const leastSeeds = 5

// Bounded reports whether there were enough seeds for bounds.
func (r *Ratio) Bounded() bool { return r.High > 0 }

// resamples is the number of bootstrap samples.
const resamples = 4000

// Compare returns the ratio of the medians of two races over the same seeds, with bounds by the
// bootstrap: seeds are resampled with replacement, and percentiles of the ratio are taken (Efron
// and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13). A resampled seed counts
// for both races, since a portfolio's members draw with a seed what they would draw alone. The
// result is deterministic. With fewer than 5 seeds the bounds are 0.
func Compare(a, b *Standings) Ratio {
	var r sim.Rand
	r.Seed(1, 0)
	n := min(len(a.Each), len(b.Each))
	times := float64(a.Median()) / float64(b.Median())
	if n < leastSeeds {
		return Ratio{Times: times}
	}
	as, bs := bySize(a.Each[:n]), bySize(b.Each[:n])
	list, drawn := make([]float64, resamples), make([]int, n)
	for i := range list {
		clear(drawn)
		for range n {
			drawn[r.N(n)]++
		}
		list[i] = median(a.Each, as, drawn) / median(b.Each, bs, drawn)
	}
	slices.Sort(list)
	return Ratio{times, list[resamples/20], list[resamples-resamples/20]}
}

// bySize returns the indices of a list in the order of its values.
func bySize(list []uint64) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, k int) int { return cmp.Compare(list[i], list[k]) })
	return order
}

// median returns the lower median of a list whose value i counts drawn[i] times.
func median(list []uint64, order, drawn []int) float64 {
	half := (len(order) - 1) / 2
	for _, i := range order {
		if half -= drawn[i]; half < 0 {
			return float64(list[i])
		}
	}
	return 0
}

// A Speed is a strategy's rate of runs.
type Speed struct {
	Runs, Points uint64
	Took         time.Duration
}

// MeasureSpeed makes runs of a strategy on the given number of goroutines, as Explore does, for
// about the given time or until cancelled is set. cancelled may be nil. Nothing else in this
// package depends on time.
func MeasureSpeed(sc *scenario.Scenario, strategy string, workers int, d time.Duration, cancelled *atomic.Bool) (Speed,
	error) {
	spec := Spec{Scenario: sc, Strategy: strategy}
	shape, err := survey(&spec)
	if err != nil {
		return Speed{}, err
	}
	var (
		runs, points atomic.Uint64
		stop         atomic.Bool
		rigs         = make([]*rig.Rig, workers)
	)
	for i := range rigs {
		rigs[i] = spec.MustRig().Learnt()
		defer rigs[i].Close()
	}
	start := time.Now()
	going := func() bool { return time.Since(start) < d && (cancelled == nil || !cancelled.Load()) }
	parallel.Run(workers, workers, &stop, func() (do func(job int), close func()) {
		return func(w int) {
			n, asked := uint64(0), uint64(0)
			for going() {
				s, err := sched.New(strategy, sched.Params{Seed: 1, Shape: shape, Shard: uint64(w),
					Shards: uint64(workers)})
				if err != nil {
					sim.Bug("a strategy that was there before: %v", err)
				}
				rec := &sched.Recorder{Strategy: s}
				for i, k := uint64(w), 0; k%64 != 0 || going(); i, k = i+uint64(workers), k+1 {
					run, more := rigs[w].Next(rec, i)
					if !more || run.Outcome == smp.Refused {
						break
					}
					n++
					asked += run.Counts.Points
				}
			}
			runs.Add(n)
			points.Add(asked)
		}, func() {}
	})
	return Speed{runs.Load(), points.Load(), time.Since(start)}, nil
}
