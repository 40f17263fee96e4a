package rig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/sched"
)

// TestRelateKnowsTheProbes: in each observed run the properties know at which addresses probes are. Without them
// A1, A2, L2 and L3 would touch less, and a search would leave out orders that matter to them.
func TestRelateKnowsTheProbes(t *testing.T) {
	sc, err := library.Load("safe-full")
	require.NoError(t, err)
	r, err := New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	r.Observe(Deaf{})
	for range 2 {
		r.Play(new(sched.Default))
		require.Len(t, r.relate.taken.Addrs, len(sc.Probes))
		for i, at := range r.relate.taken.Addrs {
			k := &sc.Probes[i]
			require.Equal(t, uint64(sc.Text(k.Func).At)+uint64(k.Offset), at, k.Name)
		}
	}
}
