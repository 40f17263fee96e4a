package replay

import (
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// Decide adds to an input what the violating call has left otherwise than it should have, and what wrote that last: a
// call whose registers, flags or memory aren't those without probes, or whose result isn't the scenario's. Of a run
// without an end it adds the instructions that tasks repeat. It plays the trace again, twice at most, and the scenario
// without probes once.
func (r *Replay) Decide(in *view.Input) {
	if in.Circles {
		in.Loops = r.loops()
		return
	}
	e := r.violating()
	if e == nil {
		return
	}
	switch {
	case e.Kind == smpev.CallEnd:
		in.Differs = r.leftOtherwise(e)
	case e.Kind == smpev.Got && smpev.CheckWhat(e.A) == smpev.CheckResult:
		in.Differs = []view.Difference{{What: r.Rig.Machine.Arch().RegName(r.Rig.Machine.Arch().Result), Is: e.B}}
		w := &writer{reg: int(r.Rig.Machine.Arch().Result), kind: inRegister}
		in.Differs[0].Right = r.wanted(e.A)
		r.wrote(e, uint8(smpev.CheckTask(e.A)), w, &in.Differs[0])
	case e.Kind == smpev.Got && smpev.CheckWhat(e.A) == smpev.CheckMemory:
		in.Differs = []view.Difference{{What: r.Rig.Machine.Names().SymbolName(e.C), Is: e.B, Right: r.wanted(e.A)}}
		r.wrote(e, uint8(smpev.CheckTask(e.A)), &writer{at: arch.Addr(e.C), size: 8, kind: inMemory}, &in.Differs[0])
	}
}

// violating returns the violating event, nil if there is none.
func (r *Replay) violating() *traces.Event {
	if r.Property == nil {
		return nil
	}
	for i := range r.Rig.Log.Events {
		if e := &r.Rig.Log.Events[i]; e.Seq == r.Rig.Log.FoundAt {
			found := *e
			return &found
		}
	}
	return nil
}

// wanted returns the value that the scenario states for a check.
func (r *Replay) wanted(check uint64) uint64 {
	for i := range r.Rig.Log.Events {
		if e := &r.Rig.Log.Events[i]; e.Kind == smpev.Want && e.A == check {
			return e.B
		}
	}
	return 0
}

// leftOtherwise compares what a call has left with what it leaves without probes.
func (r *Replay) leftOtherwise(e *traces.Event) []view.Difference {
	var is, right *rig.Left
	keep := func(to **rig.Left) func(task, call uint64, l *rig.Left) {
		return func(task, call uint64, l *rig.Left) {
			if task == e.A && call == e.B {
				*to = l
			}
		}
	}
	r.Rig.OnLeft(keep(&is))
	r.again(nil)
	r.Rig.OnLeft(nil)
	twin, err := rig.Twin(r.Rig.Scenario)
	if err != nil {
		return nil
	}
	defer twin.Close()
	twin.OnLeft(keep(&right))
	twin.Play(new(sched.Default))
	if is == nil || right == nil {
		return nil
	}
	list, first := r.differences(is, right)
	if len(list) > 0 {
		r.wrote(e, uint8(e.A), first, &list[0])
	}
	return list
}

// differences lists what differs between what a call has left and what it should have, and returns what to watch for
// the first of that.
func (r *Replay) differences(is, right *rig.Left) (list []view.Difference, first *writer) {
	a := r.Rig.Machine.Arch()
	add := func(what string, x, y uint64, w writer) {
		if x == y {
			return
		}
		if list = append(list, view.Difference{What: what, Is: x, Right: y}); first == nil {
			first = &w
		}
	}
	for i := range a.Used {
		what := a.RegName(arch.Reg(i))
		if arch.Reg(i) == a.SP {
			what = "what " + what + " is off by" // as smp.Task.Left has it
		}
		add(what, is.Regs.R[i], right.Regs.R[i], writer{kind: inRegister, reg: i})
	}
	named := uint64(0)
	for bit, name := range a.FlagNames {
		if name == "" {
			continue
		}
		named |= 1 << bit
		add("the flag "+name, is.Regs.Flags>>bit&1, right.Regs.Flags>>bit&1, writer{kind: inFlag, reg: bit})
	}
	add("the flags", is.Regs.Flags&^named, right.Regs.Flags&^named, writer{kind: inFlags, mask: ^named})
	for i := range min(len(is.Words), len(right.Words)) {
		x, y := is.Words[i], right.Words[i]
		if x.At == y.At && x.Size == y.Size {
			add(r.Rig.Machine.Names().SymbolName(uint64(x.At)), x.Value, y.Value,
				writer{kind: inMemory, at: x.At, size: x.Size})
		}
	}
	return list, first
}

// A watcher receives the instructions and the events of a run.
type watcher interface {
	smp.Tracer
	traces.Sink
}

// again plays the trace again, with a watcher unless w is nil.
func (r *Replay) again(w watcher) {
	s := sched.Strategy(sched.NewAnchored(r.Taken, r.Rig.Machine.Names()))
	if w != nil {
		r.Rig.Machine.Trace(w)
		defer r.Rig.Machine.Trace(nil)
		r.Rig.Log.SubscribeAll(w)
		defer r.Rig.Log.Unsubscribe(w)
	}
	if run := r.Rig.Play(s); run.Digest != r.Digest {
		sim.Bug("decide: the run has digest %016x, the replay had %016x", run.Digest, r.Digest)
	}
}

// wrote finds what wrote a difference last before event e, in the run of its task.
func (r *Replay) wrote(e *traces.Event, task uint8, w *writer, d *view.Difference) {
	w.r, w.task, w.end = r, task, e.Seq
	r.again(w)
	d.Insn, d.At, d.Seq = w.by.says, uint64(w.by.at), w.by.seq
}

// where a value is.
const (
	inRegister = iota
	inFlag     // a bit of the flags
	inFlags
	inMemory
)

// A writer watches a run for the last write of a register, of flags or of memory. It implements smp.Tracer and
// traces.Sink.
type writer struct {
	r    *Replay
	kind int
	reg  int    // the register, or the bit
	mask uint64 // of the flags
	at   arch.Addr
	size int
	task uint8  // whose registers
	end  uint32 // the event at which to stop

	known bool   // value is
	value uint64 // as it was before prev
	prev  wrote  // the task's last instruction
	now   wrote  // the instruction that a CPU is about to execute
	last  uint32 // the last event of the task
	over  bool

	by wrote
}

// A wrote is an instruction that may have written a value.
type wrote struct {
	says string
	at   arch.Addr
	seq  uint32 // the last event of its task before it
}

// Instruction implements smp.Tracer.
func (w *writer) Instruction(cpu uint8, in arch.Inst, regs *arch.Regs) {
	if w.over {
		return
	}
	w.now = wrote{in.String(), in.At(), w.last}
	if w.kind == inMemory {
		return
	}
	if uint8(w.r.Rig.Machine.Inspect().Current(int(cpu)).ID) != w.task {
		return
	}
	w.look(w.of(regs))
	w.prev = w.now
}

// look compares the watched value with what it was before the last instruction of the task.
func (w *writer) look(v uint64) {
	if w.known && v != w.value {
		w.by = w.prev
		if w.last != w.prev.seq { // events came between: a handler, or a routine of the kernel
			w.by.says, w.by.seq = "", w.last
		}
	}
	w.known, w.value = true, v
}

// of returns the watched value.
func (w *writer) of(regs *arch.Regs) uint64 {
	switch w.kind {
	case inRegister:
		return regs.R[w.reg]
	case inFlag:
		return regs.Flags >> w.reg & 1
	}
	return regs.Flags & w.mask
}

// Access implements smp.Tracer.
func (w *writer) Access(cpu uint8, a arch.Addr, size int, store bool) {
	if w.kind == inMemory && store && !w.over && a < w.at+arch.Addr(w.size) && w.at < a+arch.Addr(size) {
		w.by = w.now
	}
}

// Event implements traces.Sink.
func (w *writer) Event(e *traces.Event) *traces.Finding {
	if e.Seq == w.end {
		sp := w.kind == inRegister && w.reg == int(w.r.Rig.Machine.Arch().SP) // of which Left has another value
		if w.kind != inMemory && !w.over && !sp {
			w.look(w.of(w.r.Rig.Machine.Tasks().All()[w.task].Left()))
		}
		w.over = true
	}
	if !w.over && e.Task == w.task && e.Kind != smpev.Exec { // which comes before its instruction
		w.last = e.Seq
	}
	return nil
}
