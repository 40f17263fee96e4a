package change

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp"
)

// A budget is divided by a common limit: who wants less gets it, the dear ones give way, and all together don't get
// more than the budget has.
func TestAllot(t *testing.T) {
	for _, c := range []struct {
		what   string
		wants  []Want
		budget uint64
		runs   []uint64
	}{
		{"enough for all", []Want{{150, 100}, {600, 10}, {30, 1000}}, 10_000_000, []uint64{150, 600, 30}},
		{"nobody takes over a 32nd", []Want{{150, 10}, {150, 1000}}, 32 * 50_000, []uint64{150, 50}},
		{"the dear ones give way", []Want{{100, 10}, {100, 10}, {100, 1000}, {100, 2000}}, 100_000,
			[]uint64{100, 100, 16, 16}},
		{"a little more", []Want{{100, 10}, {100, 10}, {100, 100}, {100, 100}}, 32 * 2_500, []uint64{100, 100, 25, 25}},
		{"not even the least: the first ones get it", []Want{{100, 100}, {100, 100}, {100, 100}}, 3_300,
			[]uint64{16, 16, 0}},
		{"few are wanted", []Want{{3, 100}, {100, 100}}, 1_900, []uint64{3, 16}},
		{"nothing", []Want{{100, 100}, {1, 1}}, 0, []uint64{0, 0}},
		{"nobody", nil, 100, nil},
	} {
		runs := Allot(c.wants, c.budget)
		require.Equal(t, c.runs, runs, c.what)
		cost := uint64(0)
		for i, n := range runs {
			cost += n * c.wants[i].Each
		}
		require.LessOrEqual(t, cost, c.budget, c.what)
	}
}

// With a larger budget each gets as much or more.
func TestAllotGrows(t *testing.T) {
	wants := []Want{{150, 40_000}, {600, 3_000}, {150, 2_000_000}, {30, 90_000}, {150, 7_000}}
	last := make([]uint64, len(wants))
	for budget := uint64(0); budget < 5_000*Million; budget = budget*5/4 + Million {
		runs := Allot(wants, budget)
		for i, n := range runs {
			require.GreaterOrEqual(t, n, last[i], "%d: %d", budget, i)
		}
		last = runs
	}
	require.Equal(t, []uint64{150, 600, 150, 30, 150}, Allot(wants, 16_000*Million))
}

// Each wave has a finding of each property, the surest first.
func TestWaves(t *testing.T) {
	of := func(property, words string, violations uint64) *Break {
		return &Break{Property: property, Words: words, Runs: 150, Violations: violations, BaseRuns: 600}
	}
	for _, c := range []struct {
		what  string
		all   []*Break
		waves [][]string
	}{
		{"nothing", nil, nil},
		{"one of each", []*Break{of("a", "a1", 1), of("b", "b1", 4)}, [][]string{{"b1", "a1"}}},
		{"many of one", []*Break{of("a", "a1", 1), of("a", "a2", 5), of("b", "b1", 2), of("a", "a3", 1)},
			[][]string{{"a2", "b1"}, {"a1"}, {"a3"}}},
	} {
		var waves [][]string
		for _, wave := range Waves(c.all) {
			var words []string
			for _, b := range wave {
				words = append(words, b.Words)
			}
			waves = append(waves, words)
		}
		require.Equal(t, c.waves, waves, c.what)
	}
}

// A comparison ends when the next look would cost too much, and isn't begun if a first look would.
func TestDecideCosts(t *testing.T) {
	for _, c := range []struct {
		what       string
		each, most uint64
		every      uint64 // each of so many runs breaks it, with the change; 0: none
		is         verdict
		runs       uint64
	}{
		{"plain at once", 1000, SettleMost, 2, worse, confirmRuns},
		{"never again, until all looks are taken", 100, SettleMost, 0, unsure, confirmRuns << (programLooks - 1)},
		{"never again, until it costs too much", 100_000, 100 * Million, 0, unsure, 2 * confirmRuns},
		{"a shorter first look", 1_000_000, 100 * Million, 0, unsure, 50},
		{"too dear", 10_000_000, 100 * Million, 2, unsure, 0},
	} {
		b := new(Break)
		is, took, err := Odds{Comparisons: 200}.decide(b, c.each, c.most, func(_, runs uint64) (uint64, error) {
			if c.every > 0 {
				b.Violations += runs / c.every
			}
			b.Runs, b.BaseRuns = b.Runs+runs, b.BaseRuns+runs
			return sides * runs * c.each, nil
		})
		require.NoError(t, err)
		require.Equal(t, c.is, is, c.what)
		require.Equal(t, c.runs, b.Runs, c.what)
		require.Equal(t, sides*c.runs*c.each, took, c.what)
		require.LessOrEqual(t, took, c.most, c.what)
	}
	require.Equal(t, uint64(startSteps+50), costOf(&smp.Counts{Instructions: 5000}, 100))
}
