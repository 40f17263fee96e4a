package lang

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The typed view of the language has the functions and the parameters that the signatures have.
func TestWords(t *testing.T) {
	words := Words()
	require.Len(t, words, len(language))
	require.Len(t, partTakes, len(partForms))
	require.Len(t, paramTakes, len(forms))
	require.Len(t, stepTakes, len(stepForms))
	for i, w := range words {
		require.Equal(t, language[i].sig, w.Signature())
		for _, p := range w.Params {
			require.NotZero(t, p.Takes, "%s: %s", w.Name, p.Name)
			require.Equal(t, p.Takes == TakesChoice, p.Words != nil, "%s: %s", w.Name, p.Name)
			require.Equal(t, p.Takes == TakesPart || p.Takes == TakesParts, p.Of != "", "%s: %s", w.Name, p.Name)
		}
	}
}
