package smp

import (
	"cmp"
	"fmt"
	"strings"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Interactive drives a machine by hand: the run pauses where it would otherwise end.
type Interactive struct {
	m *Machine

	// Pause is called at a boundary where the run would end because the budget is spent or
	// nothing can move. It may inspect the machine, wake tasks and set a new budget. It
	// returns true to let the run go on.
	Pause func() (goOn bool)
}

// Interactive returns what drives the machine by hand.
func (m *Machine) Interactive() *Interactive { return &m.interactive }

// pause calls Pause and reports whether the run goes on.
func (m *Machine) pause() bool {
	if pause := m.interactive.Pause; pause == nil || m.ending.over || !pause() {
		return false
	}
	m.turns.again()
	return true
}

// SetBudget makes the run pause, or end, after n boundaries in all. It may be
// called from a routine.
func (d *Interactive) SetBudget(n uint64) {
	d.m.cfg.Budget = n
	d.m.turns.again()
}

// Budget returns the total number of boundaries after which the run pauses, or ends.
func (d *Interactive) Budget() uint64 { return d.m.cfg.Budget }

// Moving reports whether the run would go on: either something can move, or a waiter has yet
// to look at its condition.
func (d *Interactive) Moving() bool {
	moves := d.m.Inspect().Moves()
	return d.m.waits.recheck || moves[0]|moves[1]|moves[3] != 0 || d.m.turns.worthFiring(moves[2])
}

// Steps returns how many boundaries there were so far.
func (d *Interactive) Steps() uint64 { return d.m.turns.steps }

// Follow makes t the thread of control that goes on by default.
func (d *Interactive) Follow(t *Task) {
	d.m.turns.lead, d.m.turns.errand = t, nil
	d.m.turns.again()
}

// Stores makes f get each store to a cell, before it is made: its CPU, which may hold it where memory is weak, and the
// cell's number. It must be called before the run, on a machine that isn't asked for costs.
func (d *Interactive) Stores(f func(cpu uint8, id kapi.CellID)) {
	if d.m.time.lines == nil {
		d.m.time.lines = new(lines)
	}
	d.m.time.lines.told = f
}

// Can reports whether a mover can make the next step.
func (d *Interactive) Can(mv sim.Mover) bool {
	moves := d.m.Inspect().Moves()
	return moves[mv/sim.MaxCPUs]>>(mv%sim.MaxCPUs)&1 != 0
}

// An Inspector reads a machine that is paused, or whose run is over.
type Inspector struct{ m *Machine }

// Inspect returns what reads the machine.
func (m *Machine) Inspect() Inspector { return Inspector{m} }

// Current returns the current task of a CPU.
func (in Inspector) Current(cpu int) *Task { return in.m.cpus.list[cpu].task }

// Queue returns the tasks that want a CPU, without the current one.
func (in Inspector) Queue(cpu int) []*Task { return in.m.cpus.list[cpu].runq }

// Regs returns the registers of a CPU: those of guest text, or as a kernel routine found
// them. kernel is true if the CPU isn't at guest text.
func (in Inspector) Regs(cpu int) (regs arch.Regs, kernel bool) {
	c := &in.m.cpus.list[cpu]
	return c.regs, !c.guest
}

// A Level is one level of a task's stack: text, a routine, or the handler of a trap.
type Level struct {
	Place string    // the routine's or the handler's name; "" for text
	Step  int       // of the routine
	At    arch.Addr // text: where it goes on; 0 if that can't be read
	SP    arch.Addr // text: its stack pointer there; 0 likewise
	Trap  bool      // a trap entered it
}

// Text reports whether the level is guest text.
func (l *Level) Text() bool { return l.Place == "" }

// Levels returns the levels of a task's stack, the innermost first; none: it runs nothing.
func (in Inspector) Levels(t *Task) (list []Level) {
	regs := &t.regs // what text above has left, from the innermost outwards
	if t.cpu.task == t {
		regs = &t.cpu.regs
	}
	var image arch.Regs
	for i := len(t.frames) - 1; i >= 0; i-- {
		switch f := &t.frames[i]; f.kind {
		case guest:
			l := Level{}
			if regs != nil {
				l.At, l.SP = regs.IP, in.m.arch.StackPointer(regs)
			}
			list = append(list, l)
			regs = nil // what called it is a routine
		case iret:
			list = append(list, Level{Place: vectorName(f.vector) + " iret", Trap: true})
			if regs = &image; !in.m.traps.loadFrame(t.cpu, in.m.traps.frameOf(f.user), f.base, regs) {
				regs = nil
			}
		default:
			list = append(list, Level{Place: f.ctx.place, Step: f.ctx.step, Trap: f.trap})
			regs = &f.ctx.regs // as it found them
		}
	}
	return list
}

// Pending reports whether an IPI is pending on a CPU, and whether it takes
// interrupts.
func (in Inspector) Pending(cpu int) (ipi, open bool) {
	c := &in.m.cpus.list[cpu]
	return c.ipi != 0, c.open()
}

// BytesAt copies what is in memory at a, and returns how many bytes are there.
func (in Inspector) BytesAt(a arch.Addr, b []byte) int { return in.m.mem.peek(a, b, 0) }

// OldestAt is BytesAt with the oldest bytes that a fetch by the CPU might see.
func (in Inspector) OldestAt(cpu int, a arch.Addr, b []byte) int {
	n := in.m.mem.peek(a, b, 0)
	in.m.text.model.Oldest(cpu, uint64(a), b[:n])
	return n
}

// SeenAt lists what a fetch by the CPU might see in place of b, which is in memory at a: the newest first, without
// repetitions. It tries at most limit combinations of versions; all is false if there are more.
func (in Inspector) SeenAt(cpu int, a arch.Addr, b []byte, limit int) (list [][]byte, all bool) {
	return in.m.text.model.Seen(cpu, uint64(a), b, limit)
}

// Moves recomputes what can move. The Moves of a Step question, which are kept up to date
// incrementally, must equal it.
func (in Inspector) Moves() (moves sim.Moves) {
	kept := in.m.turns.moves
	for i := range in.m.cpus.list {
		in.m.turns.lookAt(&in.m.cpus.list[i])
	}
	for _, s := range in.m.irqs.sources {
		if s.Kind != WorkSource {
			continue
		}
		if in.m.turns.moves[2] &^= s.bit; s.armed {
			in.m.turns.moves[2] |= s.bit
		}
	}
	moves, in.m.turns.moves = in.m.turns.moves, kept
	return moves
}

// Dump describes where each CPU and waiter stands, for a run that got stuck.
func (in Inspector) Dump() string {
	var b strings.Builder
	for i := range in.m.cpus.list {
		c := &in.m.cpus.list[i]
		name, off, _ := in.m.names.Where(sim.Mover(i))
		fmt.Fprintf(&b, "cpu%d: task %s in %s %d, interrupts on %v, IPI pending %#x, %d on the run queue\n",
			i, c.task.Name, name, off, c.open(), uint8(c.ipi), len(c.runq))
	}
	for _, x := range in.m.waits.list {
		fmt.Fprintf(&b, "waiting: task %s in %s %d, for cell %d\n", x.task.Name, x.place, x.step, x.cond.Cell())
	}
	return b.String()
}

// Waiting says in one line which tasks wait, for which cell, and what the last step with a name
// is that each has reached. The routine of that step may have returned.
func (in Inspector) Waiting() string {
	var list []string
	for _, x := range in.m.waits.list {
		cell := x.cond.Cell()
		what := fmt.Sprintf("cell %d", cell)
		if name := in.m.names.Cell; name != nil {
			what = cmp.Or(name(cell), what)
		}
		list = append(list, fmt.Sprintf("%s waits on %s (last in %s step %d)", x.task.Name, what, x.place, x.step))
	}
	return strings.Join(list, ", ")
}

// WaitsFor returns the cell that the task waits for; ok is false if it doesn't wait.
func (t *Task) WaitsFor() (cell kapi.CellID, ok bool) {
	if f := t.top(); f != nil && f.kind == routine && f.ctx.cond != nil {
		return f.ctx.cond.Cell(), true
	}
	return 0, false
}

// Waits returns for each waiter the routine and step it waits in.
func (in Inspector) Waits() []string {
	list := make([]string, len(in.m.waits.list))
	for i, x := range in.m.waits.list {
		list[i] = fmt.Sprintf("%s step %d", x.place, x.step)
	}
	return list
}

// Last returns the CPU that was the default mover when the run ended, its task, and where
// that stands.
func (in Inspector) Last() (cpu int, task, place string) {
	c := &in.m.cpus.list[0]
	if in.m.turns.lead != nil {
		c = in.m.turns.lead.cpu
	}
	s := in.m.names.Spot(sim.Mover(c.id))
	if s.text {
		return int(c.id), c.task.Name, in.m.names.SymbolName(s.at)
	}
	name, step, _ := in.m.names.SpotName(s)
	return int(c.id), c.task.Name, fmt.Sprintf("%s step %d", name, step)
}
