package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A Task is a thread of control bound to one CPU. It owns a stack of frames
// and a stack in memory.
type Task struct {
	ID   kapi.TaskID
	Name string

	cpu      *CPU
	class    class
	body     func(x *Ctx)
	stack    arch.Addr // the highest address of its memory stack
	boot     bool      // runnable at the beginning of a run
	state    state
	regs     arch.Regs // of the CPU, while the task isn't current
	frames   []frame
	preempt  int       // preempt_count; a preemption or a Sleep needs 0
	again    bool      // woken while it ran: its body runs once more
	exiting  bool      // its text has called Exit: its body is to be unwound
	left     arch.Regs // the registers as its last call left them
	bases    bases     // of the CPU too
	switches uint64    // voluntary ones so far in the run
	use      stackUse  // in an observed run
	woken    sim.Time  // when it last was, by the clock of who did that
}

// class orders tasks when a CPU picks one: a stopper before all others.
type class uint8

const (
	classProgram class = iota // a program of the scenario: it ends
	classThread               // a kernel thread: dormant when its body has returned
	classStopper              // the CPU's stopper
	classIdle
)

type state uint8

const (
	dormant  state = iota // nothing to do: holds no fibre
	runnable              // current on its CPU, or on the run queue
	sleeping
	dead
)

// waiting says what a routine waits for; the default schedule serves it.
type waiting uint8

const (
	waitNothing waiting = iota
	waitIPI             // for CPUs to answer an IPI
	waitWork            // for delayed work to run
	waitOther
)

// frameKind says what runs in a frame.
type frameKind uint8

const (
	guest   frameKind = iota // guest text, called by the routine below
	routine                  // a kernel routine on a fibre
	iret                     // a trap handler that has finished: the IRET is next
)

// A frame is one level of a task's control stack.
type frame struct {
	kind   frameKind
	trap   bool      // routine, iret: entered by a trap
	vector uint8     // of the trap
	ctx    *Ctx      // routine
	base   arch.Addr // trap: where its register image lies in memory
	sp     uint64    // guest: the stack pointer below the call
}

// rewind makes a task what it is before a run.
func (m *Machine) rewind(t *Task) {
	t.frames, t.state, t.preempt, t.again, t.woken = t.frames[:0], dormant, 0, false, 0
	t.exiting = false
	t.switches, t.bases = 0, bases{}
	t.regs = arch.Regs{IP: m.idleIP(), Flags: m.arch.FixedFlag | irqFlag}
	t.regs.R[regSP] = uint64(t.stack) - 64
}

// waits says what the task waits for: what its innermost routine does.
func (t *Task) waits() (waiting, *Source) {
	if f := t.top(); f != nil && f.kind == routine && f.ctx.cond != nil {
		return f.ctx.wait, f.ctx.waitFor
	}
	return waitNothing, nil
}

// Hold keeps a program from running when a run begins: Wake lets it go.
func (t *Task) Hold() { t.boot = false }

// Held reports whether the task has not begun, or is a thread with nothing to do.
func (t *Task) Held() bool { return t.state == dormant }

// Dead reports whether the task is a program that has ended.
func (t *Task) Dead() bool { return t.state == dead }

// StackTop returns the end of the task's memory stack.
func (t *Task) StackTop() arch.Addr { return t.stack }

// CPUID returns the number of the task's CPU.
func (t *Task) CPUID() int { return int(t.cpu.id) }

// Sleeping reports whether the task is blocked off its CPU.
func (t *Task) Sleeping() bool { return t.state == sleeping }

// Idle reports whether it is a CPU's idle task.
func (t *Task) Idle() bool { return t.class == classIdle }

// OnQueue reports whether the task is runnable: current, preempted or waiting for its CPU.
func (t *Task) OnQueue() bool { return t.state == runnable }

// Switches returns how often the task has given up its CPU voluntarily in this run.
func (t *Task) Switches() uint64 { return t.switches }

// PreemptCount returns the nesting of PreemptDisable.
func (t *Task) PreemptCount() int { return t.preempt }

func (t *Task) top() *frame {
	if len(t.frames) == 0 {
		return nil
	}
	return &t.frames[len(t.frames)-1]
}

func (t *Task) pop() { t.frames = t.frames[:len(t.frames)-1] }

// Traps returns how many traps are open on the task.
func (t *Task) Traps() (n int) {
	for i := range t.frames {
		if t.frames[i].trap {
			n++
		}
	}
	return n
}

// interrupted reports whether a trap is open in which no routine may sleep: any but a
// page fault, which has turned interrupts on again where it can.
func (t *Task) interrupted() bool {
	for i := range t.frames {
		if f := &t.frames[i]; f.trap && f.vector != smpev.VecPF {
			return true
		}
	}
	return false
}
