package smp

import (
	"kpsim/smp/arch"
)

// Processors are the machine's CPUs.
type Processors struct {
	m      *Machine
	list   []CPU
	bases  []arch.Addr // the bases of their per-CPU data, from boot
	counts []count     // where their preemption counts are, from boot

	reserves *reservations // nil: the processor has none
}

// Processors returns the machine's CPUs.
func (m *Machine) Processors() *Processors { return &m.cpus }

// SetBase sets the base of a CPU's own data at the beginning of each run.
func (ps *Processors) SetBase(cpu int, base arch.Addr) { ps.bases[cpu] = base }

// SeenIdle reports whether a CPU is in its idle loop, outside an interrupt.
func (ps *Processors) SeenIdle(cpu int) bool {
	c := &ps.list[cpu]
	ps.m.foot.touch(objIdle, uint64(cpu), false)
	return c.task == c.idle && len(c.task.frames) == 0
}

func (ps *Processors) init(m *Machine) {
	n := m.cfg.CPUs
	ps.m, ps.list, ps.bases, ps.counts = m, make([]CPU, n), make([]arch.Addr, n), make([]count, n)
	ps.reserve()
}

// own sets the registers that belong to a CPU (Hooks.CPURegs).
func (ps *Processors) own(c *CPU) {
	if f := ps.m.hooks.CPURegs; f != nil {
		f(int(c.id), &c.regs)
	}
}

// reset puts CPUs and tasks back to their state at the beginning of a run: idle.
func (ps *Processors) reset() {
	for i := range ps.list {
		c := &ps.list[i]
		c.runq, c.nmiBlocked, c.after, c.ipi, c.needResched, c.urgent, c.hot = c.runq[:0], false, 0, 0, false, false,
			hotplugged{}
		c.owed, c.beside, c.owedStores, c.storesBeside, c.user = 0, 0, 0, 0, false
	}
	ps.reserves.reset()
	for _, t := range ps.m.tasks.all {
		ps.m.tasks.rewind(t)
	}
	for i := range ps.list {
		c := &ps.list[i]
		c.task, c.regs, c.guest = c.idle, c.idle.regs, false
		c.sys.Copy(c.boot)
		if ps.m.hooks.TaskRegs != nil {
			c.sys.Switch(new(arch.TaskState), &c.idle.system)
		}
		ps.own(c)
		c.idle.state = runnable
		ps.absent(c)
	}
}
