package pages

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/eval/overhead"
)

// Plots of a price begin at 0.
func TestPriceAxisBeginsAtZero(t *testing.T) {
	a := &priced{patches: []*overhead.Patches{{PatcherConfig: overhead.PatcherConfig{CPUs: 2}},
		{PatcherConfig: overhead.PatcherConfig{CPUs: 4}}}}
	for i, ns := range []float64{2088, 2559} {
		for _, kind := range []string{"patch", "call"} {
			a.list = append(a.list, priceRow{Row: kind, What: kind, CPUs: 2 << i, Nsec: ns,
				NsecLow: ns - 1, NsecHigh: ns + 1})
		}
	}
	plots := a.figure().Plots
	require.Len(t, plots, 2)
	for _, p := range plots {
		require.Zero(t, p.Plot.Y.Min)
		require.Greater(t, p.Plot.Y.Max, 2500.0)
	}
}
