package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What the study of the figures found by hand.
func TestConsistencies(t *testing.T) {
	o := fitted(t)
	list, err := o.Consistencies()
	require.NoError(t, err)
	want := []struct {
		of              string
		ns              float64
		numbers         int
		atLimit, beyond bool
	}{
		{"pentium-m/i386", 5, 4, true, false},
		{"opteron-246/x86_64", 5, 4, true, false},
		{"power5/ppc64", 0, 4, false, false},
		{"xeon-e5410/i386", 5, 4, true, false},
		{"xeon-e5410/x86_64", 2.5, 4, false, false},
		{"Xeon E5410", 6.25, 7, false, true},
	}
	require.Len(t, list, len(want))
	for i, w := range want {
		c := list[i]
		require.Equal(t, w.of, c.Of)
		require.InDelta(t, w.ns, 1000*c.Least, 1e-6, c.Of)
		require.Equal(t, w.numbers, c.Numbers, c.Of)
		require.Equal(t, []bool{w.atLimit, w.beyond}, []bool{c.AtLimit(), c.Beyond()}, c.Of)
	}
	require.Equal(t, 20, o.Numbers(Calibrated))
	require.Equal(t, 13, o.Numbers(Mechanistic))
	require.Equal(t, 33, o.Fits(Calibrated)) // for 27 figures
	require.Equal(t, 13, o.Fits(Mechanistic))
}

func TestContrasts(t *testing.T) {
	limit := make(map[string][]string)
	n := 0
	for _, c := range fitted(t).Contrasts() {
		n++
		require.LessOrEqual(t, c.Usec, MostContrast+1e-9)
		if c.AtLimit() {
			limit[c.Machine.ID()] = append(limit[c.Machine.ID()], c.String())
		}
	}
	require.Equal(t, 9, n)
	require.Equal(t, map[string][]string{
		"pentium-m/i386":     {"(k + jr) - (j + kr)"},
		"opteron-246/x86_64": {"(k + jr) - (j + kr)"},
		"xeon-e5410/i386":    {"(k + rb) - (b + r)", "(k + ro) - (o + r)"},
	}, limit)
}

// No costs do better than minimax says: figures that are made of costs agree, and with
// one of four off by d the worst is off by d/4 or less.
func TestMinimax(t *testing.T) {
	rows := [][]float64{{1, 0, 0}, {1, 1, 0}, {1, 0, 1}, {1, 1, 1}}
	rapid.Check(t, func(t *rapid.T) {
		cost := rapid.SliceOfN(rapid.Float64Range(10, 20), 3, 3).Draw(t, "costs")
		want := make([]float64, len(rows))
		for i, r := range rows {
			for k, v := range r {
				want[i] += v * cost[k]
			}
		}
		least, err := minimax(rows, want)
		require.NoError(t, err)
		require.InDelta(t, 0, least, 1e-9)

		d := rapid.Float64Range(0, 4).Draw(t, "d")
		want[rapid.IntRange(0, 3).Draw(t, "which")] += d
		least, err = minimax(rows, want)
		require.NoError(t, err)
		require.InDelta(t, d/4, least, 1e-9)
	})
}

// The prediction of the boosted return probe stands on hits in which the same happens.
func TestBooster(t *testing.T) {
	found := false
	for _, c := range fitted(t).Contrasts() {
		found = found || c.String() == "(k + rb) - (b + r)"
	}
	require.True(t, found)
	list := Booster()
	require.Len(t, list, 2)
	require.InDelta(t, 1.3, list[0].Predicted, 1e-9)
	require.InDelta(t, 0.75, list[1].Predicted, 1e-9)
	require.InDelta(t, -0.167, list[1].Error(), 0.001)
}
