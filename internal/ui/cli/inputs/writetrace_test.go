package inputs

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/traces"
)

// TestWriteTrace: what is written is read again, and what would be refused isn't written.
func TestWriteTrace(t *testing.T) {
	dir := t.TempDir()
	file := func(deviations int) *traces.File {
		f := &traces.File{Scenario: `scenario("s")`, Property: "T1", Format: traces.ScheduleFormat,
			Origin: []traces.Remark{{Key: "seed", Value: "1"}}}
		for i := range deviations {
			f.Schedule = append(f.Schedule, traces.Deviation{Mover: "cpu0", Name: "f", Text: true, Occ: i + 1,
				Alt: "cpu1"})
		}
		f.WrittenBy("a test")
		return f
	}

	most := filepath.Join(dir, "most.kps")
	text, err := WriteTrace(most, file(traces.MaxDeviations))
	require.NoError(t, err)
	f, err := ReadTrace(most)
	require.NoError(t, err)
	require.Equal(t, text, f.Marshal())

	path := filepath.Join(dir, "more.kps")
	long := file(traces.MaxDeviations + 1)
	text, err = WriteTrace(path, long)
	require.Equal(t, long.Marshal(), text)
	require.NoFileExists(t, path)
	why, remedy := Unsaved(err, path)
	require.Equal(t, path+" isn't written: it would have 2001 deviations, and no more than 2000 are read", why)
	require.Contains(t, remedy, " explore --strategy pct makes runs of fewer deviations")

	twice := file(2)
	twice.Schedule[1] = twice.Schedule[0]
	_, err = WriteTrace(path, twice)
	require.ErrorAs(t, err, new(*Unreadable))
	require.ErrorContains(t, err, "this is the question of line 1")
	require.NoFileExists(t, path)

	missing := filepath.Join(dir, "none", "more.kps")
	_, err = WriteTrace(missing, file(1))
	why, remedy = Unsaved(err, missing)
	require.Equal(t, missing+": no such file or directory", why)
	require.Contains(t, remedy, "make room")
}
