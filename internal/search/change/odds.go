package change

import (
	"math"

	"kpsim/properties"
)

// Odds say when it isn't chance that runs with a change break what runs without it don't, or in
// far fewer. A review makes many comparisons, and of a hundred reviews of kernels that behave
// alike none is to accuse one: so each comparison may be wrong in a small part of odds only.
type Odds struct {
	Comparisons uint64 // scenarios that are compared in the same review; 0: one
}

const (
	// wrongly is how probable it may be that a review of two kernels that behave alike accuses one.
	wrongly = 1.0 / 1000

	// looksMost is how often the runs of one comparison are counted, each time after as many more.
	looksMost = 7

	// alike is of how many runs one counts: those of a strategy that learns aren't independent.
	alike = 2

	// suspicious is how improbable chance must be for more runs where both sides break a property.
	suspicious = 1.0 / 1000
)

// level is how improbable chance must be for a comparison to accuse a change.
func (o Odds) level() float64 {
	return wrongly / float64(max(o.Comparisons, 1)*uint64(len(properties.All))*looksMost)
}

// Worse reports whether the runs with the change break the property more often, in twice the
// share at least, and too much so for chance.
func (o Odds) Worse(b *Break) bool {
	return b.twice() && b.chance() <= o.level()
}

// A verdict is what odds say of a comparison.
type verdict int

const (
	unsure verdict = iota
	worse          // with the change
	known          // both are alike
)

const (
	// confirmRuns is how many runs of either side are counted first.
	confirmRuns = 200

	// confirmMost bounds the questions of the runs: some half a minute of a core.
	confirmMost = 60_000_000
)

// decide compares two sides that have no runs yet, by as many as the odds ask: more makes some of
// each, adds them to b, and says how many questions that took.
func (o Odds) decide(b *Break, more func(look, runs uint64) (asked uint64, err error)) (verdict, error) {
	all := uint64(0)
	for look := range uint64(looksMost - 1) { // the first one was at the scenario's own runs
		asked, err := more(look, max(confirmRuns, b.Runs))
		if err != nil {
			return unsure, err
		}
		switch all += asked; {
		case o.Worse(b):
			return worse, nil
		case b.Base > 0 && !b.Open():
			return known, nil
		case 2*all > confirmMost: // the next look takes as much again
			return unsure, nil
		}
	}
	return unsure, nil
}

// Open reports whether more runs may show that it is worse.
func (b *Break) Open() bool {
	return b.Violations > 0 && (b.Base == 0 || b.twice() && b.chance() <= suspicious)
}

func (b *Break) twice() bool {
	return b.Violations > 0 && float64(b.Violations)*float64(b.BaseRuns) >= 2*float64(b.Base)*float64(b.Runs)
}

// chance is how probable it is that at least as large a part of the violations falls to the runs
// with the change, if all runs are equally likely to have one (Fisher's exact test).
func (b *Break) chance() float64 {
	with, without := b.Violations/alike, (b.Base+alike-1)/alike
	n, all := b.Runs/alike, b.Runs/alike+b.BaseRuns/alike
	p := 0.0
	for k := with; k <= min(with+without, n); k++ {
		p += math.Exp(choose(n, k) + choose(all-n, with+without-k) - choose(all, with+without))
	}
	return min(p, 1)
}

// choose is the logarithm of a binomial coefficient.
func choose(n, k uint64) float64 {
	if k > n {
		return math.Inf(-1)
	}
	lgamma := func(x uint64) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return lgamma(n) - lgamma(k) - lgamma(n-k)
}
