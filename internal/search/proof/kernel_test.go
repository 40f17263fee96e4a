package proof_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/proof"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
)

// Scenarios on a kernel's own engine are proved by states, whatever parts of it they use.
func TestKernelProved(t *testing.T) {
	for _, series := range []string{"5.10", "6.12", "7.3"} {
		k, err := linux.Open(kerneltest.Path(t, series))
		require.NoError(t, err)
		linux.Give(k)
		for _, name := range []string{"jump-label-flip", "safe-none"} {
			sc, err := library.Load(name)
			require.NoError(t, err)
			require.NoError(t, onlinux.Set(sc, k))
			v, err := proof.Verify(proof.Proof{Spec: explore.Spec{Scenario: sc}, Deviations: 0})
			require.NoError(t, err)
			require.True(t, v.Complete, "%s %s", series, name)
			require.Empty(t, v.Broken, "%s %s", series, name)
		}
	}
}
