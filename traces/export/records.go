package export

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// prio is the priority of every task; the model has no priorities.
const prio = 120

// A record is an event of the scene, or a deviation, in ftrace's terms.
type record struct {
	step  int
	time  uint64 // in ns: cycles as if at 1 GHz
	cpu   int
	comm  string
	pid   uint64
	hard  bool   // in an interrupt handler
	event string // a tracepoint of the kernel, or mark
	args  string // as the kernel prints them; for a mark: the text

	deviation bool
	values    []any // for a tracepoint: its fields, an int or a string each, in order
}

// mark is the event for everything that has no tracepoint in the kernel.
const mark = "tracing_mark_write"

// records returns a scene's events and its deviations. A deviation comes before the event that
// follows it. A wake-up is two records, because the kernel has two tracepoints.
func records(s *view.Scene, task func(id uint64) string) []record {
	r := &recorder{s: s, task: task}
	for i := range r.home {
		r.home[i] = -1
	}
	for i := range s.Steps {
		if e := &s.Steps[i].Event; e.Kind == smpev.Switch && r.home[uint8(e.B)] < 0 {
			r.home[uint8(e.B)] = int(e.CPU)
		}
	}
	d := 0
	for i := range s.Steps {
		for ; d < len(s.Deviations) && s.Deviations[d].Step <= i; d++ {
			r.add(i, mark, "deviation: "+s.Deviations[d].String())
			r.list[len(r.list)-1].deviation = true
		}
		r.step(i)
	}
	return r.list
}

type recorder struct {
	s    *view.Scene
	task func(id uint64) string
	list []record

	home  [256]int      // the CPU of each task, which stays on it; -1: it never gets one
	dead  [256]bool     // tasks that have ended
	traps [256][]uint64 // by task: the vectors of its open traps
}

// comm returns a task's name and pid as the kernel would print them.
func (r *recorder) comm(id uint64) (name string, pid uint64) {
	name = "<...>"
	if id != uint64(traces.NoTask) {
		name = r.task(id)
	}
	base, cpu, _ := strings.Cut(name, "/")
	switch base {
	case "idle":
		return "swapper/" + cpu, 0
	case "stopper":
		name = "migration/" + cpu
	}
	return commOf(name), id + 1
}

// commLen is the number of bytes in a comm: TASK_COMM_LEN without the terminating 0.
const commLen = 15

// commOf turns a task's name into a comm: readers split arguments at blanks and at =.
func commOf(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c == '=' || unicode.IsSpace(c) || !traces.IsPlain(c) {
			c = '_'
		}
		if b.Len()+len(string(c)) > commLen {
			break
		}
		b.WriteRune(c)
	}
	if b.Len() == 0 {
		return "<...>"
	}
	return b.String()
}

func (r *recorder) add(step int, event, args string, values ...any) {
	s := &r.s.Steps[step]
	to := record{step: step, time: s.Time, cpu: int(s.Event.CPU), event: event, args: args, values: values}
	to.comm, to.pid = r.comm(uint64(s.Event.Task))
	if s.Event.CPU == view.Machine {
		to.comm, to.pid, to.cpu = "swapper/0", 0, 0
	}
	to.hard = slices.ContainsFunc(r.traps[s.Event.Task], func(v uint64) bool {
		return v == smpev.VecNMI || v > smpev.VecPF && v != smpev.VecGarbage
	})
	r.list = append(r.list, to)
}

// vectors names the tracepoints of interrupts.
var vectors = map[uint64]string{smpev.VecTimer: "local_timer", smpev.VecResch: "reschedule",
	smpev.VecCall: "call_function"}

// step adds an event, as the kernel's tracepoint if there is one.
func (r *recorder) step(i int) {
	e := &r.s.Steps[i].Event
	switch e.Kind {
	case smpev.Switch:
		r.change(i)
	case smpev.Wake:
		// Perfetto and KernelShark look at the first, catapult at the second
		for _, event := range []string{"sched_waking", "sched_wakeup"} {
			r.ofTask(i, event, " target_cpu=%03d", max(r.home[uint8(e.A)], 0))
		}
	case smpev.Exit:
		r.dead[uint8(e.A)] = true
		r.ofTask(i, "sched_process_exit", "")
	case smpev.Trap:
		r.traps[e.Task] = append(r.traps[e.Task], e.A)
		r.trap(i, "_entry")
	case smpev.Return:
		r.trap(i, "_exit")
		if n := len(r.traps[e.Task]); n > 0 {
			r.traps[e.Task] = r.traps[e.Task][:n-1]
		}
	case smpev.SendIPI:
		callback := [...]string{"0x0", "do_sync_core+0x0"}[e.B&1]
		r.add(i, "ipi_send_cpumask", fmt.Sprintf("cpumask=%s callsite=kpsim callback=%s", cpuList(e.A), callback),
			cpuList(e.A), callback)
	default:
		r.says(i)
	}
}

// The constants are the states of tasks that are switched out, as in the tracepoint.
const (
	stateRuns   = 0
	stateSleeps = 1
	stateDead   = 0x10
	statePushed = 0x100 // it was preempted
)

var stateNames = map[int]string{stateRuns: "R", stateSleeps: "S", stateDead: "X", statePushed: "R+"}

func (r *recorder) change(i int) {
	e := &r.s.Steps[i].Event
	prev, prevPid := r.comm(e.A)
	next, nextPid := r.comm(e.B)
	state := stateSleeps
	switch {
	case prevPid == 0:
		state = stateRuns
	case r.dead[uint8(e.A)]:
		state = stateDead
	case e.C == 0:
		state = statePushed
	}
	r.add(i, "sched_switch", fmt.Sprintf("prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s "+
		"next_pid=%d next_prio=%d",
		prev, prevPid, prio, stateNames[state], next, nextPid, prio), prev, int(prevPid), prio, state, next,
		int(nextPid), prio)
}

// ofTask adds an event about a task.
func (r *recorder) ofTask(i int, event, more string, values ...any) {
	name, pid := r.comm(r.s.Steps[i].Event.A)
	r.add(i, event, fmt.Sprintf("comm=%s pid=%d prio=%d", name, pid, prio)+fmt.Sprintf(more, values...),
		append([]any{name, int(pid), prio}, values...)...)
}

func (r *recorder) trap(i int, what string) {
	e := &r.s.Steps[i].Event
	if v := vectors[e.A]; v != "" {
		r.add(i, v+what, fmt.Sprintf("vector=%d", e.A), int(e.A))
		return
	}
	r.says(i)
}

// says adds an event in the page's words.
func (r *recorder) says(i int) {
	text := ""
	if i == r.s.Violation {
		text = "VIOLATION: "
	}
	r.add(i, mark, text+strings.Join(strings.Fields(r.s.Steps[i].Says), " "))
}

// cpuList prints a set of CPUs like the kernel's %*pbl.
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
