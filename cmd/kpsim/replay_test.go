package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A deviation that is never reached makes replay look for others, too. Those
// that are taken where the file says aren't reported, and no place is near
// itself.
func TestReplayTellsOfWhatMoved(t *testing.T) {
	ordinal := regexp.MustCompile(`\d+(st|nd|rd|th) time`)
	taken := regexp.MustCompile(`was taken at (.*), instead of (.*)`)
	near := regexp.MustCompile(`first divergence: deviation \d+, \w+ in (.*), 1000th time: .* was asked about there (\d+ times); nearby (.*)`)
	for _, name := range []string{"T1-no-sync-2", "T4-check-unlocked", "T2-second-instruction"} {
		file, err := os.ReadFile("../../traces/corpus/" + name + ".kps")
		require.NoError(t, err)
		before, schedule, ok := bytes.Cut(file, []byte("\n-- schedule --\n"))
		require.True(t, ok)
		at := ordinal.FindIndex(schedule)
		path := filepath.Join(t.TempDir(), "late.kps")
		late := slices.Concat(before, []byte("\n-- schedule --\n"), schedule[:at[0]], []byte("1000th time"), schedule[at[1]:])
		require.NoError(t, os.WriteFile(path, late, 0o644))

		var out, errs bytes.Buffer
		run([]string{"replay", path}, &out, &errs) // the same run may be found, or another
		require.Empty(t, errs.String(), name)
		moves := taken.FindAllSubmatch(out.Bytes(), -1)
		require.NotEmpty(t, moves, name)
		for _, m := range moves {
			require.NotEqual(t, string(m[1]), string(m[2]), name)
		}
		if m := near.FindSubmatch(out.Bytes()); m != nil {
			require.NotContains(t, string(m[3]), "at "+string(m[1])+" "+string(m[2]), name)
		}
	}
}
