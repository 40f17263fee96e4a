package report

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/traces/view"
)

// A line of trace-cmd report -l -t -N: the task, the CPU with the flags, the time, the
// event and its fields.
var reported = regexp.MustCompile(`^ *(\S+)-(\d+) +(\d+)([X.].[.hHs])\S* +(\d+)\.(\d{9}): (\w+): +(.*)$`)

// TestExportTraceDat: trace-cmd reads of each trace as many events as there are, in their
// order, on their CPUs, with the times, tasks, flags and fields that they have.
func TestExportTraceDat(t *testing.T) {
	tool, err := exec.LookPath("trace-cmd")
	if err != nil {
		t.Skip("trace-cmd isn't installed, so no trace.dat was read: install trace-cmd")
	}
	dir := t.TempDir()
	kinds, hard := make(map[string]int), 0
	exported(t, "trace.dat", func(name, text string, s *view.Scene) {
		path := filepath.Join(dir, "trace.dat")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		out, err := exec.Command(tool, "report", "-l", "-t", "-N", "-i", path).CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
		got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		want := tracedatLines(t, name, s)
		require.Equal(t, fmt.Sprintf("cpus=%d", s.CPUs), got[0], name)
		require.Len(t, got[1:], len(want), name)
		for i, line := range got[1:] {
			m := reported.FindStringSubmatch(line)
			require.NotNil(t, m, "%s: %q", name, line)
			task := m[1]
			if task == "<idle>" {
				task = "swapper"
			}
			kinds[m[7]]++
			if m[4][2] == 'h' {
				hard++
			}
			require.Equal(t, want[i], strings.Join([]string{task, m[2], m[3], m[4], m[5] + "." + m[6], m[7], m[8]},
				" "), "%s: %s", name, line)
		}
	})
	require.NotZero(t, hard)
	for _, n := range []string{"sched_switch", "sched_waking", "call_function_entry", "ipi_send_cpumask", "deviation",
		"TextStore", "Exec", "Trap"} {
		require.NotZero(t, kinds[n], n)
	}
	events, err := exec.Command(tool, "report", "--check-events", "-i",
		filepath.Join(dir, "trace.dat")).CombinedOutput()
	require.NoError(t, err, "%s", events)
	require.NotContains(t, string(events), "rror")
}

// tracedatLines are what trace-cmd should say: of the kernel's tracepoints what the text
// for Perfetto says, of others what the scene does.
func tracedatLines(t *testing.T, name string, s *view.Scene) (list []string) {
	var text string
	for _, x := range exports(t) {
		if x.name == name {
			text = x.text["ftrace"]
		}
	}
	_, lines, err := parseFtrace(text)
	require.NoError(t, err)
	step, turn := 0, 0
	for _, l := range lines {
		task, event, args := l.task, l.event, l.args
		if l.pid == 0 {
			task = "swapper"
		}
		switch {
		case turn < len(s.Deviations) && s.Deviations[turn].Step <= step:
			event, args = "deviation", s.Deviations[turn].String()
			turn++
		case event == "tracing_mark_write":
			e := &s.Steps[step].Event
			event, args = e.Kind.String(), strings.Join(strings.Fields(s.Steps[step].Says), " ")
			if step == s.Violation {
				args = "VIOLATION: " + args
			}
			for i, a := range e.Kind.Spec().Args {
				args += fmt.Sprintf(" %s=%#x", a.Name, [...]uint64{e.A, e.B, e.C}[i])
			}
			step++
		case event == "sched_waking": // sched_wakeup follows, of the same step
		default:
			step++
		}
		task = task[:min(len(task), 8)] // report -l has no more of it
		list = append(list, strings.Join([]string{task, fmt.Sprint(l.pid), fmt.Sprint(l.cpu), l.flags[:3],
			fmt.Sprintf("%d.%09d", l.ns/1e9, l.ns%1e9), event, args}, " "))
	}
	return list
}
