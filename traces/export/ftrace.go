package export

import (
	"bufio"
	"fmt"
	"io"
	"math/bits"
	"strings"

	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// prio is the priority of every task; the model has no priorities.
const prio = 120

// Ftrace writes text as trace-cmd report prints it: a line for each event, with the
// names and arguments of the kernel's tracepoints where there is one (sched,
// irq_vectors, exceptions, ipi), and a print line where there isn't. Pids are the
// numbers of tasks; idle's is 0. Errors are those of w.
func Ftrace(w io.Writer, s *view.Scene, task func(id uint64) string) error {
	f := &ftrace{w: bufio.NewWriter(w), s: s, task: task}
	fmt.Fprintf(f.w, "cpus=%d\n", s.CPUs)
	d := 0
	for i := range s.Steps {
		for ; d < len(s.Deviations) && s.Deviations[d].Step <= i; d++ {
			f.line(i, "print", "tracing_mark_write: kpsim: deviation: "+s.Deviations[d].String())
		}
		f.step(i)
	}
	return f.w.Flush()
}

type ftrace struct {
	w    *bufio.Writer
	s    *view.Scene
	task func(id uint64) string
}

// comm returns a task's name and pid as the kernel would print them.
func (f *ftrace) comm(id uint64) (name string, pid uint64) {
	name = "<...>"
	if id != uint64(traces.NoTask) {
		name = f.task(id)
	}
	base, cpu, _ := strings.Cut(name, "/")
	switch {
	case base == "idle":
		return "swapper/" + cpu, 0
	case base == "stopper":
		name = "migration/" + cpu
	}
	const commLen = 15 // TASK_COMM_LEN, and a 0
	if len(name) > commLen {
		name = name[:commLen]
	}
	return name, id + 1
}

// line prints an event of a step.
func (f *ftrace) line(step int, event, args string) {
	s := &f.s.Steps[step]
	name, pid := f.comm(uint64(s.Event.Task))
	cpu := int(s.Event.CPU)
	if cpu == view.Machine {
		name, pid, cpu = "swapper/0", 0, 0
	}
	fmt.Fprintf(f.w, "%16s-%-5d [%03d] %6d.%09d: %-20s %s\n", name, pid, cpu, s.Time/1e9, s.Time%1e9, event+":", args)
}

// vectors are the tracepoints of interrupts.
var vectors = map[uint64]string{smpev.VecTimer: "local_timer", smpev.VecResch: "reschedule", smpev.VecCall: "call_function"}

// step prints an event in the kernel's words if it has any.
func (f *ftrace) step(i int) {
	s := &f.s.Steps[i]
	e := &s.Event
	switch e.Kind {
	case smpev.Switch:
		prev, prevPid := f.comm(e.A)
		next, nextPid := f.comm(e.B)
		state := "S"
		if e.C == 0 || prevPid == 0 {
			state = "R"
		}
		f.line(i, "sched_switch", fmt.Sprintf("prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d", prev, prevPid, prio, state, next, nextPid, prio))
	case smpev.Wake:
		name, pid := f.comm(e.A)
		f.line(i, "sched_wakeup", fmt.Sprintf("comm=%s pid=%d prio=%d target_cpu=%03d", name, pid, prio, e.CPU%view.Machine))
	case smpev.Exit:
		name, pid := f.comm(e.A)
		f.line(i, "sched_process_exit", fmt.Sprintf("comm=%s pid=%d prio=%d", name, pid, prio))
	case smpev.Trap:
		if v := vectors[e.A]; v != "" {
			f.line(i, v+"_entry", fmt.Sprintf("vector=%d", e.A))
			return
		}
		f.print(i)
	case smpev.Return:
		if v := vectors[e.A]; v != "" {
			f.line(i, v+"_exit", fmt.Sprintf("vector=%d", e.A))
			return
		}
		f.print(i)
	case smpev.SendIPI:
		f.line(i, "ipi_send_cpumask", fmt.Sprintf("cpumask=%s callsite=kpsim callback=%s", cpuList(e.A), []string{"0x0", "do_sync_core+0x0"}[e.B&1]))
	default:
		f.print(i)
	}
}

func (f *ftrace) print(i int) {
	s := &f.s.Steps[i]
	mark := ""
	if i == f.s.Violation {
		mark = "VIOLATION: "
	}
	f.line(i, "print", "tracing_mark_write: kpsim: "+mark+strings.Join(strings.Fields(s.Says), " "))
}

// cpuList prints a set as the kernel's %*pbl does.
func cpuList(mask uint64) string {
	var parts []string
	for mask != 0 {
		from := bits.TrailingZeros64(mask)
		n := bits.TrailingZeros64(^(mask >> from))
		p := fmt.Sprint(from)
		if n > 1 {
			p += fmt.Sprintf("-%d", from+n-1)
		}
		parts = append(parts, p)
		if from+n >= 64 {
			break
		}
		mask = mask >> (from + n) << (from + n)
	}
	return strings.Join(parts, ",")
}
