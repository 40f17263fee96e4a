package change

import (
	"math"

	"kpsim/properties"
)

// Odds decides whether runs with a change break a property significantly more often than runs
// without. A review makes many comparisons, and of a hundred reviews of equivalent kernels none
// should report one. So each comparison gets only a small share of the allowed error.
type Odds struct {
	Comparisons uint64 // number of scenarios compared in the review; 0: one
}

const (
	// wrongly is the allowed probability that a review of two equivalent kernels reports one.
	wrongly = 1.0 / 1000

	// looksMost is the maximum number of looks at one comparison: at the scenario's own runs, which two rounds make
	// with up to three numbers of runs of the unchanged kernel; at runs near the witness' schedule; and at runs of the
	// witness' program, whose number each look doubles.
	looksMost = ownLooks + 1 + programLooks

	ownLooks     = 5
	programLooks = 6

	// alike: this many runs count as one, since the runs of a strategy that learns aren't
	// independent.
	alike = 2

	// suspicious is the maximum probability of chance at which more runs are made when both sides
	// break a property.
	suspicious = 1.0 / 1000
)

// level returns the maximum probability of chance at which a comparison is reported.
func (o Odds) level() float64 {
	return wrongly / float64(max(o.Comparisons, 1)*uint64(len(properties.All))*looksMost)
}

// Worse reports whether the runs with the change break the property far more often (Break.twice), and
// significantly so.
func (o Odds) Worse(b *Break) bool {
	return b.twice() && b.chance() <= o.level()
}

// A verdict is the result of a comparison.
type verdict int

const (
	unsure verdict = iota
	worse          // significantly worse with the change
	known          // both sides are alike
)

const (
	// confirmRuns is the number of runs of each side in the first look, confirmLeast the one below which it isn't
	// worth it.
	confirmRuns  = 200
	confirmLeast = 32

	// SettleMost limits the steps that settling a finding takes: a quarter of a minute of a core.
	SettleMost = 250 * Million
)

// decide compares two sides that have no runs yet, with as many runs as the odds require, and as cost most steps. each
// is about what a run costs. more makes runs of each side, adds them to b, and returns what they cost.
func (o Odds) decide(b *Break, each, most uint64, more func(look, runs uint64) (cost uint64, err error)) (is verdict,
	took uint64, err error) {
	first := min(confirmRuns, most/(sides*max(each, 1)))
	if first < confirmLeast {
		return unsure, 0, nil
	}
	for look := range uint64(programLooks) {
		cost, err := more(look, max(first, b.Runs))
		if took += cost; err != nil {
			return unsure, took, err
		}
		switch {
		case o.Worse(b):
			return worse, took, nil
		case b.Base > 0 && !b.Open():
			return known, took, nil
		case sides*took > most: // the next look costs as much again
			return unsure, took, nil
		}
	}
	return unsure, took, nil
}

// sides is the number of kernels that are compared.
const sides = 2

// Open reports whether more runs may show a significant difference.
func (b *Break) Open() bool {
	return b.Violations > 0 && (b.Base == 0 || b.twice() && b.chance() <= suspicious)
}

// twice reports whether the change breaks the property at least twice as often, or raises the odds to three times as
// much: from 60 % of the runs to 82 %.
func (b *Break) twice() bool {
	with, without := float64(b.Violations), float64(b.Base)
	intact, intactBefore := float64(b.Runs-b.Violations), float64(b.BaseRuns-b.Base)
	return b.Violations > 0 && (with*float64(b.BaseRuns) >= 2*without*float64(b.Runs) ||
		with*intactBefore >= 3*without*intact)
}

// chance returns the probability that at least as many of the violations fall to the runs with
// the change, if all runs are equally likely to have one (Fisher's exact test).
func (b *Break) chance() float64 {
	with, without := b.Violations/alike, (b.Base+alike-1)/alike
	n, all := b.Runs/alike, b.Runs/alike+b.BaseRuns/alike
	p := 0.0
	for k := with; k <= min(with+without, n); k++ {
		p += math.Exp(choose(n, k) + choose(all-n, with+without-k) - choose(all, with+without))
	}
	return min(p, 1)
}

// choose returns the logarithm of a binomial coefficient.
func choose(n, k uint64) float64 {
	if k > n {
		return math.Inf(-1)
	}
	lgamma := func(x uint64) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return lgamma(n) - lgamma(k) - lgamma(n-k)
}
