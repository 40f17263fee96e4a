package search_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/replay"
	"kpsim/traces"
)

// The witnesses that kernels' own engines have left are the same run as when they were
// found, wherever the kernel's file lies.
func TestKernelsWitnesses(t *testing.T) {
	files, err := filepath.Glob("../../traces/kernels/*.kps")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			f, err := traces.Parse(path, data)
			require.NoError(t, err)
			r, err := replay.Play(path, f, false)
			if err != nil && (strings.Contains(err.Error(), "--kernel FILE") ||
				strings.Contains(err.Error(), "and --kernel gives")) {
				t.Skip(err) // it names the package to be fetched
			}
			require.NoError(t, err)
			defer r.Rig.Close()
			require.True(t, r.Breaks, r.Why)
		})
	}
}
