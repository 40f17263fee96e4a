package explore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// All shares together have all runs.
func TestOwn(t *testing.T) {
	for _, runs := range []uint64{1, 5, 16, 17, 1000, 1001} {
		require.Equal(t, runs, Spec{Runs: runs}.Own())
		for _, dealt := range []int{16, 50} {
			all := uint64(0)
			for share := range 3 {
				all += Spec{Runs: runs, Dealt: dealt, Share: share + 1, Shares: 3}.Own()
			}
			require.Equal(t, runs, all)
		}
	}
}
