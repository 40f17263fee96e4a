package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
)

// TestNoProofOfStalls: what is reported by clocks, which are no part of a state, is refused.
func TestNoProofOfStalls(t *testing.T) {
	sc, err := library.Load("stall-loop")
	require.NoError(t, err)
	for _, p := range []Proof{{Full: true}, {Full: true, Classes: true}, {Deviations: 1},
		{Deviations: 1, Classes: true}} {
		p.Spec = explore.Spec{Scenario: sc}
		_, err := Verify(p)
		require.ErrorContains(t, err, "leave stall out")
	}
}
