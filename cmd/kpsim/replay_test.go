package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/traces"
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
		late := slices.Concat(before, []byte("\n-- schedule --\n"), schedule[:at[0]], []byte("1000th time"),
			schedule[at[1]:])
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

// Each name of a schedule, misspelt: it is reported with the one that was meant, and a run that is
// the same as the trace says has no first divergence.
func TestReplayNamesWhatWasMeant(t *testing.T) {
	names := 0
	for _, name := range []string{"T1-no-sync-2", "T2-second-instruction", "T2-call-five", "S1-free-early",
		"N2-fprobe-stopped-late", "B1-late-unowned"} {
		data, err := os.ReadFile("../../traces/corpus/" + name + ".kps")
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		file, err := traces.Parse(name, data)
		require.NoError(t, err)
		for i := range file.Schedule {
			for _, of := range []func(d *traces.Deviation) *string{
				func(d *traces.Deviation) *string { return &d.Mover },
				func(d *traces.Deviation) *string { return &d.Name },
				func(d *traces.Deviation) *string { return &d.Alt },
			} {
				wrong := *file
				list := slices.Clone(file.Schedule)
				word := of(&list[i])
				meant := *word
				if list[i].Kind != sim.Step && list[i].Kind != sim.Task && word == &list[i].Alt || len(meant) < 4 {
					continue
				}
				names++
				*word = meant + meant[len(meant)-1:]
				wrong.Schedule = list
				path := filepath.Join(t.TempDir(), "wrong.kps")
				require.NoError(t, os.WriteFile(path, wrong.Marshal(), 0o644))
				var out, errs bytes.Buffer
				run([]string{"replay", path}, &out, &errs)
				require.Empty(t, errs.String())
				says := strings.Join(strings.Fields(out.String()), " ")
				_, says, _ = strings.Cut(says, "The schedule differs")
				require.Regexp(t, `called "`+regexp.QuoteMeta(*word)+`"; (did you mean|there (is|are)) [^?]*"`+
					regexp.QuoteMeta(meant)+`"`, says)
				require.False(t, strings.Contains(says, "first divergence") &&
					strings.Contains(says, "the same as the trace says"), says)
			}
		}
	}
	require.Greater(t, names, 20)
}
