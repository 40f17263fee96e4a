package change

import (
	"cmp"
	"slices"

	"kpsim/smp"
)

// The cost of runs is counted in steps, not in time, so that what a review finds is the same on every computer. A
// step is an instruction of simulated text. Measured over all scenarios on Debian's 6.12, a step is 60 ns of a core. To
// begin a run costs startSteps more. The error of that is 12 % in the median.
const startSteps = 2_200

const (
	// Million is how people count steps.
	Million = 1_000_000

	// shrinkSteps is what a question costs while a run is shrunk, which takes half a microsecond.
	shrinkSteps = 8
)

// costOf returns the cost of one run, from what several have cost together.
func costOf(c *smp.Counts, runs uint64) uint64 { return startSteps + c.Instructions/max(runs, 1) }

// A Want is a number of runs that a scenario should have, and the cost of each.
type Want struct{ Runs, Each uint64 }

const (
	// shareMost is the part of a budget that one scenario may take: without a limit a single one could take
	// longer than all others.
	shareMost = 32

	// leastRuns is the least number of runs that a scenario gets if it gets any.
	leastRuns = 16
)

// Allot divides a budget: all get what they want up to a common limit, which is as high as the budget permits. So
// the dear ones give way, and breadth comes before depth. Where even the least would be too much, the first ones get it
// and the last ones get nothing.
func Allot(wants []Want, budget uint64) (runs []uint64) {
	at := func(limit uint64) (runs []uint64, cost uint64) {
		for _, w := range wants {
			n := min(max(limit/max(w.Each, 1), leastRuns), w.Runs)
			runs, cost = append(runs, n), cost+n*w.Each
		}
		return runs, cost
	}
	// the costs at all limits below the first that is too high fit
	limit, high := uint64(0), budget/shareMost+1
	for limit+1 < high {
		mid := limit + (high-limit)/2
		if _, cost := at(mid); cost <= budget {
			limit = mid
		} else {
			high = mid
		}
	}
	runs, cost := at(limit)
	for i := len(runs) - 1; i >= 0 && cost > budget; i-- {
		cost -= runs[i] * wants[i].Each
		runs[i] = 0
	}
	return runs
}

// Waves orders what is to be settled: each wave has one finding of each property, so that the many findings of one
// property don't use up what the others need. Those of short runs come first, as what settles them costs less, and
// of these the surest.
func Waves(all []*Break) (waves [][]*Break) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *Break) int {
		return cmp.Or(cmp.Compare(b2u(a.Dear()), b2u(b.Dear())), cmp.Compare(a.chance(), b.chance()))
	})
	next := make(map[string]int) // the wave of the next finding of a property
	for _, b := range all {
		i := next[b.Property]
		if next[b.Property]++; i == len(waves) {
			waves = append(waves, nil)
		}
		waves[i] = append(waves[i], b)
	}
	return waves
}

// Dear reports whether the runs that have a finding are so long that settling it, or making its witness, takes far
// more than usual.
func (b *Break) Dear() bool { return b.Each() > dearRun }

// dearRun is the cost of a run, in steps, above which it is dear: a hundredth of a second.
const dearRun = 200_000

// Each returns the cost of one of the runs that have a finding.
func (b *Break) Each() uint64 {
	if b.of == nil || b.of.with == nil {
		return startSteps
	}
	return costOf(&b.of.with.Counts, b.of.with.Runs)
}
