package smp

import (
	"math/bits"

	"kpsim/sim"
	"kpsim/smp/arch"
)

// A CPU is one processor: its registers, what it runs, what is pending on it.
type CPU struct {
	id    uint8
	bit   uint64 // 1 << id
	guest bool   // the top frame of the current task is guest text
	regs  arch.Regs
	sys   system // what regs doesn't hold

	codeAt arch.Addr    // the page of text that was executed last
	page   *page        // nil: none yet
	code   *decodedPage // its decoded instructions
	next   *inst        // the instruction to be executed, if IP still stands at it

	task        *Task
	idle        *Task
	stopper     *Task
	runq        []*Task // runnable and not current, first in first out
	nmiBlocked  bool    // from the delivery of an NMI to the next IRET
	after       after   // what holds for the next instruction only
	ipi         ipiSet  // pending
	needResched bool
	urgent      bool      // and not only at the next tick (Config.Lazy)
	sources     []*Source // that interrupt this CPU
}

// known returns the instruction at IP, nil if it is to be fetched.
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
func (c *CPU) open() bool { return c.regs.Flags&irqFlag != 0 && c.after&shadow == 0 }

// after is what the last instruction has to say about the next.
type after uint8

const (
	shadow after = 1 << iota // sti, mov to ss: no interrupt is taken before it has completed
	deaf                     // mov to ss: no NMI either (SDM vol. 3, table "Format of Interruptibility State")
	traced                   // TF is set: #DB when it has completed
)

// trace notes what the flags say, after they were loaded.
func (c *CPU) trace() {
	c.after &^= traced
	if c.regs.Flags&stepFlag != 0 {
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
	m.touchQueue(c, true)
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
