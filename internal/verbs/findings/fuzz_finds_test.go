package findings

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/cause"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/properties"
	"kpsim/traces"
)

// TestFuzzUnreadable: of a find whose trace would be refused there is the recipe alone, and the
// line that looks for a run of fewer deviations.
func TestFuzzUnreadable(t *testing.T) {
	t.Chdir(t.TempDir())
	session, err := fuzz.New(fuzz.Spec{Seed: 1, Each: 1})
	require.NoError(t, err)
	q := properties.All[0]
	w := &shrink.Witness{Property: q, Message: "it breaks",
		File: &traces.File{Scenario: "s", Property: q.ID, Format: traces.ScheduleFormat}}
	for i := range traces.MaxDeviations + 1 {
		w.Schedule = append(w.Schedule, traces.Deviation{Mover: "cpu0", Name: "f", Text: true, Occ: i + 1, Alt: "cpu1"})
	}
	w.File.Schedule = w.Schedule
	c := &Fuzz{Traces: ".", harvest: harvest{session: session}}
	l := &look{one: &fuzz.Program{Recipe: gen.Recipe{Seed: 7}}, name: "fuzz-7", w: w, cause: new(cause.Cause)}

	var out bytes.Buffer
	find, err := c.save(&cli.Program{Out: &out, Err: &out}, l)
	require.NoError(t, err)
	name := q.ID + "-fuzz-7"
	require.NoFileExists(t, name+".kps")
	require.FileExists(t, name+".recipe")
	require.Contains(t, out.String(),
		name+".kps isn't written: it would have 2001 deviations, and no more than 2000 are read\n")
	require.Contains(t, out.String(), "fuzz --recipe "+name+".recipe --runs 3000 --strategy pct")
	require.NotContains(t, out.String(), "to replay:")
	require.Equal(t, 1, c.unsaved)

	w.Schedule = w.Schedule[1:]
	w.File.Schedule = w.Schedule
	_, err = c.save(&cli.Program{Out: &out, Err: &out}, l)
	require.NoError(t, err)
	text, err := os.ReadFile(name + ".kps")
	require.NoError(t, err)
	_, err = traces.Parse(name, text)
	require.NoError(t, err)
	require.Contains(t, out.String(), "2000 deviations; to replay:")

	c.causes.all = []*fuzzCause{{find: find}} // another cause in the same program has a name of its own
	find, err = c.save(&cli.Program{Out: &out, Err: &out}, l)
	require.NoError(t, err)
	require.Equal(t, name+"-2.kps", find.Trace)
	require.FileExists(t, find.Trace)
}
