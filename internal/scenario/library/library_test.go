package library_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
)

// The library is whatever lies in its folder, each with a
// sentence, each no larger than a search can go through.
func TestBuiltin(t *testing.T) {
	files, err := filepath.Glob("*.star")
	require.NoError(t, err)
	var want []string
	for _, f := range files {
		want = append(want, strings.TrimSuffix(filepath.Base(f), ".star"))
	}
	slices.Sort(want) // Glob has sorted them by their file names
	require.Contains(t, want, "second-instruction")
	require.Equal(t, want, library.Names())

	for i, s := range library.All() {
		require.Equal(t, want[i], s.Name)
		require.NotEmpty(t, s.Says, s.Name)
		require.NoError(t, lang.Check(s), s.Name)

		again, err := lang.Load("trace.star", []byte(lang.Print(s)), nil)
		require.NoError(t, err, lang.Print(s))
		require.Equal(t, s, again, s.Name)
	}
}

func TestLoadBuiltinUnknown(t *testing.T) {
	_, err := library.Load("safe-ful")
	require.EqualError(t, err, `no built-in scenario "safe-ful"; did you mean "safe-full", "safe-386"?`)
}
