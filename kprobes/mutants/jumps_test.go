package mutants

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The list has names of mutants and nothing else; what it says of them is held in harness.
func TestOfJumps(t *testing.T) {
	require.Subset(t, Names(), ofJumps)
}
