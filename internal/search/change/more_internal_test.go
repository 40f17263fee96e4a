package change

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// More often is what chance doesn't make.
func TestWorse(t *testing.T) {
	for _, c := range []struct {
		n, runs, base, baseRuns uint64
		worse, open             bool
	}{
		{250, 300, 16, 1200, true, true},
		{300, 300, 1200, 1200, false, false}, // always, both
		{10, 300, 20, 1200, false, false},    // twice as often, of few
		{3, 300, 1, 19200, false, false},
		{60, 300, 12, 19200, true, true},
		{180, 300, 600, 1200, false, false}, // not twice as often
		{90, 150, 102, 600, true, true},     // 60 % of the runs after 17 %
		{285, 300, 840, 1200, true, true},   // 95 % after 70 %: the odds are more than three times as high
		{1, 30, 0, 570, false, true},        // one run: chance, in a review of two hundred scenarios
		{30, 30, 0, 120, true, true},
		{14, 30, 0, 120, false, true},
		{0, 30, 0, 120, false, false},
	} {
		b := Break{Runs: c.runs, Violations: c.n, BaseRuns: c.baseRuns, Base: c.base}
		require.Equal(t, c.worse, Odds{200}.Worse(&b), "%+v", c)
		require.Equal(t, c.open, b.Open(), "%+v", c)
	}
}

// The chance is that of drawn balls: of 2 x 5 runs that count, 3 violations, all with the change.
func TestChance(t *testing.T) {
	b := Break{Runs: alike * 5, Violations: alike * 3, BaseRuns: alike * 5}
	require.InDelta(t, 10.0/120, b.chance(), 1e-9)
	b.Violations, b.Base = 0, alike*3
	require.InDelta(t, 1, b.chance(), 1e-9)
}

// drawn says how many of n runs break something that breaks by a share.
func drawn(r *rand.Rand, n uint64, share float64) (k uint64) {
	for range n {
		if r.Float64() < share {
			k++
		}
	}
	return k
}

// compared is what a comparison says of runs that are drawn: with and without are the shares in the
// scenario's runs, of which the program of a witness has times as much. No schedule is played,
// which acquits most.
func compared(r *rand.Rand, o Odds, runs uint64, with, without, times float64) verdict {
	b := Break{Runs: runs, Violations: drawn(r, runs, with)}
	if b.Violations == 0 {
		return known
	}
	b.BaseRuns = BaseTimes * runs
	b.Base = drawn(r, b.BaseRuns, without)
	switch {
	case o.Worse(&b):
		return worse
	case !b.Open():
		return known
	}
	c := new(Break)
	is, _, _ := o.decide(c, 5000, SettleMost, func(_, runs uint64) (uint64, error) {
		c.Runs, c.Violations = c.Runs+runs, c.Violations+drawn(r, runs, min(with*times, 1))
		c.BaseRuns, c.Base = c.BaseRuns+runs, c.Base+drawn(r, runs, min(without*times, 1))
		return sides * runs * 5000, nil
	})
	return is
}

// TestNulls: reviews of two hundred scenarios accuse nothing if both sides break something by any
// of these shares. To believe a run that nineteen times as many don't show on the other side is wrong in a fifth of
// the reviews at least.
func TestNulls(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shares := []float64{0, 0, 0, 0, 0, 1e-4, 1e-3, 14.0 / 3000, 0.02, 0.1, 0.5, 1}
	accused, before := 0, 0
	const reviews = 500
	for range reviews {
		was := false
		for i := range uint64(200) {
			share, runs := shares[r.IntN(len(shares))], uint64(150)
			if i%4 == 0 {
				runs = 30
			}
			times := []float64{1, 3, 30}[r.IntN(3)]
			if compared(r, Odds{200}, runs, share, share, times) == worse {
				accused++
			}
			v := drawn(r, runs, share) // one run was believed if nineteen times as many didn't show it
			was = was || v > 0 && drawn(r, 19*runs, share) == 0
		}
		if was {
			before++
		}
	}
	require.Zero(t, accused)
	require.Greater(t, before, reviews/5, "the control")
}

// TestPower: what a change breaks is noticed, if its runs show it at all; rare ones by their witness' program.
func TestPower(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		with, without, times float64
		least                int // of a hundred comparisons of 150 runs
	}{
		{0.5, 0, 1, 100}, {0.1, 0, 1, 99}, {0.03, 0, 1, 95}, {0.03, 0, 10, 95}, {0.01, 0, 10, 70}, {0.5, 0.05, 1, 100},
		{0.2, 0.002, 1, 95},
	} {
		n := 0
		for range 100 {
			if compared(r, Odds{200}, 150, c.with, c.without, c.times) == worse {
				n++
			}
		}
		t.Logf("%g with the change, %g without, %g times as much in the witness' program: %d of 100", c.with, c.without,
			c.times, n)
		require.GreaterOrEqual(t, n, c.least, c)
	}
}
