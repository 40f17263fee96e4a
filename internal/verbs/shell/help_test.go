package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHelpGroups: help lists each command once, the eight to begin with first.
func TestHelpGroups(t *testing.T) {
	var all, listed []string
	for _, w := range shellWords {
		all = append(all, w.word)
	}
	for _, g := range helpGroups {
		listed = append(listed, g.words...)
	}
	require.ElementsMatch(t, all, listed)
	require.Len(t, helpGroups[0].words, 8)
}
