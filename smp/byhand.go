package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
)

// A machine is stepped by hand with its Pause, which is asked at a boundary where
// the run would end because the budget is out or nothing can move. It may look at
// the machine, wake tasks and set the budget anew; true lets the run go on. What is
// below reads a machine that stands so, or whose run is over.

// pause asks Pause.
func (m *Machine) pause() bool {
	if m.Pause == nil || m.over || !m.Pause() {
		return false
	}
	m.again()
	return true
}

// SetBudget makes the run pause, or end, after n boundaries in all. It may be
// called from a routine.
func (m *Machine) SetBudget(n uint64) {
	m.cfg.Budget = n
	m.again()
}

// Budget returns after how many boundaries in all the run pauses, or ends.
func (m *Machine) Budget() uint64 { return m.cfg.Budget }

// Moving reports whether anything can move that a run goes on for, or may, since those
// who wait haven't looked yet.
func (m *Machine) Moving() bool {
	moves := m.Moves()
	return m.recheck || moves[0]|moves[1] != 0 || m.worthFiring(moves[2])
}

// Steps returns how many boundaries there were so far.
func (m *Machine) Steps() uint64 { return m.steps }

// Follow makes t the thread of control that goes on by default.
func (m *Machine) Follow(t *Task) {
	m.lead, m.errand = t, nil
	m.again()
}

// Hold keeps a program from running when a run begins: Wake lets it go.
func (t *Task) Hold() { t.boot = false }

// Held reports whether the task has not begun, or is a thread with nothing to do.
func (t *Task) Held() bool { return t.state == dormant }

// Dead reports whether the task is a program that has ended.
func (t *Task) Dead() bool { return t.state == dead }

// Current returns the task that a CPU is at.
func (m *Machine) Current(cpu int) *Task { return m.cpus[cpu].task }

// Queue returns the tasks that want a CPU, but for the one that it is at.
func (m *Machine) Queue(cpu int) []*Task { return m.cpus[cpu].runq }

// RegsOf returns the registers of a CPU: those of guest text, or as a kernel
// routine found them. kernel: it isn't at guest text.
func (m *Machine) RegsOf(cpu int) (regs arch.Regs, kernel bool) {
	c := &m.cpus[cpu]
	return c.regs, !c.guest
}

// Pending reports whether an IPI is pending on a CPU, and whether it takes
// interrupts.
func (m *Machine) Pending(cpu int) (ipi, open bool) {
	c := &m.cpus[cpu]
	return c.ipi != 0, c.open()
}

// BytesAt copies what is in memory at a, and returns how many bytes are there.
func (m *Machine) BytesAt(a arch.Addr, b []byte) int { return m.mem.peek(a, b, 0) }

// OldestAt is BytesAt as a fetch of the CPU might see it at the oldest.
func (m *Machine) OldestAt(cpu int, a arch.Addr, b []byte) int {
	n := m.mem.peek(a, b, 0)
	m.text.Oldest(cpu, uint64(a), b[:n])
	return n
}

// Can reports whether a mover can make the next step.
func (m *Machine) Can(mv sim.Mover) bool {
	moves := m.Moves()
	return moves[mv/sim.MaxCPUs]>>(mv%sim.MaxCPUs)&1 != 0
}

// MoverNamed returns the mover that traces call so.
func (m *Machine) MoverNamed(name string) (sim.Mover, bool) {
	for mv := range sim.MoverSource + sim.Mover(len(m.sources)) {
		i := int(mv) % sim.MaxCPUs
		if (mv >= sim.MoverSource || i < len(m.cpus)) && m.MoverName(mv) == name {
			return mv, true
		}
	}
	return sim.NoMover, false
}

// FindSymbol returns where a name that AddSymbol was given begins, and how many
// bytes it has.
func (m *Machine) FindSymbol(name string) (at arch.Addr, size int, ok bool) {
	for i := len(m.symbols) - 1; i >= 0; i-- {
		if s := &m.symbols[i]; s.name == name {
			return s.at, s.size, true
		}
	}
	return 0, 0, false
}
