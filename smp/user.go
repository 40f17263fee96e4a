package smp

import "kpsim/smp/arch"

// What a program does in user mode isn't executed: a task's body says which exceptions it
// takes there, and with what registers. All else is as for text: interrupts come while the
// CPU is there, the frames of traps are on the task's kernel stack and have the selectors of
// user mode, and what handles an exception is the task's own and may sleep.

// Trap goes to user mode, with these registers, and takes an exception of the vector there;
// regs.IP is what the frame saves. When the handler has returned to user mode, regs are what
// the program goes on with; the body is back in the kernel. Context: a task's body.
func (x *Ctx) Trap(vec uint8, regs *arch.Regs) {
	m, c := x.m, x.cpu
	was := c.regs
	c.regs, c.user = *regs, true
	m.turns.attend(c)
	x.Step("user mode", 0)
	m.traps.deliver(x.cpu, vec, x.cpu.regs.IP, 0)
	x.giveWay(m.turns.turn())
	c = x.cpu // it may have gone offline, and the task elsewhere
	*regs = c.regs
	c.regs, c.user = was, false
	c.trace()
	m.turns.attend(c)
}

// FromUser reports whether the innermost trap, which the routine handles, itself or for text
// that does, is one that user mode has taken (user_mode(regs)).
func (x *Ctx) FromUser() bool {
	for i := len(x.task.frames) - 1; i >= 0; i-- {
		if f := &x.task.frames[i]; f.trap {
			return f.user
		}
	}
	return false
}

// ToUser is what is done about tasks on the way back to user mode: one that wants the CPU
// gets it, whatever the model of preemption, and that is voluntary (exit_to_user_mode_loop).
// Context: the handler of a trap of user mode, at its end.
func (x *Ctx) ToUser() {
	if x.NeedResched() {
		x.drainStores()
		x.m.tasks.schedule(x.cpu, true)
		x.give()
	}
}
