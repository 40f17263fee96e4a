package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/smpev"
	"kpsim/traces/view"
)

// An ftraceLine is a line of ftrace's text, taken apart.
type ftraceLine struct {
	task     string
	pid, cpu uint64
	flags    string
	ns       uint64
	event    string
	args     string
}

// What two importers take for a line: Perfetto's searches for this anywhere, and what is
// before it is the task's name; catapult's wants the whole line, and four flags.
var (
	perfettoLine = regexp.MustCompile(`-(\d+)\s+\(?\s*(\d+|-+)?\)?\s?\[(\d+)\]\s*([a-zA-Z.]{3}[0-9a-f.]{1,2}\s*)?(\d+\.\d+):\s+(\S+):`)
	catapultLine = regexp.MustCompile(`^\s*(.+)-(\d+)\s+\[(\d+)\]\s+[dX.][Nnp.][Hhs.][0-9a-f.][0-9a-f.]?\s+(\d+\.\d+):\s+(\S+):\s(.*)$`)
	ftraceStrict = regexp.MustCompile(`^ *([^ =]{1,15})-(\d+) +\[(\d{3})\] ([dX.][Nnp.][Hhs.][0-9a-f.]) +(\d+)\.(\d{9}): ([a-z_]+): (\S|\S.*\S)$`)
	ftraceTitle  = regexp.MustCompile(`^# entries-in-buffer/entries-written: (\d+)/(\d+)   #P:(\d+)$`)
)

// parseFtrace takes a file apart, and is stricter than any importer.
func parseFtrace(text string) (cpus int, list []ftraceLine, err error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var head []string
	for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
		head, lines = append(head, lines[0]), lines[1:]
	}
	if len(head) != 11 || head[0] != "# tracer: nop" || head[1] != "#" || head[3] != "#" {
		return 0, nil, fmt.Errorf("no header:\n%s", strings.Join(head, "\n"))
	}
	title := ftraceTitle.FindStringSubmatch(head[2])
	if title == nil || title[1] != title[2] || title[1] != strconv.Itoa(len(lines)) {
		return 0, nil, fmt.Errorf("%q, and there are %d", head[2], len(lines))
	}
	cpus, _ = strconv.Atoi(title[3])
	for i, name := range []string{"_-----=> irqs-off", "_----=> need-resched", "_---=> hardirq/softirq",
		"_--=> preempt-depth", "delay"} {
		if !strings.HasSuffix(head[4+i], " "+name) {
			return 0, nil, fmt.Errorf("%q isn't the legend of %s", head[4+i], name)
		}
	}
	if got := strings.Join(strings.Fields(head[9]), " "); got != "# TASK-PID CPU# |||| TIMESTAMP FUNCTION" {
		return 0, nil, fmt.Errorf("%q", got)
	}
	flags := strings.Index(head[9], "||||")
	for n, line := range lines {
		m := ftraceStrict.FindStringSubmatch(line)
		p, c := perfettoLine.FindStringSubmatchIndex(line), catapultLine.FindStringSubmatch(line)
		if m == nil || p == nil || c == nil {
			return 0, nil, fmt.Errorf("line %d is none: %q", n, line)
		}
		l := ftraceLine{task: m[1], flags: m[4], event: m[7], args: m[8]}
		l.pid, _ = strconv.ParseUint(m[2], 10, 32)
		l.cpu, _ = strconv.ParseUint(m[3], 10, 32)
		l.ns, err = strconv.ParseUint(m[5]+m[6], 10, 64)
		if err != nil {
			return 0, nil, fmt.Errorf("line %d: %w", n, err)
		}
		if strings.TrimSpace(line[:p[0]]) != l.task || line[p[12]:p[13]] != l.event || c[1] != l.task ||
			c[5] != l.event || c[6] != l.args {
			return 0, nil, fmt.Errorf("line %d is read otherwise: %q", n, line)
		}
		if line[flags:flags+4] != l.flags {
			return 0, nil, fmt.Errorf("line %d: the flags aren't below their legend: %q", n, line)
		}
		list = append(list, l)
	}
	return cpus, list, nil
}

// The arguments of each event.
var ftraceArgs = map[string]*regexp.Regexp{
	"sched_switch":        regexp.MustCompile(`^prev_comm=([^ =]+) prev_pid=(\d+) prev_prio=120 prev_state=(R|R\+|S|X) ==> next_comm=([^ =]+) next_pid=(\d+) next_prio=120$`),
	"sched_waking":        regexp.MustCompile(`^comm=([^ =]+) pid=(\d+) prio=120 target_cpu=(\d{3})$`),
	"sched_wakeup":        regexp.MustCompile(`^comm=([^ =]+) pid=(\d+) prio=120 target_cpu=(\d{3})$`),
	"sched_process_exit":  regexp.MustCompile(`^comm=([^ =]+) pid=(\d+) prio=120$`),
	"local_timer_entry":   regexp.MustCompile(`^vector=236$`),
	"local_timer_exit":    regexp.MustCompile(`^vector=236$`),
	"reschedule_entry":    regexp.MustCompile(`^vector=253$`),
	"reschedule_exit":     regexp.MustCompile(`^vector=253$`),
	"call_function_entry": regexp.MustCompile(`^vector=251$`),
	"call_function_exit":  regexp.MustCompile(`^vector=251$`),
	"ipi_send_cpumask":    regexp.MustCompile(`^cpumask=[\d,-]* callsite=\S+ callback=\S+$`),
	"tracing_mark_write":  regexp.MustCompile(`^I\|(\d+)\|[^|]+$`), // an instant: type, process, name
}

// TestExportFtrace: the text is what importers take for ftrace's, times go up, the task
// that is switched out is the one that was switched in, and it alone has its CPU.
func TestExportFtrace(t *testing.T) {
	tracepoints, hard := make(map[string]int), 0
	exported(t, "ftrace", func(name, text string, s *view.Scene) {
		cpus, list, err := parseFtrace(text)
		require.NoError(t, err, name)
		require.Equal(t, s.CPUs, cpus, name)
		require.Len(t, list, len(s.Steps)+len(s.Deviations)+wakeUps(s), name)
		running, home := make(map[uint64]string), make(map[string]uint64)
		last := uint64(0)
		for _, l := range list {
			tracepoints[l.event]++
			args := ftraceArgs[l.event]
			require.NotNil(t, args, "%s: %+v", name, l)
			m := args.FindStringSubmatch(l.args)
			require.NotNil(t, m, "%s: %+v", name, l)
			require.GreaterOrEqual(t, l.ns, last, "%s: %+v", name, l)
			require.Less(t, l.cpu, uint64(cpus))
			last = l.ns
			if l.flags[2] == 'h' {
				hard++
			}
			switch l.event {
			case "tracing_mark_write":
				require.Equal(t, m[1], strconv.FormatUint(l.pid, 10), "%s: %+v", name, l)
			case "sched_switch":
				if was := running[l.cpu]; was != "" {
					require.Equal(t, was, m[2], "%s: %+v", name, l)
				}
				running[l.cpu] = m[5]
			case "sched_waking":
				cpu, _ := strconv.ParseUint(m[3], 10, 32)
				home[m[2]] = cpu
			}
			if l.event == "sched_switch" && m[5] != "0" {
				if cpu, woken := home[m[5]]; woken {
					require.Equal(t, cpu, l.cpu, "%s: %+v", name, l)
				}
			}
		}
	})
	require.NotZero(t, hard)
	for _, n := range []string{"sched_switch", "sched_waking", "sched_wakeup", "call_function_entry",
		"call_function_exit", "ipi_send_cpumask", "tracing_mark_write"} {
		require.NotZero(t, tracepoints[n], n)
	}
}

// wakeUps counts wake-ups, of which there are two lines each.
func wakeUps(s *view.Scene) (n int) {
	for i := range s.Steps {
		if s.Steps[i].Event.Kind == smpev.Wake {
			n++
		}
	}
	return n
}
