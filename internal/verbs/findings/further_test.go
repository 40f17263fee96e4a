package findings

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/search/cause"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/properties"
	"kpsim/traces"
)

// TestFurtherUnreadable: a further way whose run has too many deviations for a trace is said, and
// isn't saved. That is no error: the main witness shows the property. A folder that can't be
// written is one.
func TestFurtherUnreadable(t *testing.T) {
	way := func(deviations int) *row {
		w := &shrink.Witness{Property: properties.All[0],
			File: &traces.File{Scenario: "s", Property: properties.All[0].ID, Format: traces.ScheduleFormat}}
		for i := range deviations {
			w.Schedule = append(w.Schedule, traces.Deviation{Mover: "cpu0", Name: "f", Text: true, Occ: i + 1,
				Alt: "cpu1"})
		}
		w.File.Schedule = w.Schedule
		return &row{Runs: 10, rowWays: rowWays{Further: []*furtherRow{{Runs: 3, Deviations: deviations,
			cause: cause.Further{Cause: &cause.Cause{}, Witness: w}}}}}
	}
	for _, c := range []struct {
		deviations     int
		folder         string
		saved, unsaved bool
	}{
		{traces.MaxDeviations, "", true, false},
		{traces.MaxDeviations + 1, "", false, false},
		{1, "file", false, true},
	} {
		dir := t.TempDir()
		require.NoError(t, cli.WriteWhole(filepath.Join(dir, "file"), nil))
		j := &job{Input: &inputs.Input{Scenario: &scenario.Scenario{Name: "s"}, Arg: "s"}}
		e := &Explore{Traces: filepath.Join(dir, c.folder), Strategy: "portfolio", Form: cli.Form{JSON: true}}
		w := way(c.deviations)
		w.job = j
		path := filepath.Join(e.Traces, "s-2.kps")
		require.Equal(t, []string{path}, e.saveFurther(j, w.Further, "s"))
		f := w.Further[0]
		require.Equal(t, !c.saved, f.Unsaved != "", f.Unsaved)
		require.Equal(t, c.saved, f.Trace != nil)
		if c.saved {
			require.FileExists(t, path)
		}
		var out bytes.Buffer
		r := newPrinter(cli.New(&out, &out), e, []*job{j})
		require.NoError(t, r.print(w))
		require.Equal(t, c.unsaved, len(r.unsaved) == 1)
	}
}
