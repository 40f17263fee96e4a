package overhead

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A swing is what a fit gives that was told the assumption otherwise; the widest is first; an assumption about what no
// hit of the core has moves nothing; and the model itself is as before.
func TestSwings(t *testing.T) {
	o := fitted(t)
	m := o.Samples[len(o.Samples)-1].Machine
	left, err := o.LeaveOut(Mechanistic, LeftFigure)
	require.NoError(t, err)
	for _, probe := range []string{"k", "o"} {
		base, list, err := o.Swings(m, probe, LeftOutUsec)
		require.NoError(t, err)
		for i := range o.Samples {
			if s := &o.Samples[i]; s.Machine == m && s.Probe.Name == probe {
				require.InDelta(t, s.Usec*(1+left[i]), base, 1e-12)
			}
		}
		moved := make(map[string]Swing)
		for i, s := range list {
			moved[s.Name] = s
			require.Contains(t, []Source{Typical, Counted}, s.Source)
			require.NotZero(t, s.Value)
			if i > 0 {
				require.LessOrEqual(t, s.width(), list[i-1].width())
			}
		}
		require.NotContains(t, moved, "code of a jprobe", "this machine has no jprobes")
		// All that an optimized probe has beside instructions and one misprediction is the flags: they are the price.
		if probe == "o" {
			require.Greater(t, moved["flags of a detour"].High, moved["flags of a detour"].Low)
		}
	}
	base, list, err := o.Swings(m, "k", HardwareShare)
	require.NoError(t, err)
	require.True(t, 0 < base && base < 1, base)
	changed := m.code.lookup
	for _, s := range list {
		require.True(t, 0 < s.Low && s.Low < 1 && 0 < s.High && s.High < 1, s.Name)
		if s.Name == "code of a lookup" {
			require.Less(t, s.High, s.Low, "what is the kernel's isn't the hardware's")
			require.Equal(t, changed, s.Value)
		}
	}
	again, _, err := o.Swings(m, "k", HardwareShare)
	require.NoError(t, err)
	require.Zero(t, math.Abs(again-base), "the model's machines weren't changed")
}
