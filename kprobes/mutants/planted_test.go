package mutants_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/mutants"
	"kpsim/smp/kapi"
)

// TestPlanted: a fault that stands in code has a row, so that it is searched for.
func TestPlanted(t *testing.T) {
	require.NotEmpty(t, kapi.KnownFaults())
	for _, f := range kapi.KnownFaults() {
		m, ok := mutants.ByName(f.Name)
		require.True(t, ok, "%s: add a row to planted", f.Name)
		require.Equal(t, f.Says, m.Says)
		require.NotEmpty(t, m.Source, f.Name)
	}
}
