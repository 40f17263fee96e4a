package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Ctx is a kernel routine under way: a task's body, a trap handler, or a routine that
// guest text has called. It implements kapi.Context. Contexts and their fibres are pooled: a
// context is valid only while its routine runs.
//
// What only the kernel asks of a context is in views of it, which cost nothing at run time:
// Hotplug, Patcher, Pages, Stacks and User.
type Ctx struct {
	m     *Machine
	cpu   *CPU
	task  *Task
	fibre *sim.Fibre // the context's own fibre; nil: it has never needed one
	host  *Ctx       // the context whose fibre it runs on

	started bool
	driving bool                          // it has given way, and drives the machine meanwhile
	prompt  bool                          // an interrupt handler that runs in one step, without a fibre
	trap    func(x *Ctx, regs *arch.Regs) // a trap's routine; regs are the saved registers
	regs    arch.Regs
	vector  uint8
	source  *Source      // for a trap: the source that fired, nil for an exception or IPI
	gate    kapi.Routine // or the routine that text called
	body    func(x *Ctx) // or a task's body
	exits   bool         // the task ends when the routine has returned
	guest   bool         // for gate: a kernel's own code calls the routine
	was     Balance      // for trap and gate: the balance when the routine began

	waiter
	place string // the routine and step it is at, for traces
	step  int
	said            // declarations about its next access to a cell
	ahead sim.Touch // at a yield point of an observed machine: the next step's first touch
	locals
}

// locals are what distinguishes states by a routine's local variables (state.go).
type locals struct {
	read     sim.Hash // what its local variables depend on
	knowsCPU bool     // it has asked which CPU it is on
	looking  bool     // the step so far has only found that it must wait
}

var _ kapi.Context = (*Ctx)(nil)

// CPU implements kapi.Context.
func (x *Ctx) CPU() int {
	x.knowsCPU = true
	return int(x.cpu.id)
}

// Task implements kapi.Context.
func (x *Ctx) Task() kapi.TaskID { return x.task.ID }

// Thread returns the task the routine runs on.
func (x *Ctx) Thread() *Task { return x.task }

// Regs implements kapi.Context.
func (x *Ctx) Regs() *arch.Regs { return &x.cpu.regs }

// Memory implements kapi.Context.
func (x *Ctx) Memory() arch.Memory {
	x.m.mem.cpu = x.cpu.id
	return x.m.mem.data
}

// Atomic reports whether the context must not sleep: in a trap or interrupt,
// with preemption or interrupts off.
func (x *Ctx) Atomic() bool {
	return x.PreemptOff() || x.cpu.regs.Flags&arch.IRQ == 0 || x.task.interrupted()
}

// PreemptOff reports whether preemption is off by a count: of routines, or of text.
func (x *Ctx) PreemptOff() bool {
	return x.task.preempt > 0 || x.m.hooks.Busy != nil && x.m.hooks.Busy(x)
}

// PreemptDisable implements kapi.Context.
func (x *Ctx) PreemptDisable() {
	x.task.preempt++
	x.m.foot.countChanges(x.cpu)
	if x.m.cfg.Full {
		x.m.turns.attend(x.cpu)
	}
}

// PreemptEnable implements kapi.Context.
func (x *Ctx) PreemptEnable() {
	x.task.preempt--
	x.m.foot.countChanges(x.cpu)
	if x.m.cfg.Full {
		x.m.turns.attend(x.cpu)
		if x.MustResched() && !x.Atomic() {
			x.Preempt()
		}
	}
}

// IRQ implements kapi.Context.
func (x *Ctx) IRQ(on bool) (was bool) {
	was = x.cpu.regs.Flags&arch.IRQ != 0
	if on {
		x.cpu.regs.Flags |= arch.IRQ
	} else {
		x.cpu.regs.Flags &^= arch.IRQ
	}
	if on != was {
		x.m.turns.attend(x.cpu)
		if on {
			x.m.foot.touch(objIPI, uint64(x.cpu.id), false)
			if x.cpu.ipi != 0 {
				x.m.foot.knows(x, 6) // the routine stands here, and not at its next access
				x.yieldOpen()
			}
		}
	}
	return was
}

// Open reports whether interrupts are on.
func (x *Ctx) Open() bool { return x.cpu.regs.Flags&arch.IRQ != 0 }

// Interrupts reports whether the routine runs on top of an interrupt, and of an NMI.
func (x *Ctx) Interrupts() (irq, nmi bool) {
	for i := range x.task.frames {
		if f := &x.task.frames[i]; f.trap {
			irq = irq || f.vector >= 32
			nmi = nmi || f.vector == smpev.VecNMI
		}
	}
	return irq, nmi
}

// InNMI implements kapi.Context.
func (x *Ctx) InNMI() bool {
	_, nmi := x.Interrupts()
	return nmi
}

// Source returns the source whose interrupt the routine handles, nil for an
// exception or an IPI.
func (x *Ctx) Source() *Source { return x.source }

// NeedResched reports whether another task wants the CPU.
func (x *Ctx) NeedResched() bool {
	x.m.foot.touchQueue(x.cpu, false)
	if f := x.m.foot; f != nil {
		f.askedResched()
	}
	x.m.foot.knows(x, 2+b2u(x.cpu.needResched)) // 1 is a step
	return x.cpu.needResched
}

// MustResched reports whether another task wants the CPU and won't wait. It is NeedResched,
// except that under the model lazy it is true only for a stopper or after the next tick.
func (x *Ctx) MustResched() bool {
	if !x.NeedResched() || !x.m.cfg.Lazy {
		return x.cpu.needResched
	}
	must := x.cpu.urgent || len(x.cpu.runq) > 0 && x.cpu.runq[0].class == classStopper
	x.m.foot.knows(x, 4+b2u(must))
	return must
}

// Tick preempts for a task that wants the CPU.
func (x *Ctx) Tick() {
	if x.m.cfg.Lazy && x.NeedResched() {
		x.m.foot.touchQueue(x.cpu, true)
		x.cpu.urgent = true
	}
}

// Preempt gives the CPU to another task at an interrupt's return, with the
// interrupted frame left on this one's stack.
func (x *Ctx) Preempt() {
	if x.task.class == classStopper { // nothing is of a higher class
		return
	}
	x.m.weak.drainAll(x)
	x.m.tasks.schedule(x.cpu, false)
	x.give()
}

// PreemptSelf gives the CPU to another task as an interrupt would: the task counts as
// preempted, not as having given the CPU up voluntarily. Context: as Sleep.
func (x *Ctx) PreemptSelf() {
	x.MightSleep()
	x.yield()
	if !x.Atomic() {
		x.Preempt()
	}
}

// A Balance is the CPU state that a kernel routine must leave as it found it.
type Balance struct {
	Preempt int  // the nesting of PreemptDisable
	Open    bool // interrupts are on
}

// Balance returns the current balance.
func (x *Ctx) Balance() Balance { return Balance{x.task.preempt, x.Open()} }

// Even reports to monitors what differs from was in a context's current balance.
func (was Balance) Even(x *Ctx) {
	is := x.Balance()
	if is.Preempt != was.Preempt {
		x.Tell(smpev.Tilted, smpev.TiltPreempt, uint64(was.Preempt), uint64(is.Preempt))
	}
	if is.Open != was.Open {
		x.Tell(smpev.Tilted, smpev.TiltIRQs, b2u(was.Open), b2u(is.Open))
	}
}

// Emit implements kapi.Context.
func (x *Ctx) Emit(k traces.Kind, a, b, c uint64) { x.m.emit(x.cpu, k, a, b, c) }

// Tell tells the monitors only (traces.Log.Tell).
func (x *Ctx) Tell(k traces.Kind, a, b, c uint64) {
	x.m.log.Tell(k, x.cpu.id, uint8(x.task.ID), a, b, c)
}

// Work implements kapi.Context.
func (x *Ctx) Work(kind kapi.Work, n int) {
	x.m.time.spend(x.cpu.id, cycles.Work(kind), n)
}
