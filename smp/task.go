package smp

import (
	"math/bits"

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
	home     *CPU // the CPU on which the task begins
	bound    bool // the task stays on home even while that is off
	worker   bool // the task stays on home until that unbinds its workers
	class    class
	body     func(x *Ctx)
	stack    arch.Addr // the highest address of its memory stack
	boot     bool      // runnable at the beginning of a run
	state    state
	regs     arch.Regs // the saved registers while the task isn't current
	frames   []frame
	preempt  int            // preempt_count; a preemption or a Sleep needs 0
	again    bool           // woken while it ran: its body runs once more
	exiting  bool           // its text has called Exit: its body is to be unwound
	left     arch.Regs      // the registers as its last call left them
	system   arch.TaskState // what a CPU's system state had of the task when it was current last
	switches uint64         // voluntary ones so far in the run
	use      stackUse       // in an observed run
	woken    sim.Time       // when it was last woken, by the waking CPU's clock
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
	user   bool      // trap: taken in user mode; routine that text has called: it was text of user mode
	vector uint8     // trap: its vector
	ctx    *Ctx      // routine
	base   arch.Addr // trap: where its register image lies in memory; routine that text has called: where it begins
	sp     uint64    // guest: the stack pointer below the call
}

// kernelSP returns the stack pointer of a task that runs no text. A trap from user mode begins
// there as well.
func kernelSP(t *Task) uint64 { return uint64(t.stack) - 64 }

// waits returns what the task's innermost routine waits for.
func (t *Task) waits() (waiting, *Source) {
	if f := t.top(); f != nil && f.kind == routine && f.ctx.cond != nil {
		return f.ctx.wait, f.ctx.waitFor
	}
	return waitNothing, nil
}

// Hold keeps a program from running when a run begins; Wake starts it.
func (t *Task) Hold() { t.boot = false }

// Begins says whether a program runs when a run begins.
func (t *Task) Begins(so bool) { t.boot = so }

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

// Idle reports whether the task is a CPU's idle task.
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

// interrupted reports whether a trap is open in which no routine may sleep. That is any trap
// except an exception of user mode and a page fault, which turns interrupts on again if it can.
func (t *Task) interrupted() bool {
	for i := range t.frames {
		if f := &t.frames[i]; f.trap && f.vector != smpev.VecPF && !f.called() {
			return true
		}
	}
	return false
}

// called reports whether the frame is an exception of user mode. Its handler runs as part of
// the task, as a system call does.
func (f *frame) called() bool {
	return f.user && f.vector < smpev.VecTimer && f.vector != smpev.VecNMI
}

// Interrupts returns how many traps are open on the task, but for exceptions of user mode.
func (t *Task) Interrupts() (n int) {
	for i := range t.frames {
		if f := &t.frames[i]; f.trap && !f.called() {
			n++
		}
	}
	return n
}

// A CPU is one processor: its registers, what it runs, what is pending on it.
type CPU struct {
	id    uint8
	bit   uint64 // 1 << id
	guest bool   // the top frame of the current task is guest text
	user  bool   // the CPU is in user mode, where the current task's routine has put it
	regs  arch.Regs
	sys   system // the state that regs doesn't hold
	boot  system // sys at boot, from Freeze

	codeAt arch.Addr    // the page of text that was executed last
	page   *page        // nil: none yet
	code   *decodedPage // its decoded instructions

	task        *Task
	idle        *Task
	stopper     *Task
	runq        []*Task // tasks that are runnable and not current, first in first out
	nmiBlocked  bool    // from the delivery of an NMI to the next IRET
	after       after   // conditions that hold for the next instruction only
	ipi         ipiSet  // the pending IPIs
	needResched bool
	hot         hotplugged
	urgent      bool      // needResched is due now, not only at the next tick (Config.Lazy)
	sources     []*Source // that interrupt this CPU

	owed   uint64 // CPUs that must make a step before this one does, after its pause
	beside uint64 // CPUs that have made a step since this one's last pause

	owedStores   uint64 // CPUs of which a store must take effect before this CPU steps, after its pause
	storesBeside uint64 // CPUs of which a store has taken effect since this CPU's last pause
}

// known returns the decoded instruction at IP, nil if it must be fetched.
func (c *CPU) known() *inst {
	if at := c.regs.IP - c.codeAt; at < pageSize {
		return c.code[at]
	}
	return nil
}

// ipiSet holds the reasons of pending IPIs.
type ipiSet uint8

// The reasons.
const (
	IPICall    ipiSet = 1 << iota // run the call function (sync_core)
	IPIResched                    // let another task run
)

// open reports whether the CPU takes a maskable interrupt now.
func (c *CPU) open() bool { return c.regs.Flags&arch.IRQ != 0 && c.after&shadow == 0 }

// after is the set of conditions that the last instruction imposes on the next.
type after uint8

const (
	shadow after = 1 << iota // sti, mov to ss: no interrupt before the next instruction has completed
	deaf                     // mov to ss: no NMI either (SDM vol. 3, table "Format of Interruptibility State")
	traced                   // TF is set: #DB when the next instruction has completed
)

// trace updates after from the trap flag. It is called when the flags were loaded.
func (c *CPU) trace() {
	c.after &^= traced
	if c.regs.Flags&arch.Step != 0 {
		c.after |= traced
	}
}

// canGoOn reports whether the CPU has a step of its own to make.
func (c *CPU) canGoOn() bool {
	f := c.task.top()
	switch {
	case f == nil: // idle
		return len(c.runq) > 0
	case f.kind == routine:
		return f.ctx.cond == nil
	}
	return true
}

// enqueue puts a runnable task on its CPU's run queue, stoppers first.
func (c *CPU) enqueue(m *Machine, t *Task) {
	m.foot.touchQueue(c, true)
	c.runq = append(c.runq, t)
	if t.class == classStopper {
		copy(c.runq[1:], c.runq)
		c.runq[0] = t
	}
	if c.task != c.idle {
		c.needResched = true
	}
}

// firstCPU returns the lowest CPU of a set.
func firstCPU(set uint64) sim.Mover { return sim.Mover(bits.TrailingZeros64(set)) }
