package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Text of user mode is executed where a task's body calls it there (Run). Otherwise the body says which exceptions
// it takes, and with which registers (Trap). Everything else is as for text: interrupts come while the CPU is in user
// mode, and frames of traps are on the task's kernel stack, with user-mode selectors. The handler of
// an exception runs as part of the task, and may sleep.

// User is a context as its task enters and leaves user mode.
type User Ctx

// User returns the context for entering and leaving user mode.
func (x *Ctx) User() *User { return (*User)(x) }

// Trap enters user mode with these registers and takes an exception of the vector there. The
// frame saves regs.IP. After the handler has returned to user mode, regs are the registers
// with which the program continues, and the body is back in the kernel. Context: a task's body.
func (u *User) Trap(vec uint8, regs *arch.Regs) {
	x := (*Ctx)(u)
	m, c := x.m, x.cpu
	was := c.regs
	c.regs, c.user = *regs, true
	m.turns.attend(c)
	x.Step("user mode", 0)
	m.traps.deliver(x.cpu, vec, x.cpu.regs.IP, 0)
	x.giveWay(m.turns.turn())
	c = x.cpu // the old CPU may have gone offline, and the task moved
	*regs = c.regs
	c.regs, c.user = was, false
	c.trace()
	m.turns.attend(c)
}

// userStacks is where tasks have the stacks of user mode, a page each.
const userStacks arch.Addr = 0x7fff_e000_0000

// MapUserStack gives a task memory for the stack of user mode, which Run needs, at boot.
func (m *Machine) MapUserStack(t kapi.TaskID) {
	m.mem.Map(userStacks+arch.Addr(t)*pageSize, make([]byte, pageSize), PermRead|PermWrite)
}

// Run enters user mode, and calls the text at f there; it returns when that does. The text is the kernel's as far as
// memory goes. A routine that it calls is a system call. Context: a task's body.
func (u *User) Run(f arch.Addr) {
	x := (*Ctx)(u)
	m, c, t := x.m, x.cpu, x.task
	was := c.regs
	sp := uint64(userStacks) + uint64(t.ID+1)*pageSize - 64 - uint64(m.arch.Word)
	m.mem.cpu = c.id
	if !m.mem.data.Store(arch.Addr(sp), m.arch.Word, uint64(m.gates.returnGate())) {
		sim.Bug("cpu%d: %s has no stack of user mode", c.id, t.Name)
	}
	c.regs = arch.Regs{IP: f, Flags: arch.IRQ | m.arch.FixedFlag}
	c.regs.R[m.arch.SP] = sp
	c.guest, c.user = true, true
	t.frames = append(t.frames, frame{kind: guest, sp: sp})
	m.turns.attend(c)
	x.giveWay(m.turns.turn())
	c = x.cpu // see Trap
	c.regs, c.user = was, false
	c.trace()
	m.turns.attend(c)
}

// Trapped reports whether the innermost trap was taken in user mode (user_mode(regs)). The
// routine handles that trap, or is called by text that does.
func (u *User) Trapped() bool {
	for i := len(u.task.frames) - 1; i >= 0; i-- {
		if f := &u.task.frames[i]; f.trap {
			return f.user
		}
	}
	return false
}

// Return schedules on the way back to user mode: another task that wants the CPU gets it,
// under every preemption model, as a voluntary switch (exit_to_user_mode_loop). Context: the
// end of the handler of a trap of user mode.
func (u *User) Return() {
	x := (*Ctx)(u)
	if x.NeedResched() {
		x.m.weak.drainAll(x)
		x.m.tasks.schedule(x.cpu, true)
		x.give()
	}
}
