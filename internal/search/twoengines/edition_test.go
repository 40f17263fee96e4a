package twoengines_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/twoengines"
	"kpsim/kprobes/rules"
)

// A kernel's edition is known by its release's number, not by how the number begins.
func TestEdition(t *testing.T) {
	for release, want := range map[string]rules.Edition{
		"5.19.0-50-generic": rules.Edition514, "6.0.0": rules.Edition514, "6.1.0-56-amd64": rules.Edition65,
		"6.5.0-45-generic":  rules.Edition65,
		"6.8.0-151-generic": rules.Edition69, "6.12.117+deb12-amd64": rules.Edition69, "6.16.12": rules.Edition69,
		"7.3.4": rules.Edition69, "": rules.Edition69,
	} {
		require.Equal(t, want, twoengines.Edition(release), release)
	}
}

// A serial program is its own serial program; what several tasks do gives two.
func TestSerials(t *testing.T) {
	sc, err := library.Load("safe-full")
	require.NoError(t, err)
	list := twoengines.Serials(sc)
	require.Len(t, list, 2)
	for _, s := range list {
		require.Len(t, s.Tasks, 1)
		again := twoengines.Serials(s)
		require.Len(t, again, 1)
		require.Equal(t, s.Name, again[0].Name)
	}
}
