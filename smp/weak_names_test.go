package smp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch/x86"
	"kpsim/traces"
)

// What moves is read back by the name that it is printed by.
func TestNamesOfStoresThatTakeEffect(t *testing.T) {
	for _, memory := range []smp.Ordering{smp.SC, smp.TSO} {
		m, err := smp.New(smp.Config{Arch: x86.AMD64, CPUs: 3, Memory: memory}, new(traces.Log))
		require.NoError(t, err)
		list := m.Names().Movers()
		for _, mv := range list {
			got, ok := m.Names().MoverNamed(m.Names().Mover(mv))
			require.True(t, ok)
			require.Equal(t, mv, got)
			require.Equal(t, int(mv%sim.MaxCPUs), m.Names().CPUOf(mv))
		}
		drain, ok := m.Names().MoverNamed("drain@cpu2")
		require.Equal(t, memory == smp.TSO, ok)
		if ok {
			require.Equal(t, sim.MoverDrain+2, drain)
		}
		m.Close()
	}
}
