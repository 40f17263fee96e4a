package smp

import (
	"math/bits"

	"kpsim/sim"
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Ctx is a kernel routine in being: a task's body, a trap handler, or a
// routine that guest text has called. It implements kapi.Context. Contexts and
// their fibres are pooled: one is valid only while its routine runs.
type Ctx struct {
	m     *Machine
	cpu   *CPU
	task  *Task
	fibre *sim.Fibre

	started bool
	driving bool                         // it has given way, and makes the others' moves meanwhile
	prompt  bool                         // an interrupt handler that runs in one step, without a fibre
	trap    func(x *Ctx, regs *isa.Regs) // a trap's routine; regs is what it works on
	regs    isa.Regs
	vector  uint8
	source  *Source      // a trap's: what fired, nil for an exception or IPI
	gate    kapi.Routine // or what text called
	body    func(x *Ctx) // or a task's body

	cond    kapi.Cond // what it waits for
	wait    waiting   // and whom: the default schedule serves it
	waitFor *Source   // of waitWork
	place   string    // the routine and step it is at, for traces
	step    int
}

var _ kapi.Context = (*Ctx)(nil)

func simTime(cycles uint64) sim.Time { return sim.Time(cycles) }

// acquire returns a context for a routine on top of t.
func (m *Machine) acquire(c *CPU, t *Task) *Ctx {
	var x *Ctx
	if n := len(m.free); n > 0 {
		x = m.free[n-1]
		m.free = m.free[:n-1]
	} else {
		x = &Ctx{m: m}
	}
	x.cpu, x.task, x.started, x.driving, x.prompt, x.cond = c, t, false, false, false, nil
	x.trap, x.gate, x.body, x.source = nil, nil, nil, nil
	m.live = append(m.live, x)
	return x
}

// release gives a context back. Its fibre has ended.
func (m *Machine) release(x *Ctx) { m.free = append(m.free, x) }

// drop takes an ended context out of the living and releases it.
func (m *Machine) drop(x *Ctx) {
	for i := len(m.live) - 1; i >= 0; i-- {
		if m.live[i] == x {
			m.live[i] = m.live[len(m.live)-1]
			m.live = m.live[:len(m.live)-1]
			break
		}
	}
	m.release(x)
}

// runPromptly runs a handler that has no point in one step: it needs no fibre.
func (m *Machine) runPromptly(x *Ctx) {
	x.trap(x, &x.regs)
	m.finish(x)
}

// start begins the routine; it returns when it has parked or ended.
func (x *Ctx) start() {
	x.started = true
	if x.fibre == nil {
		x.fibre = x.m.pool.Get()
	}
	if x.fibre.Start(x) {
		x.m.finish(x)
	}
}

// resume goes on with a parked routine.
func (x *Ctx) resume() {
	if x.fibre.Resume() {
		x.m.finish(x)
	}
}

// Run implements sim.Body.
func (x *Ctx) Run() {
	switch {
	case x.body != nil:
		x.body(x)
	case x.gate != nil:
		x.gate(x, &x.cpu.regs)
	case x.trap != nil:
		x.trap(x, &x.regs)
	default:
		x.oops()
	}
}

// oops is the routine of a vector that has none: the kernel dies.
func (x *Ctx) oops() {
	x.Emit(smpev.Oops, uint64(x.vector), uint64(x.regs.IP), uint64(x.m.mem.fault))
	x.m.refuseAt(x.cpu, x.regs.IP, vectorName(x.vector)+": nobody handles it")
}

// Oops says that nobody handled the trap: the run ends.
func (x *Ctx) Oops() { x.oops() }

// finish takes down the frame of a routine that has ended. The CPU can move as
// before, so that nothing has to be looked at again.
func (m *Machine) finish(x *Ctx) {
	c, t := x.cpu, x.task
	f := t.top()
	if f == nil || f.ctx != x {
		sim.Bug("cpu%d: %s ended below the top of the stack of frames", c.id, x.place)
	}
	if f.trap {
		if !m.storeFrame(f.base, &x.regs) {
			m.refuseAt(c, f.base, "the trap frame is not mapped")
		}
		f.kind, f.ctx = iret, nil
		m.drop(x)
		return
	}
	t.pop()
	if x.gate != nil {
		m.leaveGate(c)
	} else {
		m.bodyEnded(c, t)
	}
	m.drop(x)
}

// CPU implements kapi.Context.
func (x *Ctx) CPU() int { return int(x.cpu.id) }

// Task implements kapi.Context.
func (x *Ctx) Task() kapi.TaskID { return x.task.ID }

// Thread returns the task the routine runs on.
func (x *Ctx) Thread() *Task { return x.task }

// Machine returns the machine.
func (x *Ctx) Machine() *Machine { return x.m }

// Regs implements kapi.Context.
func (x *Ctx) Regs() *isa.Regs { return &x.cpu.regs }

// Memory implements kapi.Context.
func (x *Ctx) Memory() isa.Memory { return x.m.data }

// Step implements kapi.Context.
func (x *Ctx) Step(routine string, n int) {
	x.place, x.step = routine, n
	x.point()
}

// Access implements kapi.Context.
func (x *Ctx) Access(id kapi.CellID, mode kapi.Mode) {
	x.point()
	if mode == kapi.Write && x.m.waitOn[uint8(id)] != 0 {
		x.m.recheck = true
		x.m.attend()
	}
}

// point is a boundary: the CPU may be lost here.
func (x *Ctx) point() {
	if x.prompt {
		return
	}
	m := x.m
	m.clocks[x.cpu.id] += simTime(m.costs.Point)
	if mv := m.turn(); mv != sim.Mover(x.cpu.id) {
		x.giveWay(mv)
	}
}

// giveWay lets mv move, and returns when the routine's turn has come again.
func (x *Ctx) giveWay(mv sim.Mover) {
	x.driving = true
	x.m.drive(x, mv)
	x.driving = false
}

// park goes back to whoever resumed the routine, and returns when it is
// resumed again: then it is its turn.
func (x *Ctx) park() {
	x.driving = false
	x.m.parks++
	x.fibre.Park()
}

// give asks who moves next after the routine's own state has changed, and
// parks unless that is the routine itself.
func (x *Ctx) give() {
	m := x.m
	m.attend()
	if x.prompt {
		return
	}
	mv := m.turn()
	if mv == sim.Mover(x.cpu.id) && x.cpu.task == x.task && x.cond == nil && x.task.top().ctx == x {
		return
	}
	x.giveWay(mv)
}

// Sleep implements kapi.Context.
func (x *Ctx) Sleep(w kapi.Cond) { x.sleep(w, waitOther, nil) }

// SleepForWork is Sleep for the work of s to be done: by default it is done at once.
func (x *Ctx) SleepForWork(w kapi.Cond, s *Source) { x.sleep(w, waitWork, s) }

func (x *Ctx) sleep(w kapi.Cond, why waiting, s *Source) {
	x.MightSleep()
	x.point()
	t := x.task
	if w == kapi.Yield {
		x.m.schedule(x.cpu, true)
		x.give()
		return
	}
	if w.Holds() {
		return
	}
	t.state = sleeping
	x.await(w, why, s)
	x.m.schedule(x.cpu, true)
	x.give()
}

// Spin implements kapi.Context.
func (x *Ctx) Spin(w kapi.Cond) { x.spin(w, waitOther) }

// SpinForIPI is Spin for CPUs to answer an IPI: by default they do so at once.
func (x *Ctx) SpinForIPI(w kapi.Cond) { x.spin(w, waitIPI) }

func (x *Ctx) spin(w kapi.Cond, why waiting) {
	x.point()
	if w.Holds() {
		return
	}
	x.await(w, why, nil)
	x.give()
}

// MightSleep takes down that a routine that may sleep is entered, and whether
// it must not be (spec 1.10, 1.13).
func (x *Ctx) MightSleep() {
	atomic := uint64(0)
	if x.Atomic() {
		atomic = 1
	}
	x.Emit(smpev.MightSleep, atomic, 0, 0)
}

// Atomic reports whether the context must not sleep: in a trap or interrupt,
// with preemption or interrupts off.
func (x *Ctx) Atomic() bool {
	return x.task.preempt > 0 || x.cpu.regs.Flags&isa.IF == 0 || x.task.Traps() > 0
}

// await hangs the context on its condition.
func (x *Ctx) await(w kapi.Cond, why waiting, s *Source) {
	x.cond, x.wait, x.waitFor = w, why, s
	x.m.waiters = append(x.m.waiters, x)
	x.m.waitOn[uint8(w.Cell())]++
}

// recheckWaiters lets those go on whose condition has come to hold.
func (m *Machine) recheckWaiters() {
	m.recheck = false
	kept := m.waiters[:0]
	for _, x := range m.waiters {
		if !x.cond.Holds() {
			kept = append(kept, x)
			continue
		}
		m.waitOn[uint8(x.cond.Cell())]--
		x.cond = nil
		if x.task.state == sleeping {
			x.task.state = runnable
			m.emit(x.cpu, smpev.Wake, uint64(x.task.ID), 0, 0)
			x.cpu.enqueue(x.task)
		}
	}
	m.waiters = kept
}

// Notify says that a hook has set a cell without a point.
func (m *Machine) Notify(id kapi.CellID) {
	if m.waitOn[uint8(id)] != 0 {
		m.recheck = true
		m.attend()
	}
}

// Call implements kapi.Context.
func (x *Ctx) Call(f isa.Addr) uint64 {
	m, c, t := x.m, x.cpu, x.task
	was := c.regs
	sp := was.R[isa.RSP]&^15 - 8
	if !x.m.data.Store(isa.Addr(sp), 8, uint64(returnGate)) {
		x.m.refuseAt(c, f, "no stack to call it on")
		x.giveWay(sim.NoMover)
	}
	c.regs.R[isa.RSP], c.regs.IP = sp, f
	c.guest = true
	t.frames = append(t.frames, frame{kind: guest, sp: sp})
	x.giveWay(m.turn()) // the CPU can move as before
	left := c.regs
	c.regs.R[isa.RSP], c.regs.IP = was.R[isa.RSP], was.IP
	t.left = left
	t.left.R[isa.RSP] -= sp + 8 // what the call left the stack pointer off by
	return left.R[isa.RAX]
}

// Left returns the registers as the task's last call left them; RSP is how far
// off its proper value.
func (t *Task) Left() *isa.Regs { return &t.left }

// PreemptDisable implements kapi.Context.
func (x *Ctx) PreemptDisable() {
	x.task.preempt++
	if x.m.cfg.Full {
		x.m.attend()
	}
}

// PreemptEnable implements kapi.Context.
func (x *Ctx) PreemptEnable() {
	x.task.preempt--
	if x.m.cfg.Full {
		x.m.attend()
		if x.cpu.needResched && !x.Atomic() {
			x.Preempt()
		}
	}
}

// IRQ turns interrupts of the CPU on or off and returns how they were.
func (x *Ctx) IRQ(on bool) (was bool) {
	was = x.cpu.regs.Flags&isa.IF != 0
	if on {
		x.cpu.regs.Flags |= isa.IF
	} else {
		x.cpu.regs.Flags &^= isa.IF
	}
	if on != was {
		x.m.attend()
	}
	return was
}

// Source returns the source whose interrupt the routine handles, nil for an
// exception or an IPI.
func (x *Ctx) Source() *Source { return x.source }

// NeedResched reports whether another task wants the CPU.
func (x *Ctx) NeedResched() bool { return x.cpu.needResched }

// Preempt gives the CPU to another task at an interrupt's return, with the
// interrupted frame left on this one's stack.
func (x *Ctx) Preempt() {
	if x.task.class == classStopper { // nothing is of a higher class
		return
	}
	x.m.schedule(x.cpu, false)
	x.give()
}

// Emit implements kapi.Context.
func (x *Ctx) Emit(k traces.Kind, a, b, c uint64) { x.m.emit(x.cpu, k, a, b, c) }

// Work implements kapi.Context.
func (x *Ctx) Work(kind kapi.Work, n int) {
	x.m.clocks[x.cpu.id] += simTime(x.m.costs.Work[kind] * uint64(n))
}

// ReadText copies the newest bytes at a into b, as data.
func (x *Ctx) ReadText(a isa.Addr, b []byte) int {
	x.point()
	return x.m.mem.peek(a, b, PermRead)
}

// WriteText stores b to text as memcpy does: by the largest power of two of
// bytes that is left, none across an aligned 8-byte chunk, a point before each.
// Five bytes are two stores. No CPU is serialised.
func (x *Ctx) WriteText(a isa.Addr, b []byte) {
	for len(b) > 0 {
		n := 1 << (bits.Len(uint(min(len(b), int(chunk-a%chunk)))) - 1)
		x.point()
		x.m.storeText(x.cpu, a, b[:n])
		a, b = a+isa.Addr(n), b[n:]
	}
}

// FillText stores b to text that no CPU can be in, in one step.
func (x *Ctx) FillText(a isa.Addr, b []byte) {
	x.point()
	for len(b) > 0 {
		n := min(len(b), int(chunk-a%chunk))
		x.m.storeText(x.cpu, a, b[:n])
		a, b = a+isa.Addr(n), b[n:]
	}
}

// PoisonText stores an int3 to each of n bytes, in one step. The event is the
// caller's: a Free says all of it.
func (x *Ctx) PoisonText(a isa.Addr, n int) {
	x.point()
	for end := a + isa.Addr(n); a < end; {
		k := min(int(end-a), int(chunk-a%chunk))
		x.m.putText(a, poison[:k])
		a += isa.Addr(k)
	}
}

var poison = [chunk]byte{isa.Int3, isa.Int3, isa.Int3, isa.Int3, isa.Int3, isa.Int3, isa.Int3, isa.Int3}

// SyncCore serialises this CPU.
func (x *Ctx) SyncCore(why kapi.Why) {
	x.m.clocks[x.cpu.id] += simTime(x.m.costs.SyncCore)
	x.m.serialise(x.cpu, uint64(why))
}
