package replay

import (
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// loopLeast is how many instructions a task must have run since its last event before they count as a loop.
const loopLeast = 64

// loops plays the trace again and returns the instructions that tasks repeat where a run without an end was stopped, in
// the order of the tasks.
func (r *Replay) loops() (list []view.Loop) {
	w := &loopWatch{r: r, insns: make(map[arch.Addr]arch.Inst)}
	r.again(w)
	for task := range w.ran {
		if l, ok := w.loop(uint8(task)); ok {
			list = append(list, l)
		}
	}
	return list
}

// A loopWatch records the instructions of a run by their tasks. It implements smp.Tracer and traces.Sink.
type loopWatch struct {
	r     *Replay
	last  [256]uint32 // by task: its last event, but for instructions
	ran   [256][]step
	insns map[arch.Addr]arch.Inst // the last at each address
}

// A step is an instruction that a task has run.
type step struct {
	at  arch.Addr
	seq uint32 // the task's last event before it
}

// Instruction implements smp.Tracer.
func (w *loopWatch) Instruction(cpu uint8, in arch.Inst, _ *arch.Regs) {
	task := uint8(w.r.Rig.Machine.Inspect().Current(int(cpu)).ID)
	w.ran[task] = append(w.ran[task], step{in.At(), w.last[task]})
	w.insns[in.At()] = in
}

// Access implements smp.Tracer.
func (*loopWatch) Access(uint8, arch.Addr, int, bool) {}

// Event implements traces.Sink.
func (w *loopWatch) Event(e *traces.Event) *traces.Finding {
	switch {
	case e.Task == traces.NoTask || e.Kind == smpev.Exec:
	case e.Kind == smpev.Switch:
		w.last[e.A], w.last[uint8(e.B)] = e.Seq, e.Seq
	default:
		w.last[e.Task] = e.Seq
	}
	return nil
}

// loop returns what a task repeats: its last instructions, none of which is the first of its kind.
func (w *loopWatch) loop(task uint8) (l view.Loop, ok bool) {
	ran := w.ran[task]
	from := len(ran)
	for from > 0 && ran[from-1].seq == w.last[task] {
		from--
	}
	tail := ran[from:]
	if len(tail) < loopLeast {
		return l, false
	}
	before, repeated := make(map[arch.Addr]bool), make(map[arch.Addr]bool)
	for _, s := range tail[:len(tail)/2] {
		before[s.at] = true
	}
	for _, s := range tail[len(tail)/2:] {
		if !before[s.at] {
			return l, false
		}
		repeated[s.at] = true
	}
	for from = len(ran); from > 0 && repeated[ran[from-1].at]; {
		from--
	}
	first := ran[from]
	in := w.insns[first.at]
	l = view.Loop{Task: task, At: uint64(first.at), Insn: in.Bytes(), Len: len(repeated), Seq: first.seq}
	for _, s := range ran[from:] {
		if s.at == first.at {
			l.Times++
		}
	}
	return l, true
}
