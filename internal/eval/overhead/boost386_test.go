package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/cycles"
)

// TestBoost386: on i386 kernels of 2.6 boost what they have stepped once; on x86-64 they
// don't (spec 8.5).
func TestBoost386(t *testing.T) {
	k := Probes(false)[0]
	for machine, steps := range map[string]float64{"": 1, on32: 0, on32 + `, boost = "never"`: 1} {
		p := k
		p.Machine += machine
		h, err := p.Measure(nil)
		require.NoError(t, err)
		require.Equal(t, [2]float64{1, steps}, [2]float64{h.Events[cycles.Breakpoint], h.Events[cycles.Debug]}, machine)
	}
}
