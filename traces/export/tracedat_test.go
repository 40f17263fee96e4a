package export_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/export"
	"kpsim/traces/view"
)

// TestTraceDatLong: long pauses, long texts and many pages are read by trace-cmd, and a
// CPU without events is no fault.
func TestTraceDatLong(t *testing.T) {
	tool, err := exec.LookPath("trace-cmd")
	if err != nil {
		t.Skip("trace-cmd isn't installed, so no trace.dat was read: install trace-cmd")
	}
	s := &view.Scene{CPUs: 3, Violation: -1}
	times := []uint64{0, 1<<27 - 1, 1 << 28, 5_000_000_000, 5_000_000_001, 1 << 60}
	for i := range 100 {
		times = append(times, 1<<60+1+uint64(i))
	}
	for i, time := range times {
		says := "à" + strings.Repeat("long ", i*7)
		s.Steps = append(s.Steps, view.Step{Event: traces.Event{Kind: smpev.MightSleep, CPU: uint8(i % 2), Task: 1},
			Says: says, Time: time})
	}
	path := filepath.Join(t.TempDir(), "trace.dat")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, export.TraceDat(f, s, func(uint64) string { return "a task with a name" }))
	require.NoError(t, f.Close())
	out, err := exec.Command(tool, "report", "-t", "-N", "-i", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	require.Contains(t, lines[0], "cpus=3")
	var got []string
	for _, line := range lines {
		if !strings.Contains(line, "MightSleep:") {
			continue
		}
		word := strings.Fields(line)
		require.Equal(t, "a_task_with_a_n-2", word[0])
		got = append(got, word[2])
		require.Contains(t, line, "à")
		require.True(t, strings.HasSuffix(line, " atomic=0x0"), line)
	}
	require.Len(t, got, len(times))
	require.Equal(t, []string{"0.000000000:", "0.134217727:", "0.268435456:", "5.000000000:", "5.000000001:",
		"1152921504.606846976:", "1152921504.606846977:"}, got[:7])
}
