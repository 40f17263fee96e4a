package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"kpsim/traces/view"
)

// ftraceHeader is the head of the kernel's file trace. Perfetto recognises text by `# tracer`,
// and catapult by the legend as well. It has four columns of flags, like kernels up to 5.12:
// all readers accept four, and not all accept five.
const ftraceHeader = `# tracer: nop
#
# entries-in-buffer/entries-written: %d/%[1]d   #P:%d
#
#                                _-----=> irqs-off
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| /     delay
#           TASK-PID     CPU#  ||||   TIMESTAMP  FUNCTION
#              | |         |   ||||      |         |
`

// Ftrace writes text in the form of the kernel's file trace: a line for each event, with the
// names and arguments of the kernel's tracepoint if there is one (sched, irq_vectors, ipi).
// Other events, and deviations, are instants of tracing_mark_write, `I|PID|TEXT`, which
// Perfetto shows beside their task. Pids are the numbers of tasks, from 1; idle's is 0. The
// only flag is hardirq; irqs-off is X, as on machines that don't report it. Errors are those
// of w.
func Ftrace(w io.Writer, s *view.Scene, task func(id uint64) string) error {
	out := bufio.NewWriter(w)
	list := records(s, task)
	fmt.Fprintf(out, ftraceHeader, len(list), s.CPUs)
	for i := range list {
		r := &list[i]
		args := r.args
		if r.event == mark {
			args = fmt.Sprintf("I|%d|%s", r.pid, strings.ReplaceAll(r.args, "|", "/")) // | ends a field
		}
		hard := '.'
		if r.hard {
			hard = 'h'
		}
		fmt.Fprintf(out, "%16s-%-7d [%03d] X.%c. %5d.%09d: %s: %s\n", r.comm, r.pid, r.cpu, hard, r.time/1e9,
			r.time%1e9, r.event, args)
	}
	return out.Flush()
}
